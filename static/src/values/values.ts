// Values of the language with exact elements: out of Futhark's binary format, or out of its text.

type Cells =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;
type Maker = new (buffer: ArrayBuffer) => Cells;

const MAKERS: Record<string, Maker> = {
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
  bool: Uint8Array,
  f16: Uint16Array,
};
/** Bits of the fraction, and the least exponent. */
const FLOATS: Record<string, [number, number]> = { f16: [10, -14], f32: [23, -126] };
const HEAD = 7;
const BINARY = 0x62;

export const elements = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** An array or a scalar; elements go by their place in row-major order. */
export class Values {
  constructor(
    readonly prim: string,
    readonly shape: readonly number[],
    private readonly cells: ArrayLike<number | bigint>,
  ) {}

  get size(): number {
    return elements(this.shape);
  }

  /** An element as a number, which of 64 bits is the nearest one. */
  number(k: number): number {
    return Number(this.cells[k]!);
  }

  /** An element as the language writes it, without its type. */
  text(k: number): string {
    const value = this.cells[k]!;
    if (this.prim === "bool") return value ? "true" : "false";
    if (typeof value === "bigint" || !this.prim.startsWith("f")) return String(value);
    return decimal(value, this.prim);
  }

  /** The same with its type. */
  typed(k: number): string {
    const text = this.text(k);
    return this.prim === "bool" || /[a-z]{3}$/.test(text) ? text : `${text}${this.prim}`;
  }

  /** -1, 0 or 1, exactly; what is no number is as large as all. */
  compare(a: number, b: number): number {
    const [x, y] = [this.cells[a]!, this.cells[b]!];
    return x < y ? -1 : x > y ? 1 : 0;
  }

  /** The value in Futhark's binary format. */
  get binary(): Blob {
    const head = new DataView(new ArrayBuffer(HEAD + 8 * this.shape.length));
    const name = this.prim.padStart(4);
    const bytes = [BINARY, 2, this.shape.length, ...Array.from(name, (one) => one.charCodeAt(0))];
    for (const [k, byte] of bytes.entries()) head.setUint8(k, byte);
    for (const [k, size] of this.shape.entries()) head.setBigUint64(HEAD + 8 * k, BigInt(size), true);
    return new Blob([head.buffer, cellsOf(this.prim, this.cells).buffer as ArrayBuffer]);
  }

  /** The same elements where those of a column lie beside each other, put in order of rows. */
  byRows(): Values {
    const { shape, size } = this;
    const strides = shape.map((_, k) => elements(shape.slice(0, k)));
    const made = Array.isArray(this.cells) ? [...this.cells] : (this.cells as Cells).slice();
    const place = shape.map(() => 0);
    let at = 0;
    for (let k = 0; k < size; k += 1) {
      made[k] = this.cells[at]!;
      for (let d = shape.length - 1; d >= 0; d -= 1) {
        at += strides[d]!;
        if (++place[d]! < shape[d]!) break;
        at -= strides[d]! * shape[d]!;
        place[d] = 0;
      }
    }
    return new Values(this.prim, shape, made);
  }

  /** Those between two places in steps, for each dimension. */
  cut(cuts: readonly Cut[]): Values {
    const all = this.shape.map((size, k) => places(cuts[k] ?? [0, size, 1], size));
    let at = [0];
    all.forEach((chosen, k) => {
      const stride = elements(this.shape.slice(k + 1));
      at = at.flatMap((base) => chosen.map((place) => base + place * stride));
    });
    return this.chosen(
      all.map((chosen) => chosen.length),
      at,
    );
  }

  /** The elements at some places, in another shape. */
  chosen(shape: readonly number[], at: readonly number[]): Values {
    return new Values(
      this.prim,
      shape,
      at.map((place) => this.cells[place]!),
    );
  }
}

export type Cut = readonly [from: number, to: number, step: number];

function places([from, to, step]: Cut, size: number): number[] {
  const found: number[] = [];
  for (let at = from; at < Math.min(to, size); at += step) found.push(at);
  return found;
}

/** The shortest decimal that means this number in its type. */
function decimal(value: number, prim: string): string {
  if (Number.isNaN(value)) return `${prim}.nan`;
  if (!Number.isFinite(value)) return `${value < 0 ? "-" : ""}${prim}.inf`;
  if (Object.is(value, -0)) return "-0.0";
  const bits = FLOATS[prim];
  let shown = value;
  if (bits && value) {
    const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), bits[1]);
    const near = 2 ** (exponent - bits[0] - 2);
    for (let digits = 1; digits <= 9; digits += 1) {
      shown = Number(value.toPrecision(digits));
      if (prim === "f32" ? Math.fround(shown) === value : Math.abs(shown - value) < near) break;
    }
  }
  return Number.isInteger(shown) && Math.abs(shown) < 1e16 ? shown.toFixed(1) : String(shown);
}

/** Cells as the binary format has them. */
function cellsOf(prim: string, cells: ArrayLike<number | bigint>): Cells {
  if (prim === "f16") return Uint16Array.from(cells as ArrayLike<number>, halfOf);
  const maker = MAKERS[prim]!;
  if (cells instanceof maker) return cells;
  return (maker as unknown as { from(of: ArrayLike<number | bigint>): Cells }).from(cells);
}

/** The bits of a number that is an f16. */
function halfOf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === Infinity) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  return sign | (((exponent + 15) << 10) + Math.round((size / 2 ** exponent - 1) * 1024));
}

function half(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : (fraction / 1024) * 2 ** -14);
}

/** Parse values in Futhark's binary format. Throws where it holds none. */
export function fromBinary(data: ArrayBuffer): Values[] {
  const found: Values[] = [];
  for (let at = 0; at < data.byteLength; ) {
    const made = oneIn(data, at);
    found.push(made.values);
    at = made.end;
  }
  return found;
}

/** The text of values in Futhark's text or binary format, which may be mixed; undefined for what is neither. */
export function valuesIn(data: ArrayBuffer): string | undefined {
  const bytes = new Uint8Array(data);
  let [text, at] = ["", 0];
  try {
    for (let begin = nextBinary(bytes, at); begin < bytes.length; begin = nextBinary(bytes, at)) {
      const { values, end } = oneIn(data, begin);
      text += `${new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at, begin))} ${toText(values)} `;
      at = end;
    }
    return text + new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at));
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Where the next value in the binary format begins, outside of comments and strings. */
function nextBinary(bytes: Uint8Array, from: number): number {
  const [newline, quote, backslash, minus] = [10, 34, 92, 45];
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === BINARY && bytes[at + 1] === 2) return at;
    if (byte === minus && bytes[at + 1] === minus) at = until(bytes, newline, at);
    else if (byte === quote)
      for (at += 1; at < bytes.length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
  }
  return bytes.length;
}

const until = (bytes: Uint8Array, byte: number, at: number): number => {
  const found = bytes.indexOf(byte, at);
  return found < 0 ? bytes.length : found;
};

/** The content of a file that is one value in the binary format; null for all else. */
export function onlyIn(data: ArrayBuffer): Values | null {
  const [first, version] = new Uint8Array(data, 0, Math.min(2, data.byteLength));
  if (first !== BINARY || version !== 2) return null;
  const { values, end } = oneIn(data, 0);
  return end === data.byteLength ? values : null;
}

function oneIn(data: ArrayBuffer, at: number): { values: Values; end: number } {
  const view = new DataView(data);
  if (view.getUint8(at) !== BINARY || view.getUint8(at + 1) !== 2)
    throw new Error(`Nothing in Futhark's binary format begins at byte ${at}.`);
  const rank = view.getUint8(at + 2);
  const prim = String.fromCharCode(...new Uint8Array(data, at + 3, 4)).trim();
  const shape = Array.from({ length: rank }, (_, k) => Number(view.getBigUint64(at + HEAD + 8 * k, true)));
  return typed(prim, shape, data, at + HEAD + 8 * rank);
}

/** An array whose elements begin at a byte, and where it ends. Throws where it is longer than the data. */
export function typed(
  prim: string,
  shape: readonly number[],
  data: ArrayBuffer,
  start: number,
): { values: Values; end: number } {
  const maker = MAKERS[prim];
  if (!maker) throw new Error(`There is no type ${prim}.`);
  const end = start + elements(shape) * (maker as unknown as { BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
  if (end > data.byteLength)
    throw new Error(
      `An array of ${shape.length > 4 ? `${shape.length} dimensions` : `${shape.join(" by ")} elements`} ` +
        `ends before its end.`,
    );
  const cells = new maker(data.slice(start, end));
  return {
    values: new Values(prim, shape, prim === "f16" ? Float32Array.from(cells as Uint16Array, half) : cells),
    end,
  };
}

const TYPE = /^((?:\[\d+\])*)(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool)$/;
const ELEMENT = /(-?)(?:f\d+\.(nan|inf)|(true|false)|(\d[\d.]*(?:e[-+]?\d+)?))(?:[iuf]\d+)?/g;

/** The type of a result with its sizes; null for what is no array or scalar. */
export function typeOf(text: string): { prim: string; shape: number[] } | null {
  const found = TYPE.exec(text);
  return found && { prim: found[2]!, shape: [...found[1]!.matchAll(/\d+/g)].map(([size]) => Number(size)) };
}

/** A value out of its text as an answer has it; null where elements were left out. */
export function fromText(text: string, type: string): Values | null {
  const found = typeOf(type);
  if (!found || text.includes("…")) return null;
  const { prim, shape } = found;
  if (!elements(shape)) return new Values(prim, shape, []);
  const wide = prim === "i64" || prim === "u64";
  const cells = Array.from(text.matchAll(ELEMENT), ([, sign, special, word, digits]): number | bigint => {
    if (word) return word === "true" ? 1 : 0;
    if (wide) return BigInt(`${sign}${digits}`);
    const size = special ? { nan: NaN, inf: Infinity }[special as "nan" | "inf"] : Number(digits);
    return sign ? -size : size;
  });
  return cells.length === elements(shape)
    ? new Values(prim, shape, prim === "f32" ? cells.map(Number).map(Math.fround) : cells)
    : null;
}

/** Elements from which on a text goes without their type, which the parameter says, and without blanks. */
const MANY = 10_000;

/** A value as a program takes it; `known`: of a parameter's own type. */
export function toText(values: Values, known = false): string {
  const short = known && values.size > MANY;
  if (!values.size && values.shape.length)
    return `empty(${values.shape.map((size) => `[${size}]`).join("")}${values.prim})`;
  let at = 0;
  const rows = ([size, ...inner]: readonly number[]): string =>
    size === undefined
      ? short
        ? values.text(at++)
        : values.typed(at++)
      : `[${Array.from({ length: size }, () => rows(inner)).join(short ? "," : ", ")}]`;
  return rows(values.shape);
}
