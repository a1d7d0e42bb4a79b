// Types of an entry point's parameters: how many values each takes, what fits, and what to start from.
import { evaluate, namesIn, sized, type Sizes } from "./arithmetic";
import { closing, splitValues } from "./inputs";

/** One value: its sizes from the outside in, as text, and its element type. */
export interface Leaf {
  dims: string[];
  prim: string;
}

/** A type: arrays (of no dimension, if they are none) of numbers, of records or tuples, or of variants. */
export interface Kind {
  dims: string[];
  prim?: string;
  /** Names are empty in tuples. */
  fields?: (readonly [name: string, kind: Kind])[];
  variants?: (readonly [name: string, payload: Kind[]])[];
}

export interface Parameter {
  /** Its name in the source, or its position. */
  name: string;
  type: string;
  /** Null for a type that is not known. */
  kind: Kind | null;
  /** The values that it takes where it is given in its components; null where sums choose among them. */
  leaves: Leaf[] | null;
}

const PRIM = /^(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool)\b/;
const WHOLE = /^[iu]/;
const FIRST = 4; // a size that nothing else tells
const MOST = 4096; // elements of a proposed array

export const parameterOf = (type: string, name: string): Parameter => {
  const kind = kindOf(type);
  return { name, type, kind, leaves: kind && leavesOf(kind) };
};

/** Parse a type; null if it is no type of values. */
export function kindOf(type: string): Kind | null {
  let rest = type.trim().replace(/^\*/, "");
  const dims: string[] = [];
  for (let end = closing(rest); rest.startsWith("[") && end > 0; end = closing(rest)) {
    dims.push(rest.slice(1, end).trim());
    rest = rest.slice(end + 1).trim();
  }
  const inside = /^[({]/.test(rest) && closing(rest) === rest.length - 1 ? rest.slice(1, -1).trim() : null;
  const sum = inside?.startsWith("#") ? inside : rest;
  if (PRIM.exec(rest)?.[0] === rest) return { dims, prim: rest };
  if (sum.startsWith("#")) {
    const variants = split(sum, /\|/)
      .map((one) => split(one, /\s/))
      .map(([name, ...payload]) => [name!.slice(1), payload.map(kindOf)] as const);
    return variants.every(known) ? { dims, variants } : null;
  }
  if (inside === null) return null;
  const fields = split(inside).map((part): readonly [string, Kind | null] => {
    const colon = rest.startsWith("{") ? part.indexOf(":") : -1;
    return [part.slice(0, Math.max(colon, 0)).trim(), kindOf(part.slice(colon + 1))];
  });
  return fields.every((field): field is [string, Kind] => field[1] !== null) ? { dims, fields } : null;
}

const known = (variant: readonly [string, (Kind | null)[]]): variant is readonly [string, Kind[]] =>
  !variant[1].includes(null);

/** The values of a type in the order of its components: of tuples and records each part. */
function leavesOf({ dims, prim, fields }: Kind): Leaf[] | null {
  if (prim) return [{ dims, prim }];
  const found: Leaf[] = [];
  for (const part of fields?.map(([, kind]) => leavesOf(kind)) ?? [null]) {
    if (!part) return null;
    found.push(...part.map((leaf) => ({ ...leaf, dims: [...dims, ...leaf.dims] })));
  }
  return found;
}

/** All sizes of a type. */
export const dimsOf = ({ dims, fields = [], variants = [] }: Kind): string[] => [
  ...dims,
  ...[...fields.map(([, kind]) => kind), ...variants.flatMap(([, payload]) => payload)].flatMap(dimsOf),
];

/** The parts of a list with commas (or others), none of them inside of brackets. */
function split(text: string, between = /,/): string[] {
  const found: string[] = [];
  let from = 0;
  for (let at = 0, depth = 0; at <= text.length; at += 1) {
    if (at === text.length || (between.test(text[at]!) && !depth)) {
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
  const number =
    /^-?(0x[\da-f_]+|0b[01_]+|[\d_]+(?:\.[\d_]*)?(?:e[-+]?\d+)?|f\d+\.(?:inf|nan))([iuf](?:8|16|32|64))?$/i.exec(text);
  if (!number) return null;
  const [, digits = "", suffix] = number;
  const whole = /^(0[xb]|[\d_]+$)/i.test(digits);
  const count = whole ? Number(digits.replaceAll("_", "")) * (text.startsWith("-") ? -1 : 1) : null;
  return { extents: [], prim: suffix ?? (whole ? "whole" : "decimal"), count };
}

function readAs(prim: string, wanted: string): boolean {
  return (
    !prim ||
    prim === wanted ||
    (prim === "whole" && wanted !== "bool") ||
    (prim === "decimal" && wanted.startsWith("f"))
  );
}

/**
 * True if a text is a value for a leaf where sizes are what they are; sizes that it tells are added.
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

/** Return how many of `texts` form a value of this kind, with sizes as in `fits`; 0 for none. */
function taken(kind: Kind, texts: readonly string[], sizes: Sizes, name = ""): number {
  const { dims, prim, fields, variants } = kind;
  const [text = "", ...more] = texts;
  const inside = /^[[({]/.test(text) && closing(text) === text.length - 1 ? text.slice(1, -1) : null;
  if (prim) return fits(text, { dims, prim }, sizes, name) ? 1 : 0;
  if (dims.length) {
    if (/^empty\(/.test(text)) return 1;
    const rows = text.startsWith("[") && inside !== null ? split(inside) : [];
    const [first = "", ...rest] = dims;
    if (/^[A-Za-z_][\w']*$/.test(first)) sizes[first] ??= rows.length;
    const wanted = first ? (evaluate(first, sizes) ?? rows.length) : rows.length;
    return rows.length === wanted && rows.length && rows.every((row) => whole({ ...kind, dims: rest }, row, sizes))
      ? 1
      : 0;
  }
  if (variants) {
    if (text.startsWith("(")) return inside !== null && whole(kind, inside, sizes) ? 1 : 0;
    const payload = variants.find(([variant]) => text === `#${variant}`)?.[1];
    let used = 0;
    for (const part of payload ?? []) {
      const here = taken(part, more.slice(used), sizes);
      if (!here) return 0;
      used += here;
    }
    return payload ? used + 1 : 0;
  }
  const parts = inside === null || text.startsWith("[") ? [] : split(inside);
  const fit =
    parts.length === fields!.length &&
    fields!.every(([field, of], k) => {
      const own = field ? parts.find((part) => part.split("=")[0]!.trim() === field) : parts[k];
      return own !== undefined && whole(of, field ? own.slice(own.indexOf("=") + 1).trim() : own, sizes);
    });
  return fit && inside !== null ? 1 : 0;
}

const whole = (kind: Kind, text: string, sizes: Sizes): boolean => {
  const texts = splitValues(text);
  return taken(kind, texts, sizes) === texts.length;
};

/** Return how many of `texts` form a parameter's value, or its components, and the sizes they determine. */
function argument({ name, kind, leaves }: Parameter, texts: readonly string[], before: Sizes): [number, Sizes] {
  let sizes = sized(before);
  const count = kind ? taken(kind, texts, sizes, name) : 0;
  if (count || !leaves?.length || kind?.prim) return [count, count ? sizes : before];
  sizes = sized(before);
  const fit = leaves.length <= texts.length && leaves.every((leaf, k) => fits(texts[k]!, leaf, sizes));
  return fit ? [leaves.length, sizes] : [0, before];
}

/**
 * Texts to start from, one for each parameter: what was `typed`, else what is `given` if it fits, else
 * samples, in sizes that agree. `given` are the values of all parameters in order.
 */
export function propose(
  parameters: readonly Parameter[],
  typed: readonly (string | undefined)[],
  given: readonly string[],
): string[] {
  const pieces = apart(parameters, given);
  let sizes = sized();
  const texts = typed.map((text) => (text?.trim() ? text : undefined));
  // Numbers first: they may be sizes of what comes before them.
  const order = parameters.map((_, k) => k).sort((a, b) => rank(parameters[a]!) - rank(parameters[b]!));
  for (const k of order)
    if (texts[k] !== undefined) sizes = told(parameters[k]!, splitValues(texts[k]), sizes) ?? sizes;
  for (const k of pieces ? order : []) {
    const found = texts[k] === undefined ? told(parameters[k]!, pieces![k]!, sizes) : null;
    if (!found) continue;
    sizes = found;
    texts[k] = pieces![k]!.join(parameters[k]!.leaves?.length === pieces![k]!.length ? "\n" : " ");
  }
  const used = new Set(parameters.flatMap(({ kind }) => (kind ? dimsOf(kind) : [])).flatMap(namesIn));
  for (const name of used) sizes[name] ??= FIRST;
  return parameters.map(
    ({ name, kind }, k) => texts[k] ?? (kind ? sample(kind, sizes, used.has(name) ? name : "") : ""),
  );
}

const rank = ({ kind }: Parameter): number => (kind && !dimsOf(kind).length ? 0 : 1);

/** The values that are each parameter's, whether they fit or not; null where that cannot be told. */
function apart(parameters: readonly Parameter[], given: readonly string[]): string[][] | null {
  let at = 0;
  const found = parameters.map((one) => {
    const [fitting] = argument(one, given.slice(at), {});
    const written = /^[({]|^\[[\s[]*[({#]/.test(given[at] ?? "");
    return given.slice(at, (at += fitting || (written ? 1 : (one.leaves?.length ?? NaN))));
  });
  return at === given.length ? found : null;
}

/** The sizes with those that the values of one parameter tell; null if the values do not fit. */
function told(parameter: Parameter, texts: readonly string[], before: Sizes): Sizes | null {
  const [count, sizes] = argument(parameter, texts, before);
  return count && count === texts.length ? sizes : null;
}

/** A small value of a type; "" where it would be a large one, or its size is not known. */
function sample(kind: Kind, sizes: Sizes, name: string): string {
  const extents = dimsOf(kind).map((dim) => (dim ? evaluate(dim, sizes) : FIRST));
  if (extents.some((extent) => extent === null || extent < 0)) return "";
  if (extents.reduce((product: number, extent) => product * Math.max(1, extent!), 1) > MOST) return "";
  const extent = (dim: string): number => (dim ? evaluate(dim, sizes)! : FIRST);
  let count = 0;
  const of = (one: Kind, inArray: boolean): string => {
    const { dims, prim, fields, variants } = one;
    if (dims.some((dim) => !extent(dim))) return `empty(${typeText(one, extent)})`;
    const [first, ...rest] = dims;
    if (first !== undefined) {
      const rows = Array.from({ length: extent(first) }, () => of({ ...one, dims: rest }, true));
      return `[${rows.join(", ")}]`;
    }
    if (prim) {
      const k = inArray ? 1 + (count++ % 100) : WHOLE.test(prim) ? (sizes[name] ?? 3) : 3;
      return prim === "bool" ? (k % 2 ? "true" : "false") : `${k}${prim.startsWith("f") ? ".0" : ""}${prim}`;
    }
    if (variants) {
      const [[variant, payload] = ["", []]] = variants;
      return [
        `#${variant}`,
        ...payload.map((part) => (part.variants && !part.dims.length ? `(${of(part, inArray)})` : of(part, inArray))),
      ].join(" ");
    }
    const parts = fields!.map(([field, part]) => (field ? `${field} = ${of(part, inArray)}` : of(part, inArray)));
    return fields!.some(([field]) => field) ? `{${parts.join(", ")}}` : `(${parts.join(", ")})`;
  };
  return of(kind, false);
}

/** A type with numbers for sizes. */
function typeText({ dims, prim, fields, variants }: Kind, extent: (dim: string) => number): string {
  const text = (kind: Kind): string => typeText(kind, extent);
  const atom = (kind: Kind): string => (kind.variants && !kind.dims.length ? `(${text(kind)})` : text(kind));
  const sizes = dims.map((dim) => `[${extent(dim)}]`).join("");
  if (prim) return sizes + prim;
  if (variants)
    return (
      sizes +
      (dims.length ? "(" : "") +
      variants.map(([name, payload]) => [`#${name}`, ...payload.map(atom)].join(" ")).join(" | ") +
      (dims.length ? ")" : "")
    );
  const record = fields!.some(([field]) => field);
  const parts = fields!.map(([field, kind]) => (field ? `${field}: ${text(kind)}` : text(kind))).join(", ");
  return sizes + (record ? `{${parts}}` : `(${parts})`);
}
