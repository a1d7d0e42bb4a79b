// What `trace` and `break` were given in the last run, behind the line that they stand on.
import { RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { h } from "./dom";
import type { Traced } from "./types";

const FEW = 4; // values behind a line; the others are beside the result

/** `1i32, 2i32, … (5)`. */
export const traced = ({ values, count }: Traced, most = FEW): string =>
  [...values.slice(0, most), ...(count > most || count > values.length ? [`… (${count})`] : [])].join(", ");

class Values extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }

  override eq(other: Values): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    return h("span", { class: "traced", title: "A value of the run" }, this.text);
  }
}

const setTraced = StateEffect.define<ReadonlyMap<number, string>>();

export const tracedValues: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setTraced)) continue;
      const { doc } = transaction.state;
      const builder = new RangeSetBuilder<Decoration>();
      for (const [line, text] of [...effect.value].sort(([a], [b]) => a - b)) {
        if (line > doc.lines) continue;
        const { to } = doc.line(line);
        builder.add(to, to, Decoration.widget({ widget: new Values(text), side: 2 }));
      }
      return builder.finish();
    }
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** Show these texts behind the lines of those numbers, in place of all others. */
export function showBehind(view: EditorView, lines: ReadonlyMap<number, string>): void {
  view.dispatch({ effects: setTraced.of(lines) });
}

/** Show these behind their lines, in place of all others; they are in the file that is shown. */
export function showTraced(view: EditorView, places: readonly Traced[]): void {
  const lines = new Map<number, string>();
  for (const place of places) {
    const line = place.src[0]![0];
    lines.set(line, [lines.get(line), traced(place)].filter(Boolean).join(" · "));
  }
  showBehind(view, lines);
}
