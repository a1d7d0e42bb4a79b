// Polynomials and LMADs, which answers hold as data: printed, and their values.
import type { Applied, Cells, Polynomial } from "./types";

type Factor = string | Applied;
type Values = Readonly<Record<string, number>>;

interface Term {
  coefficient: number;
  factors: readonly Factor[];
}

export const ZERO: Polynomial = [];

const termsOf = (poly: Polynomial): Term[] =>
  poly.map(([coefficient, ...factors]) => ({ coefficient: coefficient as number, factors: factors as Factor[] }));

/** Its value as a number, if it has no names. */
export const numberOf = (poly: Polynomial): number | null =>
  poly.every((term) => term.length === 1) ? termsOf(poly).reduce((sum, { coefficient }) => sum + coefficient, 0) : null;

/** The value, or null if a name is missing or an operation is not understood. */
export function evaluate(poly: Polynomial, values: Values): number | null {
  const value = termsOf(poly).reduce(
    (sum, { coefficient, factors }) =>
      sum + factors.reduce<number>((product, factor) => product * factorValue(factor, values), coefficient),
    0,
  );
  return Number.isFinite(value) ? value : null;
}

function factorValue(factor: Factor, values: Values): number {
  if (typeof factor === "string") return values[factor] ?? NaN;
  const [a, b] = factor.of.map((part) => evaluate(part, values) ?? NaN);
  if (b === undefined)
    return factor.op === ""
      ? (a ?? NaN)
      : factor.op === "-"
        ? -(a ?? NaN)
        : factor.op === "sgn"
          ? Math.sign(a ?? NaN)
          : NaN;
  switch (factor.op) {
    case "/":
    case "//":
      return Math.floor(a! / b);
    case "min":
      return Math.min(a!, b);
    case "max":
      return Math.max(a!, b);
    default:
      return NaN;
  }
}

/** The names in all polynomials of an answer, or of a part of one. */
export function namesIn(data: unknown): string[] {
  if (Array.isArray(data))
    return data.flatMap((part: unknown) =>
      typeof part === "string" ? (typeof data[0] === "number" ? [part] : []) : namesIn(part),
    );
  return typeof data === "object" && data ? Object.values(data).flatMap(namesIn) : [];
}

/** A copy with other names in all polynomials. */
export function renamed<T>(data: T, name: (before: string) => string): T {
  if (Array.isArray(data)) {
    const term = typeof data[0] === "number";
    return data.map((part: unknown) => (typeof part === "string" && term ? name(part) : renamed(part, name))) as T;
  }
  if (typeof data !== "object" || !data) return data;
  return Object.fromEntries(Object.entries(data).map(([key, part]) => [key, renamed(part as unknown, name)])) as T;
}

const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function factorText(factor: Factor): string {
  if (typeof factor === "string") return factor;
  const parts = factor.of.map(inOrder);
  const [a, b] = factor.of.map((part) => (single(part) ? inOrder(part) : `(${inOrder(part)})`));
  if (factor.op === "/" || factor.op === "//") return `⌊${a}/${b}⌋`;
  if (/^\p{L}/u.test(factor.op)) return `${factor.op}(${parts.join(", ")})`;
  return !parts.length ? factor.op : b === undefined ? `(${factor.op}${a})` : `(${a} ${factor.op} ${b})`;
}

/** True if it is one term that is added, and needs no parentheses as a factor. */
const single = (poly: Polynomial): boolean => poly.length === 0 || (poly.length === 1 && (poly[0]![0] as number) > 0);

/** A term without its sign. */
function termText({ coefficient, factors }: Term): string {
  const powers = new Map<string, number>();
  for (const text of factors.map(factorText)) powers.set(text, (powers.get(text) ?? 0) + 1);
  const shown = [...powers].map(([text, power]) =>
    power === 1 ? text : `${text}${[...String(power)].map((digit) => DIGITS[Number(digit)]).join("")}`,
  );
  const number = Math.abs(coefficient);
  return [...(number !== 1 || !shown.length ? [String(number)] : []), ...shown].join("·");
}

/** The terms as texts: those that are added, and those that are taken away. */
export function signed(poly: Polynomial): { more: string[]; less: string[] } {
  const terms = termsOf(poly);
  const more = terms.filter(({ coefficient }) => coefficient > 0).map(termText);
  return { more, less: terms.filter(({ coefficient }) => coefficient < 0).map(termText) };
}

/** With its terms in order. */
export function inOrder(poly: Polynomial): string {
  return (
    termsOf(poly)
      .map((term, k) => `${term.coefficient < 0 ? (k ? " - " : "-") : k ? " + " : ""}${termText(term)}`)
      .join("") || "0"
  );
}

/** As one writes it: what is added first, then what is taken away. */
export function pretty(poly: Polynomial): string {
  const { more, less } = signed(poly);
  if (!less.length) return more.join(" + ") || "0";
  return more.length ? [more.join(" + "), ...less].join(" - ") : `-${less.join(" - ")}`;
}

/** As a factor of a product, in parentheses where it needs them. */
export const asFactor = (poly: Polynomial): string =>
  single(poly) || numberOf(poly) !== null ? pretty(poly) : `(${pretty(poly)})`;

/** `offset + {(size : stride), ..}`. */
export function prettyCells({ offset, dims }: Cells): string {
  const all = dims.map(([size, stride]) => `(${pretty(size)} : ${pretty(stride)})`).join(", ");
  return !dims.length ? pretty(offset) : !offset.length ? `{${all}}` : `${pretty(offset)} + {${all}}`;
}

/** Words with polynomials among them. */
export const sentence = (parts: readonly (string | Polynomial)[]): string =>
  parts.map((part) => (typeof part === "string" ? part : inOrder(part))).join("");

/** Sizes of an array as a type has them. */
export const shapeText = (shape: readonly Polynomial[]): string => shape.map((size) => `[${inOrder(size)}]`).join("");

/** True if two are the same. */
export const equal = (a: Polynomial, b: Polynomial): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Return a function to the source's names, of those that are unique. */
export function plainNames(
  names: Iterable<string>,
  called: Readonly<Record<string, string>>,
): (name: string) => string {
  const count = new Map<string, number>();
  const base = (name: string): string => called[name] ?? name;
  for (const name of new Set(names)) count.set(base(name), (count.get(base(name)) ?? 0) + 1);
  return (name) => (count.get(base(name)) === 1 ? base(name) : name);
}
