// An LMAD as a formula, with names for the indices.
import { h } from "../dom";
import { asFactor, numberOf, pretty } from "../polynomial";
import type { ArrayInfo } from "../types";

const INDICES = ["i", "j", "k", "l", "p", "q", "r"];
const indexName = (k: number): string => INDICES[k] ?? `i${k}`;

/** `offset + i·stride + ..`, and what the indices range over. */
export function formula({ name, block, lmad: { offset, dims } }: ArrayInfo): HTMLElement {
  const names = dims.map((_, k) => indexName(k));
  const terms = dims.flatMap(([, stride], k) => {
    const number = numberOf(stride);
    return number === 0 ? [] : [number === 1 ? names[k]! : `${names[k]}·${asFactor(stride)}`];
  });
  const sum = [...(!offset.length && terms.length ? [] : [pretty(offset)]), ...terms]
    .join(" + ")
    .replaceAll("+ -", "− ");
  const ranges = dims.map(([size], k) => `${names[k]} < ${pretty(size)}`).join(", ");
  return h(
    "p",
    { class: "formula" },
    h("code", {}, `${name}${names.map((index) => `[${index}]`).join("")}`),
    " is cell ",
    h("code", {}, sum),
    " of ",
    h("code", {}, block),
    ranges ? h("span", { class: "quiet" }, ` for ${ranges}`) : null,
  );
}
