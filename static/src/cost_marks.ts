// What each line of the source costs: a bar beside its number, and behind it the worst in a few words.
import { RangeSetBuilder, StateEffect, StateField, type Extension, type Text } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  GutterMarker,
  gutterLineClass,
  WidgetType,
  type DecorationSet,
} from "@codemirror/view";
import type { RangeSet } from "@codemirror/state";
import { isMarked, saidOf, signOf, toneOf, type LineCost } from "./costs";
import { h } from "./dom";

/** Called with the costs of a line that is clicked. */
type Choose = (line: LineCost) => void;

class Words extends WidgetType {
  constructor(
    private readonly line: LineCost,
    private readonly choose: Choose,
  ) {
    super();
  }

  override eq(other: Words): boolean {
    return JSON.stringify(other.line) === JSON.stringify(this.line);
  }

  override toDOM(): HTMLElement {
    const { cost, all } = this.line;
    return h("span", {
      class: `cost-mark ${toneOf(cost)}`,
      role: "img",
      "aria-label": saidOf(cost),
      "data-says": `${signOf(cost)} ${cost.short}`,
      title: all.map(saidOf).join("\n"),
      onmousedown: (event: MouseEvent) => {
        event.preventDefault();
        this.choose(this.line);
      },
    });
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

class Heat extends GutterMarker {
  override elementClass: string;

  constructor(level: number) {
    super();
    this.elementClass = `heat heat-${level}`;
  }
}

const HEATS = [1, 2, 3, 4].map((level) => new Heat(level));

interface Marks {
  words: DecorationSet;
  heat: RangeSet<GutterMarker>;
}

const NONE: Marks = { words: Decoration.none, heat: new RangeSetBuilder<GutterMarker>().finish() };
const setMarks = StateEffect.define<{ lines: readonly LineCost[]; choose: Choose }>();

const field = StateField.define<Marks>({
  create: () => NONE,
  update(value, transaction) {
    for (const effect of transaction.effects)
      if (effect.is(setMarks)) return marks(transaction.state.doc, effect.value.lines, effect.value.choose);
    if (!transaction.docChanged) return value;
    return { words: value.words.map(transaction.changes), heat: value.heat.map(transaction.changes) };
  },
  provide: (self) => [
    EditorView.decorations.from(self, ({ words }) => words),
    gutterLineClass.from(self, ({ heat }) => heat),
  ],
});

function marks(doc: Text, lines: readonly LineCost[], choose: Choose): Marks {
  const words = new RangeSetBuilder<Decoration>();
  const heat = new RangeSetBuilder<GutterMarker>();
  for (const line of lines) {
    if (line.line > doc.lines) continue;
    const { from, to } = doc.line(line.line);
    if (line.level) heat.add(from, from, HEATS[line.level - 1]!);
    if (isMarked(line.cost)) words.add(to, to, Decoration.widget({ widget: new Words(line, choose), side: 2 }));
  }
  return { words: words.finish(), heat: heat.finish() };
}

export const costMarks: Extension = field;

/** Show these, in place of all others. */
export function markCosts(view: EditorView, lines: readonly LineCost[], choose: Choose): void {
  view.dispatch({ effects: setMarks.of({ lines, choose }) });
}
