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
  const at = text.lastIndexOf(" + {");
  if (at < 0) return { offset: text, dims: [] };
  const dims = [...text.slice(at + 4).matchAll(/\(([^:]*) : ((?:[^()]|\([^()]*\))*)\)/g)];
  return { offset: text.slice(0, at), dims: dims.map(([, size, stride]) => ({ size: size!, stride: stride! })) };
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
