// Inequalities in signs and in words, and relations as the user types them.
import { signed } from "../polynomial";
import type { Polynomial, ProveRequest } from "../types";

export type Assumptions = NonNullable<ProveRequest["assumptions"]>;

/** Split a non-negative polynomial: `n` and `2·b + 1` of `n - 2·b - 1`; `limit`: the first is a number. */
function sides(claim: Polynomial): { more: string; less: string; limit: boolean } {
  const { more, less } = signed(claim);
  const limit = claim.every((term) => (term[0] as number) < 0 || term.length === 1);
  return { more: more.join(" + ") || "0", less: less.join(" + ") || "0", limit };
}

/** `n ≥ 2·b + 1`. */
export function inequality(claim: Polynomial): string {
  const { more, less, limit } = sides(claim);
  return limit ? `${less} ≤ ${more}` : `${more} ≥ ${less}`;
}

/** "`n` is at least `2·b + 1`", in quotes for `quoted`. */
export function inWords(claim: Polynomial): string {
  const { more, less, limit } = sides(claim);
  if (limit) return `\`${less}\` is at most \`${more}\``;
  return less === "0" ? `\`${more}\` is not negative` : `\`${more}\` is at least \`${less}\``;
}

const RELATION = /(<=|>=|==|=|<|>|≤|≥)/;
const PLAIN: Record<string, string> = { "=": "==", "≤": "<=", "≥": ">=" };

/** One relation per line or comma; `0 <= i < n` stands for two. */
export function readAssumptions(text: string): { other: string[] } {
  const other: string[] = [];
  for (const line of text.split(/[\n,;]/)) {
    const parts = line
      .replaceAll("·", "*")
      .split(RELATION)
      .map((part) => part.trim());
    if (parts.length === 1) {
      if (parts[0]) other.push(parts[0]);
      continue;
    }
    for (let k = 1; k < parts.length; k += 2)
      other.push(`${parts[k - 1]} ${PLAIN[parts[k]!] ?? parts[k]} ${parts[k + 1]}`);
  }
  return { other };
}
