// Makes .zip files for tests, whole ones and such as lie.

export interface Packed {
  name: string;
  data: string | Uint8Array;
  /** What its list says instead: of its length, its sum, its flags. */
  says?: { size?: number; sum?: number; flags?: number };
}

const LOCAL = 30;
const LISTED = 46;

export async function zipped(entries: readonly Packed[]): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  const list: Uint8Array[] = [];
  for (const { name, data, says = {} } of entries) {
    const plain = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const [named, packed] = [new TextEncoder().encode(name), await deflated(plain)];
    const fields = [0x0008, 0, says.sum ?? crc(plain), packed.length, says.size ?? plain.length];
    const at = parts.reduce((sum, { length }) => sum + length, 0);
    const local = head(LOCAL, 0x04034b50, 6, says.flags ?? 0, fields, named.length);
    const listed = head(LISTED, 0x02014b50, 8, says.flags ?? 0, fields, named.length);
    new DataView(listed.buffer).setUint32(42, at, true);
    parts.push(local, named, packed);
    list.push(listed, named);
  }
  const [before, length] = [parts, list].map((all) => all.reduce((sum, one) => sum + one.length, 0));
  const end = new Uint8Array(22);
  const view = new DataView(end.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(10, entries.length, true);
  view.setUint32(12, length!, true);
  view.setUint32(16, before!, true);
  return joined([...parts, ...list, end]);
}

/** The head of an entry: at its start, or in the list at the end. */
function head(
  size: number,
  mark: number,
  from: number,
  flags: number,
  [method, time, sum, packed, plain]: readonly number[],
  name: number,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, mark, true);
  view.setUint16(from, flags, true);
  view.setUint16(from + 2, method!, true);
  view.setUint32(from + 4, time!, true);
  for (const [k, value] of [sum, packed, plain].entries()) view.setUint32(from + 8 + 4 * k, value!, true);
  view.setUint16(from + 20, name, true);
  return bytes;
}

async function deflated(plain: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([plain.slice()]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function crc(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let k = 0; k < 8; k += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return (sum ^ -1) >>> 0;
}
