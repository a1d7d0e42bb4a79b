// Inputs of a run as text: pieces of it, and the data sets that a program's comments carry.

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

/** The first typed input of a `-- ==` block, if the block is for this entry point. */
export function dataSet(source: string, entry: string): string | null {
  const comments = source.split("\n").filter((line) => /^\s*--/.test(line)).map((line) => line.replace(/^\s*--\s?/, ""));
  const blocks = comments.join("\n").split(/^==\s*$/m).slice(1);
  for (const block of blocks) {
    const named = /^\s*entry:\s*(.+)$/m.exec(block)?.[1]?.trim().split(/\s+/) ?? ["main"];
    const input = /(?:^|\n)\s*(?:(?:tiny|small|nobench)\s+)*input\s*\{([^}]*)\}/.exec(block)?.[1];
    if (named.includes(entry) && input !== undefined) return input.trim();
  }
  return null;
}

/** An example of a value of a type, to start from; "" where there is none. */
export function sampleOf(type: string): string {
  const match = /^\*?((?:\[[^\]]*\])*)(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool)$/.exec(type.trim());
  if (!match) return "";
  const [, brackets = "", prim = ""] = match;
  const rank = (brackets.match(/\[/g) ?? []).length;
  const number = (k: number) => prim === "bool" ? (k % 2 ? "true" : "false") : `${k}${prim.startsWith("f") ? ".0" : ""}${prim}`;
  if (rank === 0) return number(3);
  const row = (from: number) => `[${[0, 1, 2, 3].map((k) => number(from + k)).join(", ")}]`;
  if (rank === 1) return row(1);
  const plane = (from: number) => `[${[0, 1, 2, 3].map((k) => row(from + 4 * k)).join(", ")}]`;
  return rank === 2 ? plane(1) : rank === 3 ? `[${plane(1)}, ${plane(17)}]` : "";
}
