// Errors under the text: a wavy mark at the place, and the message in a block below its line. Those
// that have no place, or one in another file, stand below the text.
import { RangeSetBuilder, StateEffect, StateField, type Extension, type Text } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  showPanel,
  tooltips,
  WidgetType,
  type DecorationSet,
  type Panel,
  type Rect,
} from "@codemirror/view";
import { h } from "./dom";
import { rangeOf } from "./lit";
import { messageElement, relatedTo } from "./messages";
import { fileOf, placeName } from "./spans";
import type { Problem, Span } from "./types";

export interface ProblemEvents {
  goTo(span: Span): void;
  /** Return the page's remedy for a problem, or null. */
  wayOut(problem: Problem): HTMLElement | null;
}

class Message extends WidgetType {
  constructor(
    private readonly problem: Problem,
    private readonly events: ProblemEvents,
  ) {
    super();
  }

  override eq(other: Message): boolean {
    return JSON.stringify(this.problem) === JSON.stringify(other.problem);
  }

  override toDOM(): HTMLElement {
    return h(
      "div",
      { class: "below-line" },
      messageElement(
        this.problem,
        "below",
        this.events.wayOut(this.problem),
        relatedTo(this.problem, this.events.goTo),
      ),
    );
  }

  override get estimatedHeight(): number {
    return 40;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const setProblems = StateEffect.define<DecorationSet>();

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setProblems)) return effect.value;
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (self) => EditorView.decorations.from(self),
});

const setPlaceless = StateEffect.define<readonly HTMLElement[]>();

const placeless = StateField.define<readonly HTMLElement[]>({
  create: () => [],
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setPlaceless)) return effect.value;
    return value;
  },
  provide: (self) => showPanel.from(self, (messages) => (messages.length ? () => panel(messages) : null)),
});

function panel(messages: readonly HTMLElement[]): Panel {
  return { dom: h("div", { class: "placeless" }, ...messages) };
}

const ENOUGH = 80; // pixels, for a list of four lines

/** Completions and types may take the room between the messages around the cursor, if it is enough. */
function besideMessages(view: EditorView): Rect {
  const { clientWidth: right, clientHeight: bottom } = document.documentElement;
  const room = { left: 0, top: 0, right, bottom };
  const cursor = view.coordsAtPos(view.state.selection.main.head);
  if (!cursor) return room;
  const messages = [...view.dom.querySelectorAll(".problem-text")].map((message) => message.getBoundingClientRect());
  const below = Math.min(bottom, ...messages.map(({ top }) => top).filter((top) => top >= cursor.bottom));
  const above = Math.max(0, ...messages.map((message) => message.bottom).filter((end) => end <= cursor.top));
  if (Math.max(below - cursor.bottom, cursor.top - above) >= ENOUGH) return { ...room, top: above, bottom: below };
  return cursor.top >= ENOUGH ? { ...room, bottom: below } : room;
}

export const problemMarks: Extension = [field, placeless, tooltips({ tooltipSpace: besideMessages })];
const MOST = 50;

/** Show these in the file of that path. */
export function showProblems(
  view: EditorView,
  problems: readonly Problem[],
  file: string,
  events: ProblemEvents,
): void {
  const { doc } = view.state;
  const here = (problem: Problem): boolean => !problem.span?.[0] || fileOf(problem.span) === file;
  const placed = problems.filter((problem) => here(problem) && placeOf(doc, problem));
  const without = problems.filter((problem) => !placed.includes(problem)).slice(0, MOST);
  const messages = without.map((problem) =>
    messageElement(
      problem,
      "",
      null,
      relatedTo(problem, events.goTo),
      here(problem) ? null : linkTo(problem.span!, events),
    ),
  );
  view.dispatch({ effects: [setProblems.of(decorations(doc, placed, events)), setPlaceless.of(messages)] });
}

const linkTo = (span: Span, { goTo }: ProblemEvents): HTMLElement =>
  h("button", { class: "link place", onclick: () => goTo(span) }, placeName(span));

const placeOf = (doc: Text, { span }: Problem): [number, number] | null => (span?.[0] ? rangeOf(doc, span) : null);

function decorations(doc: Text, problems: readonly Problem[], events: ProblemEvents): DecorationSet {
  const ranges: { from: number; to: number; side: number; decoration: Decoration }[] = [];
  for (const problem of problems.slice(0, MOST)) {
    const range = placeOf(doc, problem);
    if (!range) continue;
    const [from, to] = range;
    const line = doc.lineAt(from);
    const className = `wavy kind-${problem.kind}`;
    if (to > from) ranges.push({ from, to, side: 0, decoration: Decoration.mark({ class: className }) });
    const widget = Decoration.widget({ widget: new Message(problem, events), block: true, side: 1 });
    ranges.push({ from: line.to, to: line.to, side: 1, decoration: widget });
  }
  ranges.sort((a, b) => a.from - b.from || a.side - b.side);
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to, decoration } of ranges) builder.add(from, to, decoration);
  return builder.finish();
}
