// Files as values of a parameter: .npy, Futhark's text and binary, CSV, pictures. Throws, in words, what is wrong.
import { bytes } from "../dom";
import type { Leaf } from "../input_types";
import { table } from "./csv";
import { toText, typed, Values, valuesIn } from "./values";

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
const MOST_PIXELS = 400_000;

/** The text of a file's values, where a parameter takes `leaf`; null where nothing is known of what it takes. */
export async function textOf(file: File, leaf: Leaf | null): Promise<string> {
  const most = longest();
  // Text is nearly as long as what it is made of, or longer: such a file need not be read.
  if (file.size > 2 * most && !file.type.startsWith("image/"))
    throw new Error(`${file.name} has ${bytes(file.size)}; at most ${bytes(most)} of text are taken.`);
  const text = await read(file, leaf).catch((error: unknown) => {
    throw error instanceof RangeError ? new Error(`${file.name} ends before its end, or is damaged.`) : error;
  });
  if (text.length > most)
    throw new Error(`${file.name} is ${bytes(text.length)} as text; at most ${bytes(most)} are taken.`);
  return text;
}

/** Characters that the server takes as the inputs of a run. */
const longest = (): number =>
  Number(document.querySelector<HTMLMetaElement>("meta[name='longest-input']")?.content ?? 5_000_000);

async function read(file: File, leaf: Leaf | null): Promise<string> {
  if (!file.size) throw new Error(`${file.name} is empty.`);
  if (file.type.startsWith("image/")) return toText(await picture(file, leaf), true);
  const data = await file.arrayBuffer();
  const start = new Uint8Array(data, 0, Math.min(6, data.byteLength));
  if (start[0] === 0x93 && String.fromCharCode(...start.subarray(1)) === "NUMPY")
    return toText(fitting(npy(data), leaf), true);
  const text = valuesIn(data)?.trim();
  if (text === undefined)
    throw new Error(`${file.name} is no text, no .npy file, no picture and not in Futhark's binary format.`);
  return /\.(csv|tsv)$/i.test(file.name) ? table(text, wanted(leaf), file.name) : text;
}

function wanted(leaf: Leaf | null): Leaf {
  if (!leaf) throw new Error("A parameter of this type takes no file of this kind: write its value as text.");
  return leaf;
}

function fitting(values: Values, leaf: Leaf | null): Values {
  const { prim, dims } = wanted(leaf);
  if (values.prim !== prim || values.shape.length !== dims.length) {
    const shown = (rank: number, of: string) => `${"[]".repeat(rank)}${of}`;
    throw new Error(
      `The file holds ${shown(values.shape.length, values.prim)}, and the parameter takes ${shown(dims.length, prim)}.`,
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
  const strides = shape.map((_, k) => shape.slice(0, k).reduce((product, size) => product * size, 1));
  const at = Array.from({ length: values.size }, (_, k) => {
    let [rest, place] = [k, 0];
    for (let d = shape.length - 1; d >= 0; d -= 1) {
      place += (rest % shape[d]!) * strides[d]!;
      rest = Math.floor(rest / shape[d]!);
    }
    return place;
  });
  return values.chosen(shape, at);
}

/** A picture's pixels, as the parameter takes them: three or four channels, packed, or grey. */
async function picture(file: File, leaf: Leaf | null): Promise<Values> {
  const { prim, dims } = wanted(leaf);
  const image = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is no picture that this browser reads.`);
  });
  const { width, height } = image;
  if (width * height > MOST_PIXELS)
    throw new Error(`${file.name} has ${width} by ${height} pixels; at most ${MOST_PIXELS} are taken.`);
  const context = new OffscreenCanvas(width, height).getContext("2d")!;
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const every = <T>(of: (at: number) => T): T[] => Array.from({ length: width * height }, (_, k) => of(4 * k));
  const grey = (at: number) => 0.299 * data[at]! + 0.587 * data[at + 1]! + 0.114 * data[at + 2]!;
  if (prim === "u8" && dims.length === 3) {
    const channels = dims[2] === "4" ? 4 : 3;
    return new Values(prim, [height, width, channels], every((at) => [...data.subarray(at, at + channels)]).flat());
  }
  if (dims.length === 2 && (prim === "u32" || prim === "i32")) {
    const packed = every((at) => (data[at + 3]! << 24) | (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!);
    return new Values(prim, [height, width], prim === "u32" ? packed.map((one) => one >>> 0) : packed);
  }
  if (dims.length === 2 && prim === "u8")
    return new Values(
      prim,
      [height, width],
      every((at) => Math.round(grey(at))),
    );
  if (dims.length === 2 && prim.startsWith("f"))
    return new Values(
      prim,
      [height, width],
      every((at) => (prim === "f32" ? Math.fround(grey(at) / 255) : grey(at) / 255)),
    );
  throw new Error(
    "A picture is an array [h][w][3]u8, [h][w][4]u8, [h][w]u32, [h][w]i32, [h][w]u8, [h][w]f32 or [h][w]f64.",
  );
}
