// Files as values of a parameter: .npy, Futhark's text and binary, CSV, pictures. Throws, in words, what is wrong.
import { bytes } from "../dom";
import type { Leaf } from "../input_types";
import { table } from "./csv";
import { onlyIn, toText, typed, Values, valuesIn } from "./values";

type Cells = Uint8Array | Int32Array | Uint32Array | Float32Array | Float64Array;

export const ACCEPTED = ".npy,.csv,.tsv,.txt,.in,.out,.bin,.dat,image/*";
const DTYPES: Record<string, string> = {
  i1: "i8",
  i2: "i16",
  i4: "i32",
  i8: "i64",
  u1: "u8",
  u2: "u16",
  u4: "u32",
  u8: "u64",
  f2: "f16",
  f4: "f32",
  f8: "f64",
  b1: "bool",
};
const MOST_PIXELS = 16_000_000;
const MOST_HEAD = 1 << 16; // of what stands before the elements

/** Characters of a value that goes into a field. */
export const LONG = 20_000;
/** Elements of an array that may be so short as text. */
const FEW = LONG / 2;

/**
 * What a file holds, where a parameter takes `leaf` (null where nothing is known of what it takes): the text of its
 * values, or an array that is sent as it is.
 */
export async function readFile(file: File, leaf: Leaf | null): Promise<string | Values> {
  const [most, mega] = [longest("input", 5_000_000), longest("upload", 256)];
  const large = file.size > 1024 * 1024 * mega + MOST_HEAD;
  if (large && file.size > 2 * most)
    throw new Error(`${file.name} has ${bytes(file.size)}; at most ${mega} MB are accepted.`);
  const read = await contentOf(file, leaf).catch((error: unknown) => {
    throw error instanceof RangeError ? new Error(`${file.name} is truncated or damaged.`) : error;
  });
  if (typeof read !== "string") {
    const text = read.size <= FEW || !mega ? toText(read, true) : null;
    if (text === null || (mega && text.length > LONG)) return read;
    return inText(file, text, most);
  }
  return inText(file, read, most);
}

function inText(file: File, text: string, most: number): string {
  if (text.length > most)
    throw new Error(`${file.name} is ${bytes(text.length)} as text; at most ${bytes(most)} are accepted.`);
  return text;
}

/** The most that the server takes of a kind: characters as `input`, megabytes as `upload`. */
const longest = (kind: string, otherwise: number): number =>
  Number(document.querySelector<HTMLMetaElement>(`meta[name='longest-${kind}']`)?.content ?? otherwise);

async function contentOf(file: File, leaf: Leaf | null): Promise<string | Values> {
  if (!file.size) throw new Error(`${file.name} is empty.`);
  if (file.type.startsWith("image/")) return picture(file, leaf);
  const data = await file.arrayBuffer();
  const start = new Uint8Array(data, 0, Math.min(6, data.byteLength));
  if (start[0] === 0x93 && String.fromCharCode(...start.subarray(1)) === "NUMPY") return fitting(npy(data), leaf);
  const one = leaf && onlyIn(data);
  if (one) return fitting(one, leaf);
  const most = longest("input", 5_000_000);
  // Text is nearly as long as what it is made of, or longer: such a file need not be read.
  if (file.size > 2 * most)
    throw new Error(`${file.name} has ${bytes(file.size)}; at most ${bytes(most)} of text are accepted.`);
  const text = valuesIn(data)?.trim();
  if (text === undefined)
    throw new Error(`${file.name} is not text, an .npy file, a picture or in Futhark's binary format.`);
  return /\.(csv|tsv)$/i.test(file.name) ? table(text, wanted(leaf), file.name) : text;
}

function wanted(leaf: Leaf | null): Leaf {
  if (!leaf) throw new Error("This parameter cannot be read from this type of file: write its value as text.");
  return leaf;
}

function fitting(values: Values, leaf: Leaf | null): Values {
  const { prim, dims } = wanted(leaf);
  if (values.prim !== prim || values.shape.length !== dims.length) {
    const shown = (rank: number, of: string) => `${"[]".repeat(rank)}${of}`;
    throw new Error(
      `The file holds ${shown(values.shape.length, values.prim)}, but the parameter takes ${shown(dims.length, prim)}.`,
    );
  }
  return values;
}

/** NumPy's own format: a header in Python's notation, then the elements. */
function npy(data: ArrayBuffer): Values {
  const view = new DataView(data);
  const wide = view.getUint8(6) > 1;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = wide ? 12 : 10;
  const header = new TextDecoder("latin1").decode(new Uint8Array(data, start, length));
  const [, order, kind] = /'descr':\s*'([<>|=])(\w+)'/.exec(header) ?? [];
  const prim = DTYPES[kind ?? ""];
  const shape = (/'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ?? "")
    .split(",")
    .filter((part) => part.trim())
    .map((part) => parseInt(part, 10));
  if (shape.some((size) => !(size >= 0))) throw new Error("This .npy file has a shape with a negative size.");
  if (!prim || (order === ">" && kind !== "u1" && kind !== "i1"))
    throw new Error(
      "This .npy file holds elements of a type that the language does not have, or in the wrong order of bytes.",
    );
  const { values } = typed(prim, shape, data, start + length);
  if (!/'fortran_order':\s*True/.test(header) || shape.length < 2) return values;
  return values.byRows();
}

/** A picture's pixels, as the parameter takes them: three or four channels, packed, or grey. */
async function picture(file: File, leaf: Leaf | null): Promise<Values> {
  const { prim, dims } = wanted(leaf);
  const image = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is not a picture that this browser can read.`);
  });
  const { width, height } = image;
  if (width * height > MOST_PIXELS)
    throw new Error(`${file.name} has ${width} by ${height} pixels; at most ${MOST_PIXELS} are accepted.`);
  const context = new OffscreenCanvas(width, height).getContext("2d")!;
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const count = width * height;
  /** An array of so many cells for each pixel; `of`: what is put into the k-th one. */
  const filled = <T extends Cells>(cells: T, shape: number[], of: (k: number) => number): Values => {
    for (let k = 0; k < cells.length; k += 1) cells[k] = of(k);
    return new Values(prim, shape, cells);
  };
  const grey = (k: number) => 0.299 * data[4 * k]! + 0.587 * data[4 * k + 1]! + 0.114 * data[4 * k + 2]!;
  if (prim === "u8" && dims.length === 3) {
    const channels = dims[2] === "4" ? 4 : 3;
    const cells = new Uint8Array(channels * count);
    return filled(cells, [height, width, channels], (k) => data[4 * Math.floor(k / channels) + (k % channels)]!);
  }
  const packed = (k: number) =>
    (data[4 * k + 3]! << 24) | (data[4 * k]! << 16) | (data[4 * k + 1]! << 8) | data[4 * k + 2]!;
  const shape = [height, width];
  if (dims.length === 2) {
    if (prim === "u32") return filled(new Uint32Array(count), shape, packed);
    if (prim === "i32") return filled(new Int32Array(count), shape, packed);
    if (prim === "u8") return filled(new Uint8Array(count), shape, (k) => Math.round(grey(k)));
    if (prim === "f32") return filled(new Float32Array(count), shape, (k) => grey(k) / 255);
    if (prim === "f64") return filled(new Float64Array(count), shape, (k) => grey(k) / 255);
  }
  throw new Error(
    "A picture is an array [h][w][3]u8, [h][w][4]u8, [h][w]u32, [h][w]i32, [h][w]u8, [h][w]f32 or [h][w]f64.",
  );
}
