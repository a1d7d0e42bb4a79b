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
  const terms = dims.map(({ stride }, k) => times(names[k]!, tidy(stride))).filter(Boolean);
  const sum = [...(offset === "0" && terms.length ? [] : [tidy(offset)]), ...terms].join(" + ").replaceAll("+ -", "− ");
  const ranges = dims.map(({ size }, k) => `${names[k]} < ${tidy(size)}`).join(", ");
  return h("p", { class: "formula" },
    h("code", {}, `${array.name}${names.map((name) => `[${name}]`).join("")}`), " is cell ", h("code", {}, sum), " of ",
    h("code", {}, array.block), ranges ? h("span", { class: "quiet" }, ` for ${ranges}`) : null);
}

/** Polynomials as the compiler prints them, with a middle dot for products. */
export function tidy(polynomial: string): string {
  return polynomial.replaceAll("**", "^").replaceAll("*", "·");
}
