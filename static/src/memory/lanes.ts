// Blocks as lanes over the statements of a program, arrays in them as bars, bytes needed below.
import { bytes, fillSlowly, h, s } from "../dom";
import type { Pictured } from "../pictures";
import { inOrder, shapeText } from "../polynomial";
import { inSight, type Part } from "../sight";
import type { LifeArray, LifeBlock, LifeFunction } from "../types";

const BAR = 15;
const HEAD = 15;
const GAP = 7;
const CHART = 64;
const LEFT = 6;
const RIGHT = 10;
const LETTER = 7.3; // pixels, as in lanes.css
const NEEDED = "bytes needed";
const atMost = (amount: number): string => ` at most ${bytes(amount)}, at ●`;
let drawings = 0;

interface Lane {
  y: number;
  rows: Bar[][];
}

/** An array, or those that a kernel has inside, which are all at its own statement. */
interface Bar {
  arrays: LifeArray[];
  first: number;
  last: number;
  sure: boolean;
}

function barsOf(arrays: readonly LifeArray[]): Bar[] {
  const bars = new Map<string, Bar>();
  for (const array of arrays) {
    const sure = array.blocks.length === 1;
    const inside = array.first === array.last;
    const key = inside ? [array.first, sure].join() : array.name;
    const bar = bars.get(key);
    if (bar) bar.arrays.push(array);
    else bars.set(key, { arrays: [array], first: array.first, last: array.last, sure });
  }
  return [...bars.values()];
}

/** Arrays of a block in rows, so that those that are needed at once stand below each other. */
function rowsOf(bars: readonly Bar[]): Bar[][] {
  const rows: Bar[][] = [];
  for (const bar of [...bars].sort((a, b) => a.first - b.first || b.last - a.last)) {
    // A bar of the row begins before this one, and its last one ends last.
    const row = rows.find((taken) => taken.at(-1)!.last < bar.first);
    if (row) row.push(bar);
    else rows.push([bar]);
  }
  return rows;
}

/** Bars are hatched where an array lies in this block or in another one. */
function hatch(id: string): SVGElement {
  return s(
    "defs",
    {},
    s(
      "pattern",
      { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)", class: "hatch" },
      s("rect", { width: 6, height: 6, class: "ground" }),
      s("rect", { width: 1.6, height: 6, class: "ink" }),
    ),
  );
}

/** The later fate of the blocks: in the stage that is compared with. */
interface Later {
  info: { title: string };
  fun: LifeFunction;
}

/** The drawing. `most` is the largest amount of all drawings that are compared, for one scale. */
export function drawLanes(
  fun: LifeFunction,
  pictured: Pictured,
  width: number,
  most: number,
  later?: Later,
): SVGElement {
  const stay = new Set(later?.fun.blocks.map((block) => block.name));
  const count = fun.points.length;
  const step = Math.max(8, Math.min(56, (width - LEFT - RIGHT) / count));
  const words = (block: LifeBlock): string => {
    const kind = block.kind === "parameter" ? "input" : block.per_point ? "per thread" : "allocated";
    return ` ${kind}${block.size === undefined ? "" : `, ${bytes(block.size)}`}`;
  };
  const gone = (block: LifeBlock): string => (later && !stay.has(block.name) ? ", goes away" : "");
  // As wide as its statements, and as what stands above lanes, where those are few.
  const labels = [
    ...fun.blocks.map((block) => block.name + words(block) + gone(block)),
    fun.peak ? NEEDED + atMost(fun.peak.bytes) : "",
  ];
  const total = LEFT + RIGHT + Math.max(step * count, LETTER * Math.max(...labels.map(({ length }) => length)));
  const x = (point: number): number => LEFT + point * step;
  let y = 4;
  const lanes = new Map<string, Lane>();
  const arrays = arraysOf(fun);
  for (const block of fun.blocks) {
    const rows = rowsOf(barsOf(arrays.get(block.name) ?? []));
    lanes.set(block.name, { y, rows });
    y += HEAD + Math.max(1, rows.length) * (BAR + 2) + GAP;
  }
  const bottom = y;
  const top = bottom + HEAD + 6; // the words above it stand clear of its highest line
  const height = top + CHART + 18;
  const id = `hatch-${++drawings}`;
  const live = fun.live ?? [];
  const level = (amount: number): number => top + CHART - (most ? (amount / most) * CHART : 0);
  const svg = s(
    "svg",
    {
      viewBox: `0 0 ${total} ${height}`,
      width: total,
      height,
      role: "img",
      class: "lanes",
      "aria-label":
        `${fun.blocks.length} blocks over ${count} statements of ${fun.name}` +
        (fun.peak ? `; at most ${bytes(fun.peak.bytes)} at once` : ""),
    },
    hatch(id),
  );
  const laneOf = (block: LifeBlock, k: number): Part[] => {
    const lane = lanes.get(block.name)!;
    const lower = lane.y + HEAD;
    const depth = Math.max(1, lane.rows.length) * (BAR + 2);
    const [from, room] = [x(block.at) + 0.5, (block.until - block.at + 1) * step - 1];
    return [
      {
        left: LEFT,
        right: total,
        top: lane.y,
        bottom: lower,
        make: () =>
          s(
            "text",
            { x: LEFT, y: lane.y + 11, class: "lane-name" },
            s("tspan", { class: "strong" }, block.name),
            words(block),
            gone(block) ? s("tspan", { class: "gone" }, gone(block)) : null,
          ),
      },
      {
        left: from,
        right: from + room,
        top: lower,
        bottom: lower + depth,
        make: () => s("rect", { x: from, y: lower - 1, width: room, height: depth + 1, rx: 3, class: "lane" }),
      },
      ...lane.rows.flatMap((row, number) =>
        row.map((one): Part => {
          const [left, y] = [x(one.first), lower + number * (BAR + 2) + 1];
          const wide = (one.last - one.first + 1) * step;
          return {
            left,
            right: left + wide,
            top: y,
            bottom: y + BAR,
            make: () =>
              pictured.part(
                drawBar(one, left, y, wide, k, id, fun),
                one.arrays.flatMap(({ src }) => src),
              ),
          };
        }),
      ),
    ];
  };
  const bands = fun.points.map(
    (point, k): Part => ({
      left: x(k),
      right: x(k) + step,
      top: 0,
      bottom: top + CHART,
      make: () =>
        s(
          "g",
          { class: "point", "data-point": k },
          s("title", {}, `${k}: ${point.label}${live[k] === undefined ? "" : `; ${bytes(live[k]!)} needed`}`),
          s("rect", {
            x: x(k),
            y: 0,
            width: step,
            height: top + CHART,
            class: `band depth-${Math.min(3, Math.max(0, point.depth - 1))}`,
          }),
        ),
    }),
  );
  const below = fun.peak
    ? [{ left: 0, right: total, top: bottom, bottom: height, make: () => chart(fun, live, x, step, level, top) }]
    : [];
  return inSight(svg, total, [
    bands,
    [...below, ...axis(count, x, step, top + CHART + 13)],
    fun.blocks.flatMap(laneOf),
  ]);
}

/** The arrays that are, or may be, in each block. */
function arraysOf(fun: LifeFunction): Map<string, LifeArray[]> {
  const found = new Map<string, LifeArray[]>(fun.blocks.map(({ name }) => [name, []]));
  for (const array of fun.arrays) for (const block of new Set(array.blocks)) found.get(block)?.push(array);
  return found;
}

function drawBar(
  bar: Bar,
  x: number,
  y: number,
  width: number,
  lane: number,
  id: string,
  fun: LifeFunction,
): SVGElement {
  const { arrays, sure } = bar;
  const from = fun.points[bar.first]?.label ?? "";
  const to = fun.points[bar.last]?.label ?? "";
  const many = arrays.length > 1;
  const full = many ? `${arrays[0]!.name} +${arrays.length - 1}` : arrays[0]!.name;
  const room = Math.floor((width - 8) / 6.4);
  const name =
    room >= full.length
      ? full
      : many && room >= 2
        ? `×${arrays.length}`
        : room >= 3
          ? `${full.slice(0, room - 1)}…`
          : "";
  const listed = arrays.map((array) => `${array.name} ${shapeText(array.shape)}${array.prim}`).join(", ");
  return s(
    "g",
    { class: `bar hue hue-${lane % 8}`, "data-array": arrays[0]!.name },
    s("title", {}, `${listed}: from “${from}” to “${to}”${sure ? "" : `; in one of ${arrays[0]!.blocks.join(", ")}`}`),
    s("rect", {
      x: x + 1,
      y,
      width: Math.max(3, width - 2),
      height: BAR,
      rx: 3,
      class: sure ? "sure" : "unsure",
      fill: sure ? undefined : `url(#${id})`,
    }),
    name ? s("text", { x: x + 5, y: y + BAR - 4 }, name) : null,
  );
}

function chart(
  fun: LifeFunction,
  live: readonly number[],
  x: (point: number) => number,
  step: number,
  level: (amount: number) => number,
  top: number,
): SVGElement {
  const { bytes: most, point } = fun.peak!;
  const outline = live
    .map((amount, k) => `${k ? "L" : "M"}${x(k)},${level(amount)}L${x(k) + step},${level(amount)}`)
    .join("");
  const end = x(live.length - 1) + step;
  const base = top + CHART;
  return s(
    "g",
    {},
    s("text", { x: x(0), y: top - 4, class: "lane-name" }, s("tspan", { class: "strong" }, NEEDED), atMost(most)),
    s("path", { class: "needed", d: `${outline}L${end},${base}L${x(0)},${base}Z` }),
    s("line", { class: "peak", x1: x(0), x2: end, y1: level(most), y2: level(most) }),
    s("circle", { class: "peak-at", cx: x(point) + step / 2, cy: level(most), r: 3.5 }),
  );
}

function axis(count: number, x: (point: number) => number, step: number, y: number): Part[] {
  const every = Math.max(1, Math.ceil(22 / step));
  return Array.from({ length: count }, (_, k) => k)
    .filter((k) => k % every === 0)
    .map((k) => ({
      left: x(k),
      right: x(k) + step,
      top: y - 10,
      bottom: y,
      make: () => s("text", { x: x(k) + step / 2, y, class: "axis", "text-anchor": "middle" }, k),
    }));
}

/** The same numbers: blocks with their arrays, then statements with the bytes that they need. */
export function lanesTables(fun: LifeFunction, pictured: Pictured, choose: (point: number) => void): HTMLElement[] {
  const point = (k: number) => h("button", { class: "link", title: fun.points[k]?.label, onclick: () => choose(k) }, k);
  const head = (...names: string[]) =>
    h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name))));
  const arrays = arraysOf(fun);
  const blocks = fun.blocks.flatMap((block) =>
    [null, ...(arrays.get(block.name) ?? [])].map((array) => ({ block, array })),
  );
  const blockRow = ({ block, array }: (typeof blocks)[0]): HTMLElement =>
    array
      ? pictured.part(
          h(
            "tr",
            {},
            h(
              "td",
              { class: "inside" },
              array.name,
              array.blocks.length > 1 ? h("span", { class: "quiet" }, " here or elsewhere") : null,
            ),
            h("td", {}, ""),
            h("td", {}, point(array.first)),
            h("td", {}, point(array.last)),
          ),
          array.src,
        )
      : h(
          "tr",
          { class: "block-row" },
          h("th", { scope: "row" }, block.name),
          h("td", {}, block.size === undefined ? inOrder(block.bytes) : bytes(block.size)),
          h("td", {}, point(block.at)),
          h("td", {}, point(block.until)),
        );
  const statement = (one: LifeFunction["points"][0], k: number): HTMLElement =>
    h(
      "tr",
      { class: fun.peak?.point === k ? "meets" : "" },
      h("td", {}, point(k)),
      h("td", { class: "inside" }, "\u00a0".repeat(2 * one.depth), one.label),
      h("td", {}, fun.live ? bytes(fun.live[k]!) : "–", fun.peak?.point === k ? " peak" : ""),
    );
  return [
    h(
      "table",
      { class: "cells-table life-table" },
      h("caption", {}, "Blocks and the arrays in them"),
      head("Block, array", "Bytes", "From", "To"),
      fillSlowly(h("tbody", {}), blocks, blockRow),
    ),
    h(
      "table",
      { class: "cells-table life-table" },
      h("caption", {}, "Statements"),
      head("Number", "Statement", "Bytes needed"),
      fillSlowly(h("tbody", {}), fun.points, statement),
    ),
  ];
}
