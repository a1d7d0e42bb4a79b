// Reads .zip files: the entries that are wanted, each within a bound, checked by its sum.

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;

export interface ZipEntry {
  name: string;
  /** Its declared length; `read` reads no more. */
  size: number;
  read(): Promise<Uint8Array>;
}

/** An error: the file is no zip file that can be read here. */
export class BadZip extends Error {}

/** The files in a zip, by the list at its end. Raises BadZip. */
export function entriesOf(bytes: Uint8Array): ZipEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOf(view);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const found: ZipEntry[] = [];
  for (let k = 0; k < count; k += 1) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== ENTRY) throw new BadZip("its list of files is damaged");
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    const [sum, packed, size] = [16, 20, 24].map((by) => view.getUint32(at + by, true)) as [number, number, number];
    const [named, extra, said] = [28, 30, 32].map((by) => view.getUint16(at + by, true)) as [number, number, number];
    const local = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + named));
    at += 46 + named + extra + said;
    if (name.endsWith("/")) continue;
    const read = async (): Promise<Uint8Array> => {
      if (flags & 1) throw new BadZip("it is encrypted");
      if (method !== STORED && method !== DEFLATED) throw new BadZip("its compression method is not supported");
      if (local + 30 > bytes.length || view.getUint32(local, true) !== LOCAL) throw new BadZip("it is damaged");
      const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const data = bytes.subarray(from, from + packed);
      const text = method === STORED ? data : await inflated(data, size);
      if (text.length !== size || crc(text) !== sum) throw new BadZip("it is damaged");
      return text;
    };
    found.push({ name, size, read });
  }
  return found;
}

/** Where the record at the end begins: a comment of any length may follow it. */
function endOf(view: DataView): number {
  for (let at = view.byteLength - 22; at >= Math.max(0, view.byteLength - 22 - 0xffff); at -= 1) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw new BadZip("it is not a zip file");
}

/** Inflates until there is more than it may be. */
async function inflated(data: Uint8Array, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const stream = new Blob([data as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  for (;;) {
    const { value, done } = await reader.read().catch(() => {
      throw new BadZip("it is damaged");
    });
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length <= most) continue;
    await reader.cancel();
    throw new BadZip("it is longer than declared");
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, k) => {
  let value = k;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 255]! ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}
