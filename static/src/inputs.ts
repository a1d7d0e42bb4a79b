// Inputs of a run as text: pieces of it, and the data sets that a program's comments carry.
import { sized } from "./arithmetic";

/** Split values in Futhark's notation at white space outside brackets. */
export function splitValues(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let current = "";
  for (const char of text) {
    if ("[({".includes(char)) depth += 1;
    if ("])}".includes(char)) depth -= 1;
    if (depth <= 0 && /[\s,]/.test(char)) {
      if (current) found.push(current);
      current = "";
    } else {
      current += char;
    }
  }
  return current ? [...found, current] : found;
}

/** Where the bracket that begins a text is closed; -1 if it is not. */
export function closing(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if ("[({".includes(text[at]!)) depth += 1;
    if ("])}".includes(text[at]!) && --depth === 0) return at;
  }
  return -1;
}

export interface DataSet {
  name: string;
  input: string;
  random: string;
}

/** The first typed and the first random inputs of data sets. */
export function firstOf(sets: readonly DataSet[]): { input: string; random: string } {
  return {
    input: sets.find(({ input }) => input)?.input ?? "",
    random: sets.find(({ random }) => random)?.random ?? "",
  };
}

/** A block of comments that keeps inputs with the program, as its tests do. */
export const block = (entry: string, name: string, input: string): string =>
  ["==", `entry: ${entry}`, `"${name.replace(/[\\"]/g, "")}" input { ${input.replace(/\n/g, " ")} }`]
    .map((line) => `-- ${line}\n`)
    .join("");

/** The data sets in `-- ==` blocks for this entry point. */
export function dataSets(source: string, entry: string): DataSet[] {
  const comments = source
    .split("\n")
    .filter((line) => /^\s*--/.test(line))
    .map((line) => line.replace(/^\s*--\s?/, ""));
  const blocks = comments
    .join("\n")
    .split(/^==\s*$/m)
    .slice(1);
  const found: DataSet[] = [];
  for (const block of blocks) {
    const named = /^\s*entry:\s*(.+)$/m.exec(block)?.[1]?.trim().split(/\s+/) ?? ["main"];
    if (!named.includes(entry)) continue;
    for (const {
      0: { length },
      1: name,
      2: random,
      index,
    } of block.matchAll(/(?:"([^"]*)"\s+)?\b(random\s+)?input\s*\{/g)) {
      const rest = block.slice(index + length - 1);
      const text = rest.slice(1, closing(rest)).trim();
      const values = text.replace(/\s+/g, " ");
      found.push({
        name: name ?? (values.length > 40 ? `${values.slice(0, 40)}…` : values),
        input: random ? "" : text,
        random: random ? text : "",
      });
    }
  }
  return found;
}

/** Sizes by name, out of `[200][300]f32 10i32` for parameters `[n][m]f32` and `steps: i32`. */
export function sizesFrom(random: string, types: readonly string[], names: readonly string[]): Record<string, number> {
  const sizes = sized();
  splitValues(random).forEach((spec, k) => {
    const given = [...spec.matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1]));
    const wanted = [...(types[k] ?? "").matchAll(/\[([^\]]*)\]/g)].map((match) => match[1]!);
    wanted.forEach((name, dimension) => {
      if (/^[A-Za-z_]\w*$/.test(name) && given[dimension] !== undefined) sizes[name] = given[dimension];
    });
    const scalar = /^(\d+)(?:[iu](?:8|16|32|64))?$/.exec(spec);
    const name = names[k];
    if (scalar && name) sizes[name] = Number(scalar[1]);
  });
  return sizes;
}

/** True if a type is that of one whole number. */
export const isCount = (type: string): boolean => /^[iu](8|16|32|64)$/.test(type.trim());
