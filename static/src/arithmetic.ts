// The value of a size that the author of a program has written, such as `(n + 1) * m`, for given names.

/** Values of sizes by name. */
export type Sizes = Record<string, number>;

/** The values of all of these. It has no other names: a program may call a size `constructor`. */
export const sized = (...all: Readonly<Sizes>[]): Sizes => Object.assign(Object.create(null) as Sizes, ...all) as Sizes;

/** The value, or null if a name is missing or something in it is not understood. */
export function evaluate(text: string, values: Readonly<Record<string, number>>): number | null {
  const tokens = text.match(/\d[\d_]*|[A-Za-z_][\w'₀-₉]*|\*\*|\/\/|[-+*/%(),]|\S/g) ?? [];
  let at = 0;
  const next = (): string => tokens[at] ?? "";

  function sum(): number {
    let left = product();
    while (next() === "+" || next() === "-") left = tokens[at++] === "+" ? left + product() : left - product();
    return left;
  }

  function product(): number {
    let left = power();
    while (["*", "/", "//", "%"].includes(next())) {
      const sign = tokens[at++];
      const right = power();
      left = sign === "*" ? left * right : sign !== "%" ? Math.floor(left / right) : left % right;
    }
    return left;
  }

  function power(): number {
    const base = atom();
    if (next() !== "**") return base;
    at += 1;
    return base ** power();
  }

  function atom(): number {
    const token = tokens[at++] ?? "";
    if (token === "-") return -atom();
    if (token === "(") {
      const inner = sum();
      at += 1;
      return inner;
    }
    if (/^\d/.test(token)) return Number(token.replaceAll("_", ""));
    if (token === "min" || token === "max") return call(token);
    return values[token] ?? NaN;
  }

  function call(name: "min" | "max"): number {
    at += 1;
    const first = sum();
    at += 1;
    const second = sum();
    at += 1;
    return Math[name](first, second);
  }

  const value = sum();
  return at === tokens.length && Number.isFinite(value) ? value : null;
}

/** True if all of these are what the server said: beyond 53 bits a number of this language may be another one. */
export const areExact = (numbers: readonly number[]): boolean => numbers.every(Number.isSafeInteger);

/** The names in an expression. */
export function namesIn(text: string): string[] {
  return (text.match(/[A-Za-z_][\w'₀-₉]*/g) ?? []).filter((name) => name !== "min" && name !== "max");
}
