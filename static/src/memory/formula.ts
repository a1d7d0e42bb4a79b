// An LMAD as a formula, with names for the indices, and with numbers for one element.
import { h } from "../dom";
import type { ArrayInfo } from "../types";

const INDICES = ["i", "j", "k", "l", "p", "q", "r"];
const indexName = (k: number): string => INDICES[k] ?? `i${k}`;

function times(index: string, stride: string): string {
  if (stride === "1") return index;
  if (stride === "0") return "";
  return /[-+ ]/.test(stride.replace(/^-/, "")) ? `${index}·(${stride})` : `${index}·${stride}`;
}

/** `offset + i·stride + ..`, and what the indices range over. */
export function formula(array: ArrayInfo): HTMLElement {
  const names = array.dims.map((_, k) => indexName(k));
  const terms = array.dims.map(([, stride], k) => times(names[k]!, tidy(stride))).filter(Boolean);
  const offset = tidy(array.offset);
  const sum = [...(offset === "0" && terms.length ? [] : [offset]), ...terms].join(" + ").replaceAll("+ -", "− ");
  const ranges = array.dims.map(([size], k) => `${names[k]} < ${tidy(size)}`).join(", ");
  return h("p", { class: "formula" },
    h("code", {}, `${array.name}${names.map((name) => `[${name}]`).join("")}`), " is cell ", h("code", {}, sum), " of ",
    h("code", {}, array.block), ranges ? h("span", { class: "quiet" }, ` for ${ranges}`) : null);
}

/** Polynomials as the compiler prints them, with a middle dot for products. */
export function tidy(polynomial: string | number): string {
  return String(polynomial).replaceAll("*", "·");
}
