// Drawings of an array's cells: the array by index, and its block by cell. Data in, SVG out.
import { h, s } from "../dom";
import type { Cell } from "../types";
import { threadList, type Touches } from "./threads";

export type Colouring = "index" | "thread";

export interface Grid {
  cells: readonly Cell[];
  shape: readonly number[];
  /** Cells of the block, at least up to the last that is used. */
  size: number;
  columns: number;
  colouring: Colouring;
  /** The threads that touch the cells, where these are coloured by thread. */
  touches: Touches | null;
}

const SIDE = 26;
const GAP = 2;
const LABELS = 30;

const LISTED = 12;

/** The group that an element's colour tells: its outermost index. */
function groupOf(cell: Cell, grid: Grid): number {
  return grid.shape.length > 1
    ? (cell.index[0] ?? 0)
    : Math.floor(((cell.index[0] ?? 0) * 8) / Math.max(1, grid.shape[0] ?? 1));
}

/** Cells per row: the largest stride of the array if that makes a readable picture. */
export function columnsFor(cells: readonly Cell[], shape: readonly number[], size: number): number {
  const strides = shape.map((_, k) => strideOf(cells, k)).filter((stride) => stride >= 2 && stride <= 40);
  if (strides.length) return Math.max(...strides);
  return Math.min(size, size > 256 ? 32 : 16);
}

function strideOf(cells: readonly Cell[], dimension: number): number {
  const at = new Map(cells.slice(0, 4096).map((cell) => [cell.index.join(), cell.cell]));
  const first = cells[0];
  if (!first) return 0;
  const next = first.index.map((i, k) => (k === dimension ? i + 1 : i)).join();
  const other = at.get(next);
  return other === undefined ? 0 : Math.abs(other - first.cell);
}

interface Place {
  x: number;
  y: number;
  label: string;
  group: number | null;
  /** Several threads touch it. */
  shared: boolean;
  key: string;
  cell: number;
  title: string;
}

function drawing(
  places: readonly Place[],
  columns: number,
  rows: number,
  label: string,
  rowLabel: (row: number) => string,
  columnLabel: (column: number) => string,
): SVGElement {
  const width = LABELS + columns * (SIDE + GAP);
  const height = 16 + rows * (SIDE + GAP);
  const step = columns > 20 ? 4 : columns > 12 ? 2 : 1;
  return s(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": label,
      class: "cells",
    },
    ...Array.from({ length: columns }, (_, k) =>
      k % step === 0
        ? s(
            "text",
            { x: LABELS + k * (SIDE + GAP) + SIDE / 2, y: 11, class: "axis", "text-anchor": "middle" },
            columnLabel(k),
          )
        : null,
    ),
    ...Array.from({ length: rows }, (_, k) =>
      s(
        "text",
        { x: LABELS - 5, y: 16 + k * (SIDE + GAP) + SIDE / 2 + 4, class: "axis", "text-anchor": "end" },
        rowLabel(k),
      ),
    ),
    ...places.map((place) => {
      const x = LABELS + place.x * (SIDE + GAP);
      const y = 16 + place.y * (SIDE + GAP);
      const hue = place.group === null ? "none" : `hue hue-${place.group % 8}`;
      return s(
        "g",
        { class: `cell ${hue}${place.shared ? " shared" : ""}`, "data-key": place.key, "data-cell": place.cell },
        s("title", {}, place.title),
        s("rect", { x, y, width: SIDE, height: SIDE, rx: 3 }),
        s("text", { x: x + SIDE / 2, y: y + SIDE / 2 + 4, "text-anchor": "middle" }, place.label),
      );
    }),
  );
}

/** Return the colour of a cell and a description of the threads' accesses. */
function told(
  cell: number,
  element: Cell | undefined,
  { touches, ...grid }: Grid,
): Pick<Place, "group" | "shared"> & { words: string; label: string | null } {
  if (!touches)
    return { group: element ? groupOf(element, { ...grid, touches }) : null, shared: false, words: "", label: null };
  const threads = touches.by.get(cell) ?? [];
  const done = touches.verb === "reads" ? "read" : "written";
  const words = threads.length
    ? `, ${done} by ${threads.length === 1 ? "" : `${threads.length} threads: `}${threadList(touches, threads, LISTED)}`
    : `, not ${done}`;
  return {
    group: threads.length === 1 ? threads[0]! : null,
    shared: threads.length > 1,
    words,
    label: threads.length > 1 ? `×${short(threads.length)}` : threads.length ? `t${short(threads[0]!)}` : "",
  };
}

/** The array as its author indexes it; labels are cells. `at` fixes all but the last two indices. */
export function byIndex(grid: Grid, name: string, at: readonly number[]): SVGElement {
  const { shape } = grid;
  const flat = shape.length < 2;
  const columns = flat ? Math.min(grid.columns, Math.max(1, shape[0] ?? 1)) : shape[shape.length - 1]!;
  const places = grid.cells
    .filter((cell) => at.every((index, k) => cell.index[k] === index))
    .map((cell): Place => {
      const last = cell.index[cell.index.length - 1] ?? 0;
      const row = flat ? Math.floor(last / columns) : cell.index[cell.index.length - 2]!;
      const { group, shared, words } = told(cell.cell, cell, grid);
      return {
        x: flat ? last % columns : last,
        y: row,
        label: short(cell.cell),
        group,
        shared,
        cell: cell.cell,
        key: cell.index.join(),
        title: `${name}[${cell.index.join("][")}] is cell ${cell.cell}${words}`,
      };
    });
  const rows = flat ? Math.ceil(Math.max(1, shape[0] ?? 1) / columns) : shape[shape.length - 2]!;
  return drawing(
    places,
    columns,
    rows,
    `${name} by index: ${shape.join(" by ")} elements, each with its cell`,
    (row) => String(flat ? row * columns : row),
    (column) => String(column),
  );
}

/** The block as it lies in memory; labels are indices, or the thread, or how many threads. */
export function byCell(grid: Grid, block: string): SVGElement {
  const owners = new Map<number, Cell>();
  for (const cell of grid.cells) if (!owners.has(cell.cell)) owners.set(cell.cell, cell);
  const { columns } = grid;
  const places = Array.from({ length: grid.size }, (_, number): Place => {
    const cell = owners.get(number);
    const { group, shared, words, label } = told(number, cell, grid);
    const index = !cell ? "" : cell.index.length > 3 ? "•" : cell.index.join(",");
    return {
      x: number % columns,
      y: Math.floor(number / columns),
      label: label ?? index,
      group,
      shared,
      cell: number,
      key: cell ? cell.index.join() : "",
      title: `cell ${number} ${cell ? `holds [${cell.index.join("][")}]` : "is not used by this array"}${words}`,
    };
  });
  const rows = Math.max(1, Math.ceil(grid.size / columns));
  return drawing(
    places,
    columns,
    rows,
    `Block ${block}: ${grid.size} cells, ${grid.cells.length} of them used`,
    (row) => String(row * columns),
    (column) => `+${column}`,
  );
}

/** At most four characters. */
function short(value: number): string {
  return value < 10_000 ? String(value) : `${Math.floor(value / 1000)}k`;
}

/** The same numbers as a table. `complete`: these are all cells that the array has. */
export function asTable(
  cells: readonly Cell[],
  complete: boolean,
  name: string,
  touches: Touches | null,
  most = 1000,
): HTMLElement {
  const left = cells.length <= most ? "" : `, the first ${most} of ${complete ? "" : "more than "}${cells.length}`;
  return h(
    "table",
    { class: "cells-table" },
    h("caption", {}, `Cells of ${name}${left}`),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Index"),
        h("th", { scope: "col" }, "Cell"),
        touches ? h("th", { scope: "col" }, touches.verb === "reads" ? "Read by" : "Written by") : null,
      ),
    ),
    h(
      "tbody",
      {},
      ...cells
        .slice(0, most)
        .map((cell) =>
          h(
            "tr",
            {},
            h("td", {}, `[${cell.index.join("][")}]`),
            h("td", {}, cell.cell),
            touches ? h("td", {}, threadList(touches, touches.by.get(cell.cell) ?? [], 40) || "–") : null,
          ),
        ),
    ),
  );
}
