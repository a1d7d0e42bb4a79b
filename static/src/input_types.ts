// Types of an entry point's parameters: how many values each takes, what fits, and what to start from.
import { evaluate, namesIn } from "./arithmetic";
import { splitValues } from "./inputs";

/** One value: its sizes from the outside in, as text, and its element type. */
export interface Leaf {
  dims: string[];
  prim: string;
}

export interface Parameter {
  /** What its author called it, or its place. */
  name: string;
  type: string;
  /** The values that it takes; null where that is not known, as for sums. */
  leaves: Leaf[] | null;
}

/** Values of sizes by name. */
export type Sizes = Record<string, number>;

const PRIM = /^(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool)\b/;
const WHOLE = /^[iu]/;
const FIRST = 4; // a size that nothing else tells
const MOST = 4096; // elements of a proposed array

export const parameterOf = (type: string, name: string): Parameter => ({ name, type, leaves: leavesOf(type) });

/** The values of a type in the order in which they are given: of tuples and records each part. */
export function leavesOf(type: string): Leaf[] | null {
  let rest = type.trim().replace(/^\*/, "");
  const dims: string[] = [];
  for (let end = closing(rest); rest.startsWith("[") && end > 0; end = closing(rest)) {
    dims.push(rest.slice(1, end).trim());
    rest = rest.slice(end + 1).trim();
  }
  const prim = PRIM.exec(rest)?.[0];
  if (prim && prim === rest) return [{ dims, prim }];
  if (!/^[({]/.test(rest) || closing(rest) !== rest.length - 1) return null;
  const record = rest.startsWith("{");
  const parts = split(rest.slice(1, -1)).map((part) => leavesOf(record ? part.slice(part.indexOf(":") + 1) : part));
  const found: Leaf[] = [];
  for (const part of parts) {
    if (!part) return null;
    found.push(...part.map((leaf) => ({ ...leaf, dims: [...dims, ...leaf.dims] })));
  }
  return found;
}

/** Where the bracket that begins a text is closed; -1 if it is not. */
function closing(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if ("[({".includes(text[at]!)) depth += 1;
    if ("])}".includes(text[at]!) && --depth === 0) return at;
  }
  return -1;
}

/** The parts of a list with commas, none of them inside of brackets. */
function split(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  for (let at = 0, depth = 0; at <= text.length; at += 1) {
    if (at === text.length || (text[at] === "," && !depth)) {
      if (text.slice(from, at).trim()) found.push(text.slice(from, at).trim());
      from = at + 1;
    } else if ("[({".includes(text[at]!)) depth += 1;
    else if ("])}".includes(text[at]!)) depth -= 1;
  }
  return found;
}

interface Shape {
  extents: number[];
  /** The element type as far as the text tells: one of them, or `whole`, `decimal`, or "" for any. */
  prim: string;
  /** The number, if it is one whole one. */
  count: number | null;
}

/** The shape of a value in Futhark's notation; null for what is no value, or no regular array. */
function shapeOf(text: string): Shape | null {
  const one = text.trim();
  const empty = /^empty\(\s*((?:\[\d+\])+)(\w+)\s*\)$/.exec(one);
  if (empty) return { extents: [...empty[1]!.matchAll(/\d+/g)].map(Number), prim: empty[2]!, count: null };
  if (/^"(?:[^"\\]|\\.)*"$/.test(one)) return { extents: [one.length - 2], prim: "u8", count: null };
  if (!one.startsWith("[")) return scalarOf(one);
  if (closing(one) !== one.length - 1) return null;
  const rows = split(one.slice(1, -1)).map(shapeOf);
  const inner = rows[0]?.extents ?? [];
  let prim = "";
  for (const row of rows) {
    if (row?.extents.join() !== inner.join()) return null;
    prim = row.prim === "whole" && prim ? prim : row.prim;
  }
  return { extents: [rows.length, ...inner], prim, count: null };
}

function scalarOf(text: string): Shape | null {
  if (/^(true|false)$/.test(text)) return { extents: [], prim: "bool", count: null };
  const number = /^-?(0x[\da-f_]+|0b[01_]+|[\d_]+(?:\.[\d_]*)?(?:e[-+]?\d+)?|f\d+\.(?:inf|nan))([iuf](?:8|16|32|64))?$/i.exec(text);
  if (!number) return null;
  const [, digits = "", suffix] = number;
  const whole = /^(0[xb]|[\d_]+$)/i.test(digits);
  const count = whole ? Number(digits.replaceAll("_", "")) * (text.startsWith("-") ? -1 : 1) : null;
  return { extents: [], prim: suffix ?? (whole ? "whole" : "decimal"), count };
}

function readAs(prim: string, wanted: string): boolean {
  return !prim || prim === wanted || (prim === "whole" && wanted !== "bool") || (prim === "decimal" && wanted.startsWith("f"));
}

/**
 * Whether a text is a value for a leaf where sizes are what they are; sizes that it tells are added.
 * `name`: of the parameter, where its number may be a size.
 */
export function fits(text: string, { dims, prim }: Leaf, sizes: Sizes, name = ""): boolean {
  const shape = shapeOf(text);
  if (!shape || shape.extents.length !== dims.length || !readAs(shape.prim, prim)) return false;
  if (!dims.length && name && WHOLE.test(prim) && shape.count !== null) {
    sizes[name] ??= shape.count;
    return sizes[name] === shape.count;
  }
  return dims.every((dim, k) => {
    const extent = shape.extents[k]!;
    if (!dim) return true;
    if (/^[A-Za-z_][\w']*$/.test(dim)) sizes[dim] ??= extent;
    const wanted = evaluate(dim, sizes);
    return wanted === null || wanted === extent;
  });
}

/**
 * Texts to start from, one for each parameter: what was `typed`, else what is `given` if it fits, else
 * samples, in sizes that agree. `given` are the values of all parameters in order.
 */
export function propose(parameters: readonly Parameter[], typed: readonly (string | undefined)[], given: readonly string[]): string[] {
  const total = parameters.reduce((sum, { leaves }) => sum + (leaves?.length ?? NaN), 0);
  const pieces = total === given.length ? apart(parameters, given) : null;
  let sizes: Sizes = {};
  const texts = typed.map((text) => text?.trim() ? text : undefined);
  // Numbers first: they may be sizes of what comes before them.
  const order = parameters.map((_, k) => k).sort((a, b) => rank(parameters[a]!) - rank(parameters[b]!));
  for (const k of order) if (texts[k] !== undefined) sizes = taken(parameters[k]!, splitValues(texts[k]), sizes) ?? sizes;
  for (const k of pieces ? order : []) {
    const found = texts[k] === undefined ? taken(parameters[k]!, pieces![k]!, sizes) : null;
    if (!found) continue;
    sizes = found;
    texts[k] = pieces![k]!.join("\n");
  }
  const used = new Set(parameters.flatMap(({ leaves }) => leaves ?? []).flatMap(({ dims }) => dims.flatMap(namesIn)));
  for (const name of used) sizes[name] ??= FIRST;
  return parameters.map(({ name, leaves }, k) =>
    texts[k] ?? (leaves ?? []).map((leaf) => sample(leaf, sizes, used.has(name) ? name : "")).join("\n"));
}

const rank = ({ leaves }: Parameter): number => leaves?.every(({ dims }) => !dims.length) ? 0 : 1;

function apart(parameters: readonly Parameter[], given: readonly string[]): string[][] {
  let at = 0;
  return parameters.map(({ leaves }) => given.slice(at, (at += leaves!.length)));
}

/** The sizes with those that the values of one parameter tell; null if the values do not fit. */
function taken({ name, leaves }: Parameter, texts: readonly string[], before: Sizes): Sizes | null {
  const sizes = { ...before };
  const fit = leaves?.length === texts.length && leaves.every((leaf, k) => fits(texts[k]!, leaf, sizes, leaves.length === 1 ? name : ""));
  return fit ? sizes : null;
}

/** A small value of a type; "" where it would be a large one, or its size is not known. */
function sample({ dims, prim }: Leaf, sizes: Sizes, name: string): string {
  const extents = dims.map((dim) => dim ? evaluate(dim, sizes) : FIRST);
  const known = extents.filter((extent): extent is number => extent !== null && extent >= 0);
  if (known.length < dims.length || known.reduce((product, extent) => product * extent, 1) > MOST) return "";
  if (known.includes(0)) return `empty(${known.map((extent) => `[${extent}]`).join("")}${prim})`;
  let count = 0;
  const number = (k: number) => prim === "bool" ? (k % 2 ? "true" : "false") : `${k}${prim.startsWith("f") ? ".0" : ""}${prim}`;
  const rows = ([extent, ...inner]: readonly number[]): string => extent === undefined
    ? number(1 + count++ % 100)
    : `[${Array.from({ length: extent }, () => rows(inner)).join(", ")}]`;
  return dims.length ? rows(known) : number(WHOLE.test(prim) ? sizes[name] ?? 3 : 3);
}
