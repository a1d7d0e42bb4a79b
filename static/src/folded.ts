// What a stage has beside the program is folded: checks, parameters as callers see them, type definitions, support and host code.
import { codeFolding, foldedRanges, foldEffect, foldKeymap, foldService, unfoldEffect } from "@codemirror/language";
import type { EditorState, Extension, StateEffect } from "@codemirror/state";
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
  if (/^\s*assert\(/.test(text)) return "checks";
  if (/^\s*(sizes|takes|gives) /.test(text)) return "parameters and results";
  return /^type /.test(text) ? "type definitions" : "";
}

/** The runs of lines to fold in a stage's text. */
export function foldsOf(lines: readonly Line[], kind: string): Fold[] {
  const found: Fold[] = [];
  let isHost = false;
  lines.forEach((line, at) => {
    isHost = kind === "text" && (/^def /.test(line.text) || (isHost && /^(\s|$)/.test(line.text)));
    const says = aside(line, kind, isHost);
    const before = found.at(-1);
    if (says && before?.says === says && before.last === at - 1) before.last = at;
    else if (says) found.push({ first: at, last: at, says });
  });
  return found.filter(({ first, last, says }) => says !== "support code" || last - first >= SUPPORT);
}

/** Whether such lines are folded at first. */
export const isFolding = (): boolean => load<boolean>("unfolded") !== true;
export const setFolding = (on: boolean): void => save("unfolded", !on);

function rangeOf({ doc }: EditorState, { first, last }: Fold): { from: number; to: number } {
  const line = doc.line(first + 1);
  return { from: line.from + line.text.search(/\S|$/), to: doc.line(last + 1).to };
}

/** Fold these and unfold all others. */
export function foldAll(view: EditorView, folds: readonly Fold[]): void {
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(0, view.state.doc.length, (from, to) => void effects.push(unfoldEffect.of({ from, to })));
  effects.push(...folds.map((fold) => rangeOf(view.state, fold)).filter(({ from, to }) => from < to).map((range) => foldEffect.of(range)));
  if (effects.length) view.dispatch({ effects });
}

/** Unfold what hides a line (from 0). */
export function unfoldAt(view: EditorView, line: number): void {
  const { from, to } = view.state.doc.line(line + 1);
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(from, to, (start, end) => void effects.push(unfoldEffect.of({ from: start, to: end })));
  if (effects.length) view.dispatch({ effects });
}

/** Folding by keys and by mouse, of what `folds` answers. A search and the cursor unfold what they come to. */
export const folding = (folds: () => readonly Fold[]): Extension => [
  codeFolding({
    preparePlaceholder: (state, { from, to }) => {
      const [first, last] = [state.doc.lineAt(from).number, state.doc.lineAt(to).number];
      return `… ${last - first + 1} ${last === first ? "line" : "lines"}: ${folds().find((fold) => fold.first === first - 1)?.says ?? ""}`;
    },
    placeholderDOM: (_, onclick, says: string) => h("span", { class: "folded", title: "Show these lines", onclick }, says),
  }),
  foldService.of((state, from) => {
    const found = folds().find(({ first }) => first === state.doc.lineAt(from).number - 1);
    return found ? rangeOf(state, found) : null;
  }),
  keymap.of(foldKeymap),
];
