// Files as values of a parameter `[][]f64`: what each is as text, and what is said of those that are none.
import { beforeAll, expect, test, vi } from "vitest";
import { readFile } from "../src/values/upload";
import { fromBinary, toText, Values } from "../src/values/values";

const LEAF = { dims: ["", ""], prim: "f64" };
const bytes = (text: string): number[] => Array.from(text, (one) => one.charCodeAt(0));
const whole = (width: number, value: bigint | number): number[] => {
  const view = new DataView(new ArrayBuffer(width));
  if (typeof value === "bigint") view.setBigUint64(0, value, true);
  else if (width === 2) view.setUint16(0, value, true);
  else view.setFloat64(0, value, true);
  return [...new Uint8Array(view.buffer)];
};

/** An array of `f64` in NumPy's format. */
function npy(shape: string, values: readonly number[], more = "'fortran_order': False"): number[] {
  const head = `{'descr': '<f8', ${more}, 'shape': ${shape}, }\n`;
  return [
    0x93,
    ...bytes("NUMPY"),
    1,
    0,
    ...whole(2, head.length),
    ...bytes(head),
    ...values.flatMap((x) => whole(8, x)),
  ];
}

const HEAD = [...bytes("b"), 2];
const ONE = npy("(1, 1)", [0.5]);
const SEVEN = [...HEAD, 1, ...bytes(" f64"), ...whole(8, 1n), ...whole(8, 7)];
const take = (name: string, data: readonly number[] | string): Promise<string | Values> =>
  readFile(new File([typeof data === "string" ? data : new Uint8Array(data)], name), LEAF);
const read = async (name: string, data: readonly number[] | string): Promise<string> => {
  const taken = await take(name, data);
  return typeof taken === "string" ? taken : toText(taken, true);
};

beforeAll(() => {
  vi.stubGlobal("document", { querySelector: () => null });
  return () => vi.unstubAllGlobals();
});

const REFUSED: [string, readonly number[] | string, string][] = [
  ["none.npy", [], "none.npy is empty."],
  ["none.txt", [], "none.txt is empty."],
  ["magic.npy", ONE.slice(0, 6), "magic.npy is truncated or damaged."],
  ["head.npy", ONE.slice(0, 11), "head.npy is truncated or damaged."],
  ["cells.npy", ONE.slice(0, -3), "An array of 1 by 1 elements ends before its end."],
  ["head.bin", HEAD, "head.bin is truncated or damaged."],
  [
    "rank.bin",
    [...HEAD, 9, ...bytes(" f64"), ...Array<number>(72).fill(255)],
    "An array of 9 dimensions ends before its end.",
  ],
  ["long.csv", "1\n".repeat(6_000_000), "long.csv has 12.0 MB; at most 5.00 MB of text are accepted."],
  ["rank.npy", npy("(3,)", [0, 0, 0]), "The file holds []f64, but the parameter takes [][]f64."],
  ["negative.npy", npy("(1,-1)", [0.5]), "This .npy file has a shape with a negative size."],
  ["large.csv", "1,1e309\n", "large.csv, row 1, column 2: `1e309` is out of the range of f64."],
  ["both.csv", "1.234,5;1\n", "both.csv, row 1, column 1: `1.234,5` is no f64."],
  ["blank.csv", "1,,2\n", "blank.csv, row 1, column 2: `` is no f64."],
];

test.each(REFUSED)("%s is refused with its reason", async (name, data, said) => {
  await expect(read(name, data)).rejects.toThrow(said);
});

const TAKEN: [string, readonly number[] | string, string][] = [
  ["names.csv", "a,b\n1,2.5\n-3,nan\n", "[[1f64, 2.5f64], [-3f64, f64.nan]]"],
  ["decimal_comma.csv", "1,5;2,5\n3,5;4,5\n", "[[1.5f64, 2.5f64], [3.5f64, 4.5f64]]"],
  ["tabs.tsv", "-1,5e1\t,5\n", "[[-1.5e1f64, 0.5f64]]"],
  ["blanks.csv", "1.0e+00 2.0e+00\n 3  -4\n", "[[1.0e+00f64, 2.0e+00f64], [3f64, -4f64]]"],
  ["quoted.csv", '"a, b","c"\n"1.5",2\n', "[[1.5f64, 2f64]]"],
  ["mixed.bin", [...bytes("-- b\x02\n["), ...SEVEN, ...bytes("] -- and\n")], "-- b\x02\n[ [7.0f64] ] -- and"],
  ["spaces.bin", [...SEVEN, ...bytes("\n  \n")], "[7.0f64]"],
  ["rows.csv", "a,b,c\n", "empty([0][3]f64)"],
  ["old.npy", npy("(1L,1)", [0.5]), "[[0.5f64]]"],
  [
    "turned.npy",
    npy("(2, 3)", [0, 3, 1, 4, 2, 5], "'fortran_order': True"),
    "[[0.0f64, 1.0f64, 2.0f64], [3.0f64, 4.0f64, 5.0f64]]",
  ],
];

test.each(TAKEN)("%s is taken", async (name, data, value) => expect(await read(name, data)).toBe(value));

const ENDS = "-9223372036854775808\n9223372036854775807\n";
const FITTING: [string, number, string, string][] = [
  ["u8", 2, "255,0\n", "[[255u8, 0u8]]"],
  ["u8", 2, "300,-1\n", ""],
  ["u8", 2, "1,-1\n", ""],
  ["i64", 1, ENDS, "[-9223372036854775808i64, 9223372036854775807i64]"],
  ["i64", 1, "9223372036854775808\n", ""],
  ["f16", 1, "65519\n-65519.9\n", "[65519f16, -65519.9f16]"],
  ["f16", 1, "65520\n", ""],
];

test.each(FITTING)("numbers of a table fit %s in %i dimensions: %j", async (prim, rank, text, value) => {
  const asked = readFile(new File([text], "t.csv"), { prim, dims: Array<string>(rank).fill("") });
  if (value) expect(await asked).toBe(value);
  else await expect(asked).rejects.toThrow(`is out of the range of ${prim}.`);
});

test("a picture of 640 by 480 pixels fits, whatever its colours are", async () => {
  const head = "{'descr': '|u1', 'fortran_order': False, 'shape': (480, 640, 3), }\n";
  const data = new Uint8Array(10 + head.length + 480 * 640 * 3).fill(255);
  data.set([0x93, ...bytes("NUMPY"), 1, 0, ...whole(2, head.length), ...bytes(head)]);
  const read = await readFile(new File([data], "white.npy"), { dims: ["", "", "3"], prim: "u8" });
  expect(read).toBeInstanceOf(Values);
  const sent = new Uint8Array(await (read as Values).binary.arrayBuffer());
  expect(sent.length).toBe(7 + 24 + 480 * 640 * 3);
  expect(sent.subarray(31).every((byte) => byte === 255)).toBe(true);
});

test.each(["i8", "u16", "i64", "u64", "f16", "f32", "f64", "bool"])(
  "an array of %s is sent as it was",
  async (prim) => {
    const wide = Number(/\d+/.exec(prim)?.[0] ?? 8) / 8;
    const head = [...HEAD, 2, ...bytes(prim.padStart(4)), ...whole(8, 2n), ...whole(8, 9_000n)];
    const cells = Array.from({ length: 18_000 * wide }, (_, k) => (prim === "bool" ? k % 2 : k % 121));
    const file = new File([new Uint8Array([...head, ...cells])], "one.bin");
    const read = await readFile(file, { dims: ["", ""], prim });
    expect(read).toBeInstanceOf(Values);
    expect([...new Uint8Array(await (read as Values).binary.arrayBuffer())]).toEqual([...head, ...cells]);
  },
);

test("halves that are none, and the least and largest ones, come back", async () => {
  const halves = [0, 0x8000, 1, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xbc01];
  const head = [...HEAD, 1, ...bytes(" f16"), ...whole(8, BigInt(halves.length))];
  const data = new Uint8Array([...head, ...halves.flatMap((bits) => [bits & 255, bits >> 8])]);
  const [one] = fromBinary(data.buffer);
  expect([...new Uint8Array(await one!.binary.arrayBuffer())]).toEqual([...data]);
});

test("what lies by columns is sent by rows", async () => {
  const [rows, columns] = [3000, 5];
  const values = Array.from({ length: rows * columns }, (_, k) => k);
  const read = await take("turned.npy", npy(`(${rows}, ${columns})`, values, "'fortran_order': True"));
  const [sent] = fromBinary(await (read as Values).binary.arrayBuffer());
  expect([0, 1, 5, 14_999].map((k) => sent!.number(k))).toEqual([0, rows, 1, 14_999]);
});

test("values that are few are with their type, and numbers that are none always", async () => {
  expect(await read("two.npy", npy("(1, 2)", [0.5, 2]))).toBe("[[0.5f64, 2.0f64]]");
  const many = await read("many.npy", npy("(1, 10001)", [NaN, Infinity, ...Array<number>(9999).fill(1)]));
  expect(many.slice(0, 25)).toBe("[[f64.nan,f64.inf,1.0,1.0");
});
