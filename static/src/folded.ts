// Folding of what a stage has beside the program, in its editor.
import { codeFolding, foldedRanges, foldEffect, foldKeymap, foldService, unfoldEffect } from "@codemirror/language";
import type { Extension, StateEffect, Text } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";
import { saysFolded, type Fold, type Folds } from "./asides";
import { h } from "./dom";

function rangeOf(doc: Text, { first, last }: Fold): { from: number; to: number } {
  const line = doc.line(first + 1);
  return { from: line.from + line.text.search(/\S|$/), to: doc.line(last + 1).to };
}

/** Fold these and unfold all others. */
export function foldAll(view: EditorView, folds: Folds): void {
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(
    0,
    view.state.doc.length,
    (from, to) => void effects.push(unfoldEffect.of({ from, to })),
  );
  effects.push(...allFolded(view.state.doc, folds));
  if (effects.length) view.dispatch({ effects });
}

/** Return the effects that fold these in a text without folds. */
export const allFolded = (doc: Text, folds: Folds): StateEffect<unknown>[] =>
  [...folds.values()]
    .map((fold) => rangeOf(doc, fold))
    .filter(({ from, to }) => from < to)
    .map((range) => foldEffect.of(range));

/** Unfold what hides a line (from 0). */
export function unfoldAt(view: EditorView, line: number): void {
  const { from, to } = view.state.doc.line(line + 1);
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(
    from,
    to,
    (start, end) => void effects.push(unfoldEffect.of({ from: start, to: end })),
  );
  if (effects.length) view.dispatch({ effects });
}

/** Folding by keys and by mouse, of what `folds` answers. A search and the cursor unfold what they come to. */
export const folding = (folds: () => Folds): Extension => [
  codeFolding({
    preparePlaceholder: (state, { from, to }) => {
      const [first, last] = [state.doc.lineAt(from).number - 1, state.doc.lineAt(to).number - 1];
      return saysFolded({ first, last, says: folds().get(first)?.says ?? "" });
    },
    placeholderDOM: (_, onclick, says: string) =>
      h("span", { class: "folded", title: "Show these lines", onclick }, says),
  }),
  foldService.of((state, from) => {
    const found = folds().get(state.doc.lineAt(from).number - 1);
    return found ? rangeOf(state.doc, found) : null;
  }),
  keymap.of(foldKeymap),
];
