// Inequalities and relations between the compiler's text, the user's text, and words.
import { signedTerms, tidy } from "../memory/formula";

export type Assumptions = { other: string[] };

interface Sides {
  more: string;
  less: string;
}

/** `n - 2*b - 1 >= 0` as its two sides: `n` and `2*b + 1`. */
function sides(claim: string): Sides {
  const { more, less } = signedTerms(claim.replace(/\s*>=\s*0\s*$/, ""));
  return { more: more.join(" + ") || "0", less: less.join(" + ") || "0" };
}

/** The same as a condition in the language of the source. */
export function condition(claim: string): string {
  const products = claim.replace(/([A-Za-z_][\w']*)\*\*(\d+)/g, (_, name: string, power: string) => Array(Number(power)).fill(name).join("*"));
  const { more, less } = sides(products);
  return (/^\d+$/.test(more) ? `${less} <= ${more}` : `${more} >= ${less}`).replaceAll("*", " * ");
}

/** `n ≥ 2·b + 1`. */
export function inequality(claim: string): string {
  const { more, less } = sides(claim);
  if (/^\d+$/.test(more)) return `${tidy(less)} ≤ ${more}`;
  return `${tidy(more)} ≥ ${tidy(less)}`;
}

/** "`n` is at least `2·b + 1`", in quotes for `quoted`. */
export function inWords(claim: string): string {
  const { more, less } = sides(claim);
  if (/^\d+$/.test(more)) return `\`${tidy(less)}\` is at most \`${more}\``;
  return less === "0" ? `\`${tidy(more)}\` is not negative` : `\`${tidy(more)}\` is at least \`${tidy(less)}\``;
}

const RELATION = /(<=|>=|==|=|<|>|≤|≥)/;
const PLAIN: Record<string, string> = { "=": "==", "≤": "<=", "≥": ">=" };

/** One relation per line or comma; `0 <= i < n` stands for two. */
export function readAssumptions(text: string): Assumptions {
  const other: string[] = [];
  for (const line of text.split(/[\n,;]/)) {
    const parts = line.replaceAll("·", "*").split(RELATION).map((part) => part.trim());
    if (parts.length === 1) {
      if (parts[0]) other.push(parts[0]);
      continue;
    }
    for (let k = 1; k < parts.length; k += 2) other.push(`${parts[k - 1]} ${PLAIN[parts[k]!] ?? parts[k]} ${parts[k + 1]}`);
  }
  return { other };
}
