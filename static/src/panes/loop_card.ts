// Accesses of C loops: what iterations touch in turn, as lines of a cache and lanes of a vector.
import { fillSlowly, h, s } from "../dom";
import type { LoopAccess } from "../types";
import { drawRequest } from "./warp_card";

const LINE = 64;

/** A column: its head, what stands in it of each access, and its class where that is a sentence. */
export type Column<T> = readonly [head: string, cell: (one: T) => Node | string, words?: "words"];

/** A table with a row for each access, whose first column names it. */
export function tableOf<T>(
  caption: string,
  rows: readonly T[],
  [first, ...columns]: readonly [Column<T>, ...Column<T>[]],
): HTMLElement {
  return h(
    "table",
    { class: "cells-table" },
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h("tr", {}, ...[first, ...columns].map(([head, , words]) => h("th", { scope: "col", class: words }, head))),
    ),
    fillSlowly(h("tbody", {}), rows, (one) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, first[1](one)),
        ...columns.map(([, cell, words]) => h("td", { class: words }, cell(one))),
      ),
    ),
  );
}

/** All of them as one table. */
export function loopTable(loops: readonly LoopAccess[]): HTMLElement {
  return tableOf("Accesses of C loops", loops, [
    ["Access", (one) => h("code", {}, accessName(one))],
    ["Lines", (one) => String(linesOf(one) || "")],
    ["Apart", ({ elements }) => elements ?? ""],
    ["Loop", ({ index }) => index],
    ["Line", ({ line }) => String(line)],
    ["What 16 iterations touch", ({ says }) => says, "words"],
    ["Vector code", ({ simd }) => (simd ? "asked for" : "")],
  ]);
}

export const accessName = ({ kind, array, cell }: LoopAccess): string =>
  `${kind === "both" ? "updates" : kind} ${array}[${cell}]`;

/** Return the number of cache lines that are touched. */
const linesOf = ({ touched, size }: LoopAccess): number =>
  new Set(touched.flatMap((byte) => [Math.floor(byte / LINE), Math.floor((byte + size - 1) / LINE)])).size;

/** Iterations above, lines of 64 bytes below, what no iteration needs hatched. */
export function drawTurns(access: LoopAccess): SVGElement {
  const drawn = drawRequest({ says: access.says, size: access.size, shared: false }, access.touched, {
    unit: LINE,
    of: "iteration",
  });
  drawn.append(s("desc", {}, "Assumes that the lowest cell is the first of a line."));
  return drawn;
}

/** The same as a table. */
export function turnsTable({ touched }: LoopAccess): HTMLElement {
  return h(
    "table",
    { class: "cells-table" },
    h("caption", { class: "visually-hidden" }, "Iterations"),
    h("thead", {}, h("tr", {}, ...["Iteration", "First byte", "Line"].map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...touched.map((byte, k) =>
        h("tr", {}, h("th", { scope: "row" }, k), h("td", {}, byte), h("td", {}, Math.floor(byte / LINE))),
      ),
    ),
  );
}
