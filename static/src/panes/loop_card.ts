// Accesses of C loops: what iterations touch in turn, as lines of a cache and lanes of a vector.
import { fillSlowly, h, s } from "../dom";
import type { LoopAccess } from "../types";
import { drawRequest } from "./warp_card";

const LINE = 64;

/** All of them as one table. */
export function loopTable(loops: readonly LoopAccess[]): HTMLElement {
  const heads = ["Access", "Line", "Loop", "Elements on", "What 16 iterations touch", "Lines", "Vector code"];
  return h("table", { class: "cells-table" }, h("caption", {}, "Accesses of C loops"),
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
    fillSlowly(h("tbody", {}), loops, (one) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, accessName(one))),
      ...[one.line, one.index, one.elements ?? "", one.says, linesOf(one) || "", one.simd ? "asked for" : ""].map((cell) => h("td", {}, cell)))));
}

export const accessName = ({ kind, array, cell }: LoopAccess): string => `${kind === "both" ? "updates" : kind} ${array}[${cell}]`;

/** How many lines are touched. */
const linesOf = ({ touched, size }: LoopAccess): number =>
  new Set(touched.flatMap((byte) => [Math.floor(byte / LINE), Math.floor((byte + size - 1) / LINE)])).size;

/** Iterations above, lines of 64 bytes below, what no iteration needs hatched. */
export function drawTurns(access: LoopAccess): SVGElement {
  const drawn = drawRequest({ says: access.says, size: access.size, shared: false }, access.touched, { unit: LINE, of: "iteration" });
  drawn.append(s("desc", {}, "As if the lowest cell were the first of a line."));
  return drawn;
}

/** The same as a table. */
export function turnsTable({ touched }: LoopAccess): HTMLElement {
  return h("table", { class: "cells-table" }, h("caption", { class: "visually-hidden" }, "Iterations"),
    h("thead", {}, h("tr", {}, ...["Iteration", "First byte", "Line"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...touched.map((byte, k) => h("tr", {}, h("th", { scope: "row" }, k), h("td", {}, byte), h("td", {}, Math.floor(byte / LINE))))));
}
