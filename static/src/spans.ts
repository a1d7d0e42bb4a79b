// Places in the source: order, containment, and the lines of a stage that show a place.
import type { Line, Occurrence, Span } from "./types";

export const keyOf = (span: Span): string => span.join(":");

/** The file name of an evaluated expression, in spans. */
export const EXPRESSION = "<expression>";

/** The path of the imported file that a place is in; "" in the main one. */
export const fileOf = (span: Span): string => span[4] ?? "";

/** Neighbouring source lines differ: eight colours in turn. */
export const hueOf = (line: number): string => `hue hue-${line % 8}`;

/** Return the number that decides a place's colour: from its line and its file. */
export function hueAt(span: Span): number {
  let sum = span[0];
  for (const character of fileOf(span)) sum += character.codePointAt(0)!;
  return sum;
}

function before(l0: number, c0: number, l1: number, c1: number): boolean {
  return l0 < l1 || (l0 === l1 && c0 <= c1);
}

/** True if `outer` holds all of `inner`. */
export function contains(outer: Span, inner: Span): boolean {
  return (
    fileOf(outer) === fileOf(inner) &&
    before(outer[0], outer[1], inner[0], inner[1]) &&
    before(inner[2], inner[3], outer[2], outer[3])
  );
}

function containsPoint(span: Span, file: string, line: number, column: number): boolean {
  return fileOf(span) === file && before(span[0], span[1], line, column) && before(line, column, span[2], span[3]);
}

/** A rough size, to find the innermost of several. */
export function extent(span: Span): number {
  return (span[2] - span[0]) * 10_000 + (span[3] - span[1]);
}

/** The innermost of the spans that hold a point of a file. */
export function innermost(spans: Iterable<Span>, file: string, line: number, column: number): Span | null {
  let best: Span | null = null;
  for (const span of spans) {
    if (containsPoint(span, file, line, column) && (!best || extent(span) < extent(best))) best = span;
  }
  return best;
}

export interface Lit {
  /** Lines (from 0) that come from the place itself, or from inside it. */
  strong: number[];
  /** Lines that it has a part in, or that enclose it. */
  weak: number[];
}

/** The lines of a stage that show a place of the source. */
export function linesFor(lines: readonly Line[], place: Span): Lit {
  const strong: number[] = [];
  const shared: number[] = [];
  const around: number[] = [];
  lines.forEach((line, number) => {
    const first = line.src[0];
    if (!first) return;
    if (contains(place, first)) strong.push(number);
    else if (line.src.some((span) => contains(place, span))) shared.push(number);
    else if (contains(first, place)) around.push(number);
  });
  if (strong.length || shared.length) return { strong, weak: shared };
  return { strong: [], weak: around.length > 60 ? [] : around };
}

/** Return the occurrences of a place in a stage's lines, as the compiler's answer has them. */
export function occurrenceIn(lines: readonly Line[], place: Span): Occurrence {
  const { strong, weak } = linesFor(lines, place);
  const numbers = strong.length ? strong : weak.toSorted((a, b) => a - b);
  const first = numbers.find((k) => /\w/.test(lines[k]!.text)) ?? numbers[0];
  return { lines: strong.length, text: first === undefined ? "" : lines[first]!.text.trim() };
}

/** Return the number of UTF-16 units of a line's first characters; a column counts characters. */
export function units(text: string, characters: number): number {
  if (!/[\ud800-\udbff]/.test(text)) return Math.min(text.length, characters);
  return [...text].slice(0, characters).join("").length;
}

/** The first place at which a text holds another one; null where it does not. */
export function placeOf(source: string, wanted: string): Span | null {
  const at = wanted ? source.indexOf(wanted) : -1;
  if (at < 0) return null;
  const point = (to: number): [number, number] => {
    const lines = source.slice(0, to).split("\n");
    return [lines.length, [...lines.at(-1)!].length + 1];
  };
  return [...point(at), ...point(at + wanted.length)];
}

/** A place as the end of an address: `#3.7-3.12`, with the file's path after a colon. */
export const hashOf = (span: Span): string =>
  `#${span[0]}.${span[1]}-${span[2]}.${span[3]}${fileOf(span) ? `:${encodeURIComponent(fileOf(span))}` : ""}`;

/** The place that an address ends in; null where it is none. */
export function placeIn(hash: string): Span | null {
  const found = /^#(\d{1,6})\.(\d{1,6})-(\d{1,6})\.(\d{1,6})(?::(.+))?$/.exec(hash);
  if (!found) return null;
  const [l0, c0, l1, c1] = found.slice(1, 5).map(Number) as [number, number, number, number];
  try {
    return found[5] ? [l0, c0, l1, c1, decodeURIComponent(found[5])] : [l0, c0, l1, c1];
  } catch {
    return null;
  }
}

/** The text of a place, on one line. */
export function excerpt(source: string, span: Span, longest = 80): string {
  const lines = source.split("\n").slice(span[0] - 1, span[2]);
  if (!lines.length) return "";
  const last = lines.length - 1;
  lines[last] = lines[last]!.slice(0, units(lines[last]!, span[3] - 1));
  lines[0] = lines[0]!.slice(units(lines[0]!, span[1] - 1));
  const text = lines
    .map((line) => line.trim())
    .join(" ")
    .trim();
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

export function placeName(span: Span): string {
  const lines = span[0] === span[2] ? `line ${span[0]}` : `lines ${span[0]} to ${span[2]}`;
  return fileOf(span) ? `${lines} of ${isolated(fileOf(span))}` : lines;
}

/** A name of any script in a sentence, whose direction it leaves alone. */
export const isolated = (name: string): string => `\u2068${name}\u2069`;
