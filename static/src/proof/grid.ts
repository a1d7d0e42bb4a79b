// Two sets of cells on one grid, each in its own pattern; and the same cells as a table.
import { areExact } from "../arithmetic";
import { h, s } from "../dom";
import type { CellSet } from "../types";

export interface Sets {
  names: readonly [string, string];
  sets: readonly [CellSet, CellSet];
  shared: readonly number[];
}

/** A row by its first cell, or a column by its number; `skipped`: how many are left out in its place. */
export interface Track {
  at: number;
  skipped: number;
}

/** The drawn parts of a block with `columns` cells in a row; stretches that no set touches are left out. */
export interface Layout {
  columns: number;
  rows: Track[];
  across: Track[];
}

/** True if a set's cells are what the server said. */
export const isExact = ({ offset, dims, count, points }: CellSet): boolean =>
  areExact([offset, count, ...dims.flat(), ...points.map(({ cell }) => cell)]);

const LETTER = 7.2; // pixels of a label, as in proof.css
const TOP = 17;
const TALL = 200; // what rows are lower for, as long as their cells can be told apart
const LEAST = 12;
const GAP = 3; // rows or columns in neither set, from which on they are left out
const FEW = 16; // columns that are large cells in any pane
export const ALL_COLUMNS = 48; // so many are drawn whatever is in them
export const WINDOW = 36; // rows, and columns, that are drawn at once
let drawings = 0;

/**
 * A width of rows at which the sets look regular: their smallest stride beyond a few cells, or the
 * size next to it, which makes diagonals of them.
 */
export function columnsFor(sets: readonly CellSet[], sizes: readonly number[]): number {
  const strides = sets.flatMap((set) => set.dims.filter(([size]) => size > 1).map(([, stride]) => Math.abs(stride)));
  const fitting = strides.filter((stride) => stride >= 4 && stride <= ALL_COLUMNS);
  if (fitting.length) {
    const least = Math.min(...fitting);
    return notTall(sets, [least, least + 1, least - 1].find((width) => sizes.includes(width)) ?? least);
  }
  const larger = strides.filter((stride) => stride > ALL_COLUMNS);
  if (larger.length) return Math.min(...larger);
  const [low, high] = reach(sets);
  return Math.max(12, Math.min(FEW, high - low + 1));
}

/** Several such rows side by side, where few columns would be more rows than are seen at once. */
function notTall(sets: readonly CellSet[], width: number): number {
  while (2 * width <= FEW && rowsOf(sets, width).length > TALL / LEAST) width *= 2;
  return width;
}

function reach(sets: readonly CellSet[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { points } of sets) {
    for (const { cell } of points) {
      low = Math.min(low, cell);
      high = Math.max(high, cell);
    }
  }
  return low > high ? [0, 0] : [low, high];
}

/** All rows with cells of a set, and short stretches between them. */
export function rowsOf(sets: readonly CellSet[], columns: number): Track[] {
  const cells = sets.flatMap(({ points }) => points.map(({ cell }) => cell));
  return tracks(cells.map((cell) => Math.floor(cell / columns))).map(({ at, skipped }) => ({
    at: at * columns,
    skipped,
  }));
}

/** All columns; where they are many, those with cells in some rows, and short stretches between them. */
export function acrossOf(sets: readonly CellSet[], columns: number, rows: readonly Track[]): Track[] {
  if (columns <= ALL_COLUMNS) return Array.from({ length: columns }, (_, at) => ({ at, skipped: 0 }));
  const seen = new Set(rows.filter(({ skipped }) => !skipped).map(({ at }) => at));
  const inside = (cell: number): number => ((cell % columns) + columns) % columns;
  return tracks(
    sets.flatMap(({ points }) =>
      points.filter(({ cell }) => seen.has(cell - inside(cell))).map(({ cell }) => inside(cell)),
    ),
  );
}

function tracks(numbers: readonly number[]): Track[] {
  const touched = [...new Set(numbers)].sort((a, b) => a - b);
  const begin = touched[0] ?? 0;
  const found: Track[] = [];
  let next = begin > 0 && begin <= GAP ? 0 : begin;
  for (const number of touched) {
    if (number - next >= GAP) found.push({ at: next, skipped: number - next });
    else for (; next < number; next += 1) found.push({ at: next, skipped: 0 });
    found.push({ at: number, skipped: 0 });
    next = number + 1;
  }
  return found;
}

interface Owner {
  a: number[][];
  b: number[][];
}

function owners({ sets }: Sets): Map<number, Owner> {
  const found = new Map<number, Owner>();
  sets.forEach((set, which) => {
    for (const { index, cell } of set.points) {
      const owner = found.get(cell) ?? { a: [], b: [] };
      (which ? owner.b : owner.a).push(index);
      found.set(cell, owner);
    }
  });
  return found;
}

const kindOf = (owner: Owner | undefined): "a" | "b" | "both" | "none" =>
  !owner ? "none" : owner.a.length && owner.b.length ? "both" : owner.a.length ? "a" : "b";

const at = (index: readonly number[]): string => (index.length ? `[${index.join("][")}]` : "its only cell");

/** The patterns of the two sets: stripes and dots; what both hold is crossed. */
function patterns(id: string): SVGElement {
  return s(
    "defs",
    {},
    s(
      "pattern",
      {
        id: `${id}-a`,
        width: 6,
        height: 6,
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(45)",
        class: "pattern-a",
      },
      s("rect", { width: 6, height: 6, class: "ground" }),
      s("rect", { width: 2.4, height: 6, class: "ink" }),
    ),
    s(
      "pattern",
      { id: `${id}-b`, width: 6, height: 6, patternUnits: "userSpaceOnUse", class: "pattern-b" },
      s("rect", { width: 6, height: 6, class: "ground" }),
      s("circle", { cx: 3, cy: 3, r: 1.5, class: "ink" }),
    ),
  );
}

/** A sample of a pattern, for the legend. */
export function swatch(kind: "a" | "b" | "both" | "none"): SVGElement {
  const id = `sets-${++drawings}`;
  return s(
    "svg",
    { width: 18, height: 18, class: "sets", "aria-hidden": "true" },
    patterns(id),
    ...marks(kind, id, 1, 1, 16),
  );
}

function marks(kind: "a" | "b" | "both" | "none", id: string, x: number, y: number, side: number): SVGElement[] {
  const fill = kind === "a" || kind === "b" ? `url(#${id}-${kind})` : undefined;
  const box = s("rect", { x, y, width: side, height: side, rx: Math.min(2, side / 8), fill, class: `in-${kind}` });
  if (kind !== "both") return [box];
  const end = side * 0.24;
  return [
    box,
    s("path", {
      class: "cross",
      d:
        `M${x + end},${y + end}L${x + side - end},${y + side - end}` +
        `M${x + side - end},${y + end}L${x + end},${y + side - end}`,
    }),
  ];
}

/** The drawing of some rows and columns; `width` is what there is room for. */
export function drawSets(
  given: Sets,
  { columns, rows, across }: Layout,
  width: number,
  witness: number | null,
): SVGElement {
  const found = owners(given);
  const fitting = Math.max(LEAST, Math.floor(TALL / rows.length));
  const wide = (tracks: readonly Track[]): number => LETTER * Math.max(...tracks.map(({ at }) => String(at).length));
  const labels = Math.max(40, wide(rows) + 10);
  const pitch = Math.max(9, Math.min(24, fitting, Math.floor((width - labels) / across.length)));
  const side = pitch - (pitch > 12 ? 2 : 1);
  const id = `sets-${++drawings}`;
  const above = wide(across) + LETTER; // with its sign
  const step = Math.max(1, Math.ceil((above + 8) / pitch));
  const rowStep = Math.max(1, Math.ceil(12 / pitch));
  const x = (k: number): number => labels + k * pitch;
  const total = x(across.length) + Math.max(0, (above - pitch) / 2); // the last label may be wider than its column
  const height = TOP + rows.length * pitch;
  const cells = rows.flatMap((row, at) => {
    const y = TOP + at * pitch;
    if (row.skipped)
      return [s("text", { x: labels, y: y + side / 2 + 3.5, class: "axis" }, `⋮ ${row.skipped} rows in neither`)];
    return across.flatMap((column, k) =>
      column.skipped
        ? []
        : square(given, found.get(row.at + column.at), row.at + column.at, witness, id, x(k), y, side),
    );
  });
  const gaps = across.flatMap((column, k) =>
    column.skipped
      ? [
          s(
            "g",
            { class: "columns-gap" },
            s("title", {}, `${column.skipped} columns in neither`),
            s("line", { x1: x(k) + side / 2, x2: x(k) + side / 2, y1: TOP, y2: height }),
          ),
        ]
      : [],
  );
  const counts = given.sets.map((set, k) => `${given.names[k]} has ${set.count}`).join(", ");
  const drawn = rows.filter((row) => !row.skipped);
  return s(
    "svg",
    {
      viewBox: `0 0 ${total} ${height}`,
      width: total,
      height,
      role: "img",
      class: "sets",
      "aria-label":
        `Cells of the block in ${drawn.length} rows from cell ${drawn[0]?.at ?? 0} ` +
        `on, ${columns} in a row. ${counts}, ${given.shared.length} in both.`,
    },
    patterns(id),
    ...across.map(({ at, skipped }, k) =>
      k % step || skipped
        ? null
        : s("text", { x: x(k) + side / 2, y: 13, class: "axis", "text-anchor": "middle" }, `+${at}`),
    ),
    ...rows.map(({ at, skipped }, k) =>
      k % rowStep || skipped
        ? null
        : s("text", { x: labels - 5, y: TOP + k * pitch + side / 2 + 3.5, class: "axis", "text-anchor": "end" }, at),
    ),
    ...gaps,
    ...cells,
  );
}

function square(
  given: Sets,
  owner: Owner | undefined,
  cell: number,
  witness: number | null,
  id: string,
  x: number,
  y: number,
  side: number,
): SVGElement {
  const kind = kindOf(owner);
  const holds = owner
    ? [...owner.a.map((i) => `${given.names[0]} ${at(i)}`), ...owner.b.map((i) => `${given.names[1]} ${at(i)}`)].join(
        ", ",
      )
    : "in neither";
  return s(
    "g",
    { class: `set-cell${cell === witness ? " witness" : ""}`, "data-cell": cell },
    s("title", {}, `cell ${cell}: ${holds}${cell === witness ? "; the witness" : ""}`),
    ...marks(kind, id, x, y, side),
  );
}

/** The same numbers as a table: each cell with its index in both sets. */
export function setsTable(given: Sets, most = 1000): HTMLElement {
  const found = [...owners(given)].sort(([one], [other]) => one - other);
  return h(
    "table",
    { class: "cells-table" },
    h("caption", {}, `Cells of both sets${found.length > most ? `, the first ${most} of ${found.length}` : ""}`),
    h("thead", {}, h("tr", {}, ...["Cell", ...given.names, "In both"].map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...found
        .slice(0, most)
        .map(([cell, { a, b }]) =>
          h(
            "tr",
            { class: a.length && b.length ? "meets" : "" },
            h("td", {}, cell),
            h("td", {}, a.map(at).join(" ") || "–"),
            h("td", {}, b.map(at).join(" ") || "–"),
            h("td", {}, a.length && b.length ? "yes" : ""),
          ),
        ),
    ),
  );
}

/** The cells that one dimension alone reaches (or none: the offset), for lighting a term. */
export function cellsOfTerm(set: CellSet, dimension: number): Set<number> {
  return new Set(
    set.points.filter(({ index }) => index.every((i, k) => k === dimension || i === 0)).map(({ cell }) => cell),
  );
}
