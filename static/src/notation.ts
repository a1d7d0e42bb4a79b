// What the notation of the stages means: what it is, its equation, a small drawing, the rules about it.
import * as client from "./client";
import { h, quoted, s } from "./dom";
import type { CellSet } from "./types";

type Drawing = "each" | "fold" | "scan" | "bins" | "points";

interface Notation {
  says: string;
  equation?: string;
  draw?: Drawing;
  /** The rule, or the pass, that says more about it. */
  rule?: string;
}

const MAP: Notation = {
  says: "Applies a function to each element, in any order, all at once if there are enough threads.",
  equation: "map f [a, b, c] = [f a, f b, f c]",
  draw: "each",
  rule: "fuse/map-map",
};
const REDUCE: Notation = {
  says:
    "Combines all elements by an associative operator: only the order of elements " +
    "matters. A map before it may be fused into it; its results are never in memory.",
  equation: "reduce op e [a, b, c] = a op b op c",
  draw: "fold",
  rule: "fuse/map-reduce",
};
const SCAN: Notation = {
  says: "All intermediate results of combining the elements from the first to the last.",
  equation: "scan op e [a, b, c] = [a, a op b, a op b op c]",
  draw: "scan",
  rule: "fuse/map-scan",
};
const HIST: Notation = {
  says: "Combines each value into the bin with its index; an index out of bounds is ignored.",
  equation: "bins[i] = bins[i] op v, for each (i, v)",
  draw: "bins",
  rule: "fuse/map-hist",
};

export const NOTATION: Readonly<Record<string, Notation>> = {
  map: MAP,
  reduce: REDUCE,
  redomap: REDUCE,
  scan: SCAN,
  scanomap: SCAN,
  hist: HIST,
  reduce_by_index: HIST,
  screma: {
    says: "Maps, reductions and scans over the same arrays, in one pass.",
    draw: "each",
    rule: "fuse/side-by-side",
  },
  scatter: {
    says: "Writes each value to its index; an index out of bounds is ignored.",
    equation: "ds[i] = v, for each (i, v)",
    draw: "bins",
    rule: "fuse/map-scatter",
  },
  stream: {
    says: "Runs a function for each element that returns nothing and pushes values to arrays.",
    draw: "bins",
    rule: "fuse/map-stream",
  },
  push: {
    says: "Writes or combines a value into an array of the enclosing kernel; an index out of bounds is ignored.",
    equation: "push (ds)[i] = (v)",
  },
  segmap: {
    says: "A kernel: the body runs once for each point of its index space, each in its own thread.",
    equation: "segmap (i < n, j < m): body(i, j) at each of n·m points",
    draw: "points",
    rule: "flatten/nest",
  },
  segred: {
    says: "A kernel that reduces along its last index: one result for each point of the others.",
    equation: "r[i] = body(i, 0) op body(i, 1) op ..",
    draw: "fold",
    rule: "flatten/segmented",
  },
  segscan: {
    says: "A kernel that scans along its last index, for each point of the others.",
    equation: "r[i, j] = body(i, 0) op .. op body(i, j)",
    draw: "scan",
    rule: "flatten/segmented",
  },
  seghist: {
    says: "A kernel that combines what its points compute into bins.",
    draw: "bins",
    rule: "flatten/elements",
  },
  grid: { says: "Level: a separate kernel, over all threads of the device." },
  block: { says: "Level: runs inside a block of threads, which share memory.", rule: "flatten/intra-block" },
  thread: { says: "Level: runs sequentially in one thread.", rule: "flatten/small" },
  op: {
    says: "The operator of a reduction, scan or histogram: its neutral elements in parentheses, then a function.",
    rule: "flatten/operator",
  },
  comm: {
    says: "The operator is commutative, so elements can be combined in any order.",
    equation: "a op b = b op a",
  },
  into: { says: "The arrays that are written to." },
  loop: {
    says: "A loop: parameters with their first values; its body computes the next ones.",
    rule: "simplify/loop-invariant",
  },
  with: {
    says: "An in-place update: it consumes the array, and returns it with other elements there.",
    equation: "(xs with [i] = v)[j] = if j == i then v else xs[j]",
    rule: "shortcircuit/update",
  },
  concat: {
    says: "One array behind another.",
    equation: "concat(xs, ys)[i] = if i < n then xs[i] else ys[i - n]",
    draw: "each",
    rule: "shortcircuit/concat",
  },
  iota: {
    says: "Numbers in steps.",
    equation: "iota(n, start, step)[i] = start + i·step",
    rule: "simplify/view-known",
  },
  replicate: { says: "The same value everywhere.", equation: "replicate(n, v)[i] = v", rule: "simplify/replicate" },
  rearrange: {
    says: "Other orders of dimensions, such as a transposition. " + "With memory it copies nothing: it swaps strides.",
    equation: "rearrange((1, 0), xs)[i, j] = xs[j, i]",
    rule: "simplify/view-view",
  },
  reshape: { says: "The same elements with another shape.", rule: "memory/reshape" },
  copy: { says: "A new array with the same elements.", draw: "each", rule: "simplify/copy" },
  scratch: { says: "An uninitialised array; each element is written before it is read." },
  alloc: {
    says: "Allocates a memory block for this many elements.",
    equation: "alloc(n, f32): 4·n bytes",
    rule: "merge/hoist",
  },
  mem: { says: "A memory block, with the type of its cells.", rule: "memory" },
  apply: {
    says: "Calls a function of scalars. It is not inlined, because there would be too many copies.",
    rule: "simplify/keep-function",
  },
  call: {
    says: "Calls a function. It is not inlined, because there would be too many copies.",
    rule: "simplify/share-function",
  },
  assert: { says: "Stops the program with a message unless the condition holds.", rule: "simplify/assert" },
  threshold: {
    says: "Selects a version by the amount of parallelism; tuning sets the threshold.",
    rule: "flatten/versions",
  },
  entry: { says: "A function that can be called from outside." },
  takes: { says: "A parameter of the entry point, and its memory block." },
  gives: { says: "A result of the entry point, and its memory block." },
  kernel: { says: "Code that each point of the index space runs.", rule: "imp" },
  launch: { says: "Starts a kernel on the device." },
  barrier: { says: "All threads of a block wait here for each other.", rule: "kernels" },
  fold: { says: "Combines a value with the intermediate result.", draw: "fold", rule: "kernels/several" },
  "@": {
    says:
      "Where an array lies: element (i, j) is cell `offset + i·stride " +
      "+ j·stride` of the block, from `{(size: stride), ..}`.",
  },
  "\\": { says: "An anonymous function: parameters, their types, then its body." },
  "*": { says: "Before a type: the array may be consumed, or shares memory with nothing else." },
  ":+": {
    says: "A slice: this many elements from an index on, perhaps with a stride.",
    equation: "xs[a:+n:s][i] = xs[a + i·s]",
  },
};

/** The notation at a column of a line, and from where to where it goes. */
export function notationAt(line: string, column: number): { word: string; from: number; to: number } | null {
  for (const found of line.matchAll(/@ ?[\w']+ -> [^=]*?\{[^}]*\}|:\+|[A-Za-z_][\w']*|\\|@(?= )|\*(?=\[)/g)) {
    const [from, to] = [found.index, found.index + found[0].length];
    if (column < from || column >= to) continue;
    const word = found[0].startsWith("@") ? "@" : found[0];
    return Object.hasOwn(NOTATION, word) ? { word, from, to } : null;
  }
  return null;
}

/** Explain a word of the notation; of an index function also its cells, which the compiler counts. */
export async function explained(word: string, text: string): Promise<HTMLElement> {
  const { says, equation, draw, rule } = NOTATION[word]!;
  return h(
    "div",
    { class: "type-tip notation", role: "note" },
    h("p", {}, h("code", {}, word), " ", ...quoted(says)),
    equation ? h("pre", {}, equation) : null,
    draw ? drawn(draw) : word === "@" ? await cellsOf(text) : null,
    rule ? h("p", {}, h("a", { href: `/rules/${rule}`, target: "_blank" }, "the rule ", h("code", {}, rule))) : null,
  );
}

const SIDE = 16;

function drawn(kind: Drawing): SVGElement {
  const box = (k: number, y: number, words = ""): SVGElement[] => [
    s("rect", { x: k * (SIDE + 4), y, width: SIDE, height: SIDE, class: "tip-cell" }),
    s("text", { x: k * (SIDE + 4) + SIDE / 2, y: y + 11.5, "text-anchor": "middle" }, words),
  ];
  const line = (from: number, to: number): SVGElement =>
    s("line", {
      x1: from * (SIDE + 4) + SIDE / 2,
      y1: SIDE,
      x2: to * (SIDE + 4) + SIDE / 2,
      y2: 34,
      class: "tip-line",
    });
  const all = [0, 1, 2, 3, 4, 5];
  const pairs: [number, number][] = {
    each: all.map((k): [number, number] => [k, k]),
    points: all.map((k): [number, number] => [k, k]),
    fold: all.map((k): [number, number] => [k, 0]),
    scan: all.flatMap((k) => all.filter((to) => to >= k && to <= k + 1).map((to): [number, number] => [k, to])),
    bins: [
      [0, 2],
      [1, 0],
      [2, 2],
      [3, 1],
      [4, 0],
      [5, 2],
    ] as [number, number][],
  }[kind];
  const below = [...new Set(pairs.map(([, to]) => to))];
  return s(
    "svg",
    { width: 124, height: 52, viewBox: "0 0 124 52", role: "img", "aria-label": LABELS[kind], class: "tip-drawing" },
    ...all.flatMap((k) => box(k, 0, kind === "points" ? String(k) : "")),
    ...pairs.map(([from, to]) => line(from, to)),
    ...below.flatMap((k) => box(k, 34)),
  );
}

const LABELS: Record<Drawing, string> = {
  each: "each of six elements gives one",
  fold: "six elements give one",
  scan: "each of six results takes in the one before",
  bins: "six elements go into three bins",
  points: "six points give one element each",
};

const SAMPLE = 3; // what each name is in a drawing
const MOST = 36;

/** The cells of `@ mem -> n + {(n: 1)}`; null where there is no answer. */
async function cellsOf(text: string): Promise<SVGElement | null> {
  const lmad = text.slice(text.indexOf("->") + 2).replaceAll("'", "_"); // all names are the same number
  const values = Object.fromEntries([...lmad.matchAll(/[A-Za-z_]\w*/g)].map(([name]) => [name, SAMPLE]));
  const answer = await client.ask("cells", { lmads: [lmad], values });
  return answer.ok ? lmadCells(answer.lmads[0]!) : null;
}

/** Numbered cells of the block; null where there are none or too many. */
function lmadCells({ points, complete }: CellSet): SVGElement | null {
  const cells = points.map(({ cell }) => cell);
  const [low, high] = [Math.min(0, ...cells), Math.max(5, ...cells)];
  if (!complete || !cells.length || high - low >= MOST || cells.length > MOST) return null;
  const order = new Map(cells.map((cell, k) => [cell, k]));
  const across = Math.min(12, high - low + 1);
  const rows = Math.ceil((high - low + 1) / across);
  return s(
    "svg",
    {
      width: across * (SIDE + 2),
      height: rows * (SIDE + 2),
      viewBox: `0 0 ${across * (SIDE + 2)} ${rows * (SIDE + 2)}`,
      role: "img",
      class: "tip-drawing",
      "aria-label": `With every name ${SAMPLE}, its elements in order are cells ${cells.join(", ")} of the block`,
    },
    ...Array.from({ length: high - low + 1 }, (_, k) => {
      const [x, y] = [(k % across) * (SIDE + 2), Math.floor(k / across) * (SIDE + 2)];
      const element = order.get(low + k);
      return s(
        "g",
        {},
        s("rect", { x, y, width: SIDE, height: SIDE, class: element === undefined ? "tip-free" : "tip-cell" }),
        s("text", { x: x + SIDE / 2, y: y + 11.5, "text-anchor": "middle" }, element ?? ""),
      );
    }),
  );
}
