// The strings of imports that lead to a file do so in the editor.
import {
  RangeSetBuilder,
  StateEffect,
  StateField,
  type EditorState,
  type Extension,
  type Text,
} from "@codemirror/state";
import { Decoration, EditorView, keymap, type DecorationSet } from "@codemirror/view";
import { importsIn, type Import } from "./files";

/** Return the import at an offset, its edges included. */
export function importAt(doc: Text, at: number): Import | null {
  return importsIn(doc.toString()).find(({ from, to }) => from <= at && at <= to) ?? null;
}

export interface ImportEvents {
  /** True if this leads anywhere. */
  leads(path: string): boolean;
  go(path: string): void;
}

/** Other files came, went or have other names. */
export const filesChanged = StateEffect.define<null>();

/** Strings of imports as links: a click, or Alt+Enter at the cursor; Alt+click only places the cursor. */
export function importLinks(events: ImportEvents): Extension {
  const linked = (state: EditorState): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    for (const { path, from, to } of importsIn(state.doc.toString())) {
      if (to - from > 2 && events.leads(path)) builder.add(from + 1, to - 1, LINK);
    }
    return builder.finish();
  };
  const field = StateField.define<DecorationSet>({
    create: linked,
    update: (value, { docChanged, effects, state }) =>
      docChanged || effects.some((effect) => effect.is(filesChanged)) ? linked(state) : value,
    provide: (self) => EditorView.decorations.from(self),
  });
  const follow = (doc: Text, at: number): boolean => {
    const found = importAt(doc, at);
    if (!found || !events.leads(found.path)) return false;
    events.go(found.path);
    return true;
  };
  return [
    field,
    EditorView.domEventHandlers({
      click: (event, view) => {
        const element = event.target as Element;
        if (
          event.altKey ||
          event.shiftKey ||
          event.detail > 1 ||
          !element.closest(".import-link") ||
          !view.state.selection.main.empty
        )
          return false;
        return follow(view.state.doc, view.posAtDOM(element.closest(".import-link")!));
      },
    }),
    keymap.of([{ key: "Alt-Enter", run: (view) => follow(view.state.doc, view.state.selection.main.head) }]),
  ];
}

const LINK = Decoration.mark({
  class: "import-link",
  attributes: { title: "Click, or Alt+Enter, to open this file. Alt+click places the cursor." },
});
