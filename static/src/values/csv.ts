// Tables of numbers as text: cells between commas, semicolons, tabs or blanks. Throws, in words, what is wrong.
import type { Leaf } from "../input_types";

const NUMBER = /^[-+]?(\d[\d_]*(\.\d*)?(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?)$/i;
const SPECIAL = /^([-+]?)(nan|inf)(inity)?$/i;
/** The largest finite value of a type of floats, and the numbers above it that still round to it. */
const LARGEST: Record<string, number> = { f16: 65519.99999999999, f32: 3.4028235677973362e38, f64: Number.MAX_VALUE };

/** A table as an array of one or two dimensions, with or without a line of names above it. */
export function table(text: string, { prim, dims }: Leaf, name: string): string {
  const rows = cellsOf(text);
  const named = !rows[0]!.some((cell) => NUMBER.test(cell) || SPECIAL.test(cell) || /^(true|false)$/i.test(cell));
  const cells = rows
    .slice(named ? 1 : 0)
    .map((row, r) =>
      row.map((cell, c) => element(cell, prim, `${name}, row ${r + 1 + (named ? 1 : 0)}, column ${c + 1}`)),
    );
  if (!cells.length)
    return `empty([0]${dims
      .slice(1)
      .map((_, k) => `[${k ? 0 : rows[0]!.length}]`)
      .join("")}${prim})`;
  if (dims.length === 2) {
    const width = cells[0]?.length ?? 0;
    const odd = cells.findIndex((row) => row.length !== width);
    if (odd >= 0)
      throw new Error(
        `Row ${odd + 1} of ${name} has ${cells[odd]!.length} cells, but the rows before it have ${width}.`,
      );
    return `[${cells.map((row) => `[${row.join(", ")}]`).join(", ")}]`;
  }
  if (dims.length !== 1 || (cells.length > 1 && cells.some((row) => row.length > 1))) {
    throw new Error(
      `${name} has ${cells.length} rows of ${cells[0]?.length ?? 0} numbers, ` +
        `but the parameter takes an array of ${dims.length} dimensions.`,
    );
  }
  return `[${cells.flat().join(", ")}]`;
}

/** Rows of cells. Where semicolons, tabs or blanks part them, a comma in a number is its decimal point. */
function cellsOf(text: string): string[][] {
  const bare = text.replace(/"[^"]*"/g, "");
  const mark = [";", "\t", ","].find((one) => bare.includes(one)) ?? " ";
  const lines = text.split(/\r?\n/).map((line) => parts(line, mark));
  return mark === ","
    ? lines
    : lines.map((line) =>
        line.map((cell) => (/^[-+]?\d*,\d+(e[-+]?\d+)?$/i.test(cell) ? cell.replace(",", ".") : cell)),
      );
}

/** The cells of a line; what stands in quotes is one. */
function parts(line: string, mark: string): string[] {
  if (mark === " ") return line.trim().split(/\s+/);
  return [...`${mark}${line}`.matchAll(new RegExp(`${mark}\\s*(?:"((?:[^"]|"")*)"|([^${mark}]*))`, "g"))].map(
    ([, quoted, plain]) => (quoted?.replace(/""/g, '"') ?? plain!).trim(),
  );
}

function element(cell: string, prim: string, place: string): string {
  const special = SPECIAL.exec(cell);
  if (prim === "bool" && /^(true|false)$/i.test(cell)) return cell.toLowerCase();
  if (prim.startsWith("f") && special) return `${special[1] === "-" ? "-" : ""}${prim}.${special[2]!.toLowerCase()}`;
  const whole = /^[-+]?\d[\d_]*$/.test(cell);
  if (prim === "bool" || !NUMBER.test(cell) || (!whole && !prim.startsWith("f")))
    throw new Error(`${place}: \`${cell}\` is no ${prim}.`);
  if (!inRange(cell.replace(/_/g, ""), prim)) throw new Error(`${place}: \`${cell}\` is out of the range of ${prim}.`);
  const plain = cell
    .replace(/^\+/, "")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?=e|$)/i, "");
  return `${plain}${prim}`;
}

function inRange(digits: string, prim: string): boolean {
  if (prim.startsWith("f")) return Math.abs(Number(digits)) <= LARGEST[prim]!;
  const value = BigInt(digits.replace(/^\+/, ""));
  const bits = Number(prim.slice(1));
  return BigInt(prim.startsWith("u") ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value)) === value;
}
