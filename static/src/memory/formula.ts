// An LMAD as a formula, with names for the indices.
import { h } from "../dom";
import type { ArrayInfo } from "../types";

const INDICES = ["i", "j", "k", "l", "p", "q", "r"];
const indexName = (k: number): string => INDICES[k] ?? `i${k}`;

export interface Lmad {
  offset: string;
  dims: { size: string; stride: string }[];
}

/** Read `offset + {(size : stride), ..}`, as the compiler prints it. */
export function readLmad(text: string): Lmad {
  const at = text.indexOf("{");
  if (at < 0) return { offset: text, dims: [] };
  const offset = text.slice(0, at).replace(/\+\s*$/, "").trim() || "0";
  const inside = text.slice(at + 1).replace(/\}\s*$/, "");
  const dims = outside(inside, (character) => character === ",").map((part) => {
    const [size = "", stride = ""] = part.trim().replace(/^\(|\)$/g, "").split(":");
    return { size: size.trim(), stride: stride.trim() };
  });
  return { offset, dims: inside.trim() ? dims : [] };
}

/** The parts of a text between separators that stand outside of parentheses. */
export function outside(text: string, separates: (character: string, at: number) => boolean): string[] {
  const parts = [""];
  let depth = 0;
  [...text].forEach((character, at) => {
    depth += character === "(" ? 1 : character === ")" ? -1 : 0;
    if (depth === 0 && separates(character, at)) parts.push("");
    else parts[parts.length - 1] += character;
  });
  return parts;
}

function times(index: string, stride: string): string {
  if (stride === "1") return index;
  if (stride === "0") return "";
  return / /.test(stride) ? `${index}·(${stride})` : `${index}·${stride}`;
}

/** `offset + i·stride + ..`, and what the indices range over. */
export function formula(array: ArrayInfo): HTMLElement {
  const { offset, dims } = readLmad(array.lmad);
  const names = dims.map((_, k) => indexName(k));
  const terms = dims.map(({ stride }, k) => times(names[k]!, pretty(stride))).filter(Boolean);
  const sum = [...(offset === "0" && terms.length ? [] : [pretty(offset)]), ...terms].join(" + ").replaceAll("+ -", "− ");
  const ranges = dims.map(({ size }, k) => `${names[k]} < ${pretty(size)}`).join(", ");
  return h("p", { class: "formula" },
    h("code", {}, `${array.name}${names.map((name) => `[${name}]`).join("")}`), " is cell ", h("code", {}, sum), " of ",
    h("code", {}, array.block), ranges ? h("span", { class: "quiet" }, ` for ${ranges}`) : null);
}

/** Text with polynomials as the compiler prints them, with a middle dot for products, and quotients as floors. */
export function tidy(text: string): string {
  return text.replace(/\(\(([^()]+)\)\/\(([^()]+)\)\)/g, (_, above: string, below: string) => `⌊${bracketed(above)}/${bracketed(below)}⌋`)
    .replace(/\*\*(\d+)/g, (_, digits: string) => [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join(""))
    .replaceAll("*", "·");
}

const bracketed = (text: string): string => / /.test(text) ? `(${text})` : text;

/** The terms of a polynomial: those that are added, and those that are taken away. */
export function signedTerms(polynomial: string): { more: string[]; less: string[] } {
  const [more, less]: [string[], string[]] = [[], []];
  const text = polynomial.trim();
  let [depth, from] = [0, 0];
  const take = (to: number): void => {
    const term = text.slice(from, to).trim();
    const sign = /^[-+]/.exec(term)?.[0];
    if (term) (sign === "-" ? less : more).push(sign ? term.slice(1).trim() : term);
    from = to;
  };
  [...text].forEach((character, at) => {
    depth += character === "(" ? 1 : character === ")" ? -1 : 0;
    if (depth === 0 && at > 0 && /[-+]/.test(character) && text[at + 1] === " ") take(at);
  });
  take(text.length);
  return { more, less };
}

/** A polynomial as one writes it: what is added first, then what is taken away. */
export function pretty(polynomial: string): string {
  const { more, less } = signedTerms(polynomial);
  if (!less.length) return tidy(more.join(" + "));
  return tidy(more.length ? [more.join(" + "), ...less].join(" - ") : `-${less.join(" - ")}`);
}

/** `offset + {(size : stride), ..}` in the same way. */
export function prettyLmad(text: string): string {
  const { offset, dims } = readLmad(text);
  const all = dims.map(({ size, stride }) => `(${pretty(size)} : ${pretty(stride)})`).join(", ");
  return !dims.length ? pretty(offset) : offset === "0" ? `{${all}}` : `${pretty(offset)} + {${all}}`;
}
