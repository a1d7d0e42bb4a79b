// Names as their author wrote them: `n_29` is `n`, unless two names would be one.

const TAGGED = /(?<![\w'])[A-Za-z_][\w']*_\d+(?![\w'])/g;
const TAKEN = new Set(["min", "max", "sgn", "select", "if", "then", "else"]);

/** A copy of some data in which all texts, also keys, have plain names. */
export function withPlainNames<T>(data: T): T {
  const text = JSON.stringify(data);
  const plain = plainNames(text);
  return JSON.parse(text.replace(TAGGED, (name) => plain.get(name) ?? name)) as T;
}

/** The plain name of each tagged name in a text that can have one. */
export function plainNames(text: string): Map<string, string> {
  const tagged = [...new Set(text.match(TAGGED) ?? [])];
  const count = new Map<string, number>();
  const base = (name: string): string => name.replace(/_\d+$/, "");
  for (const name of tagged) count.set(base(name), (count.get(base(name)) ?? 0) + 1);
  return new Map(tagged.filter((name) => count.get(base(name)) === 1 && !TAKEN.has(base(name))).map((name) => [name, base(name)]));
}
