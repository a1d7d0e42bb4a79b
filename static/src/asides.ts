// What a stage has beside the program: checks, parameters as callers see them, type definitions, support and host code.
import { load, save } from "./storage";
import type { Line } from "./types";

const SUPPORT = 4; // lines of no place that are worth folding

export interface Fold {
  /** The first and last line, from 0. */
  first: number;
  last: number;
  says: string;
}

/** Classify a line that is not part of the program itself; "" if it is. */
function aside({ text, src }: Line, kind: string, isHost: boolean): string {
  if (isHost) return "host code";
  if (kind === "text") return src.length ? "" : "support code";
  let at = 0;
  while (text[at] === " ") at += 1;
  if (text.startsWith("assert(", at)) return "checks";
  if (["sizes ", "takes ", "gives "].some((word) => text.startsWith(word, at))) return "parameters and results";
  return text.startsWith("type ") ? "type definitions" : "";
}

/** Folds, by first line. */
export type Folds = ReadonlyMap<number, Fold>;

const known = new WeakMap<readonly Line[], Folds>();

/** The runs of lines to fold in a stage's text; found once. */
export function foldsOf(lines: readonly Line[], kind: string): Folds {
  const before = known.get(lines);
  if (before) return before;
  const found: Fold[] = [];
  let isHost = false;
  lines.forEach((line, at) => {
    isHost = kind === "text" && (/^def /.test(line.text) || (isHost && /^(\s|$)/.test(line.text)));
    const says = aside(line, kind, isHost);
    const before = found.at(-1);
    if (says && before?.says === says && before.last === at - 1) before.last = at;
    else if (says) found.push({ first: at, last: at, says });
  });
  const worth = found.filter(({ first, last, says }) => says !== "support code" || last - first >= SUPPORT);
  const folds = new Map(worth.map((fold) => [fold.first, fold]));
  known.set(lines, folds);
  return folds;
}

/** True if such lines are folded at first. */
export const isFolding = (): boolean => load<boolean>("unfolded") !== true;
export const setFolding = (on: boolean): void => save("unfolded", !on);

/** Return the text in place of folded lines. */
export const saysFolded = ({ first, last, says }: Fold): string =>
  `… ${last - first + 1} ${last === first ? "line" : "lines"}: ${says}`;
