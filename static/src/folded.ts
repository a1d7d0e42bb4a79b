// What a stage has beside the program is folded: checks, parameters as callers see them, type definitions, support and host code.
import { codeFolding, foldedRanges, foldEffect, foldKeymap, foldService, unfoldEffect } from "@codemirror/language";
import type { Extension, StateEffect, Text } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";
import { h } from "./dom";
import { load, save } from "./storage";
import type { Line } from "./types";

const SUPPORT = 4; // lines of no place that are worth folding

interface Fold {
  /** The first and last line, from 0. */
  first: number;
  last: number;
  says: string;
}

/** What a line is, if it is nothing of the program itself. */
function aside({ text, src }: Line, kind: string, isHost: boolean): string {
  if (isHost) return "host code";
  if (kind === "text") return src.length ? "" : "support code";
  let at = 0;
  while (text[at] === " ") at += 1;
  if (text.startsWith("assert(", at)) return "checks";
  if (["sizes ", "takes ", "gives "].some((word) => text.startsWith(word, at))) return "parameters and results";
  return text.startsWith("type ") ? "type definitions" : "";
}

/** What is folded, by its first line. */
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

/** Whether such lines are folded at first. */
export const isFolding = (): boolean => load<boolean>("unfolded") !== true;
export const setFolding = (on: boolean): void => save("unfolded", !on);

function rangeOf(doc: Text, { first, last }: Fold): { from: number; to: number } {
  const line = doc.line(first + 1);
  return { from: line.from + line.text.search(/\S|$/), to: doc.line(last + 1).to };
}

/** Fold these and unfold all others. */
export function foldAll(view: EditorView, folds: Folds): void {
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(0, view.state.doc.length, (from, to) => void effects.push(unfoldEffect.of({ from, to })));
  effects.push(...allFolded(view.state.doc, folds));
  if (effects.length) view.dispatch({ effects });
}

/** What folds these in a text, of which nothing is folded yet. */
export const allFolded = (doc: Text, folds: Folds): StateEffect<unknown>[] =>
  [...folds.values()].map((fold) => rangeOf(doc, fold)).filter(({ from, to }) => from < to).map((range) => foldEffect.of(range));

/** Unfold what hides a line (from 0). */
export function unfoldAt(view: EditorView, line: number): void {
  const { from, to } = view.state.doc.line(line + 1);
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(from, to, (start, end) => void effects.push(unfoldEffect.of({ from: start, to: end })));
  if (effects.length) view.dispatch({ effects });
}

/** Folding by keys and by mouse, of what `folds` answers. A search and the cursor unfold what they come to. */
export const folding = (folds: () => Folds): Extension => [
  codeFolding({
    preparePlaceholder: (state, { from, to }) => {
      const [first, last] = [state.doc.lineAt(from).number, state.doc.lineAt(to).number];
      return `… ${last - first + 1} ${last === first ? "line" : "lines"}: ${folds().get(first - 1)?.says ?? ""}`;
    },
    placeholderDOM: (_, onclick, says: string) => h("span", { class: "folded", title: "Show these lines", onclick }, says),
  }),
  foldService.of((state, from) => {
    const found = folds().get(state.doc.lineAt(from).number - 1);
    return found ? rangeOf(state.doc, found) : null;
  }),
  keymap.of(foldKeymap),
];
