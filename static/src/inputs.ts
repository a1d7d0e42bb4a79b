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

/** The inputs of the first data set of a `-- ==` block for this entry point. */
export function dataSet(source: string, entry: string): { input: string; random: string } {
  const comments = source.split("\n").filter((line) => /^\s*--/.test(line)).map((line) => line.replace(/^\s*--\s?/, ""));
  const blocks = comments.join("\n").split(/^==\s*$/m).slice(1);
  const found = { input: "", random: "" };
  for (const block of blocks) {
    const named = /^\s*entry:\s*(.+)$/m.exec(block)?.[1]?.trim().split(/\s+/) ?? ["main"];
    if (!named.includes(entry)) continue;
    for (const [, random, input] of block.matchAll(/\b(random\s+)?input\s*\{([^}]*)\}/g)) {
      found[random ? "random" : "input"] ||= input!.trim();
    }
  }
  return found;
}

/** Sizes by name, out of `[200][300]f32 10i32` for parameters `[n][m]f32` and `steps: i32`. */
export function sizesFrom(random: string, types: readonly string[], names: readonly string[]): Record<string, number> {
  const sizes: Record<string, number> = {};
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

/** Whether a type is that of one whole number. */
export const isCount = (type: string): boolean => /^[iu](8|16|32|64)$/.test(type.trim());
