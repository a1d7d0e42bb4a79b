// A mark beside each index in the source: whether its check was dropped, hoisted or kept.
import { RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { h } from "./dom";
import { rangeOf } from "./lit";
import type { Access } from "./types";

export type ShowMarks = (accesses: readonly Access[]) => void;

/** Each state has a sign of its own: colours only help. */
export const STATES: Record<string, { sign: string; words: string }> = {
  dropped: { sign: "✓", words: "not checked when the program runs" },
  hoisted: { sign: "↑", words: "checked once, before" },
  kept: { sign: "?", words: "checked when the program runs" },
  unused: { sign: "–", words: "not compiled" },
};

class Mark extends WidgetType {
  constructor(private readonly access: Access) {
    super();
  }

  override eq(other: Mark): boolean {
    return other.access.state === this.access.state && other.access.because === this.access.because;
  }

  override toDOM(): HTMLElement {
    const { state, kind, because } = this.access;
    const { sign, words } = STATES[state]!;
    return h(
      "span",
      {
        class: `access-mark ${state}`,
        role: "img",
        "aria-label": `${kind} ${state}: ${words}`,
        title: `${kind} ${state}. ${because}`,
      },
      sign,
    );
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

const setMarks = StateEffect.define<readonly Access[]>();

export const accessMarks: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const placed = effect.value
        .map((access) => ({ access, range: rangeOf(transaction.state.doc, access.at) }))
        .filter((mark): mark is { access: Access; range: [number, number] } => mark.range !== null)
        .sort((a, b) => a.range[1] - b.range[1]);
      for (const { access, range } of placed) {
        builder.add(range[1], range[1], Decoration.widget({ widget: new Mark(access), side: 1 }));
      }
      return builder.finish();
    }
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** Show these, in place of all others. */
export function markAccesses(view: EditorView, accesses: readonly Access[]): void {
  view.dispatch({ effects: setMarks.of(accesses) });
}
