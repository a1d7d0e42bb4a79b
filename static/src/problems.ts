// Errors under the text: a wavy mark at the place, and the message in a block below its line. Those
// that have no place stand below the text.
import { RangeSetBuilder, StateEffect, StateField, type Extension, type Text } from "@codemirror/state";
import { Decoration, EditorView, showPanel, tooltips, WidgetType, type DecorationSet, type Panel, type Rect } from "@codemirror/view";
import { h, quoted } from "./dom";
import { rangeOf } from "./lit";
import type { Problem } from "./types";

const NAMES: Record<string, string> = {
  syntax: "Syntax", type: "Type", usage: "Usage", runtime: "Run", limitation: "Not built yet",
  timeout: "Too long", internal: "Our fault", busy: "Busy", unavailable: "Not now", network: "No answer", warning: "Warning",
};

export const kindName = (kind: string): string => NAMES[kind] ?? kind;

class Message extends WidgetType {
  constructor(private readonly problem: Problem) {
    super();
  }

  override eq(other: Message): boolean {
    return JSON.stringify(this.problem) === JSON.stringify(other.problem);
  }

  override toDOM(): HTMLElement {
    return h("div", { class: "below-line" }, messageElement(this.problem, "below"));
  }

  override get estimatedHeight(): number {
    return 40;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** A problem's message with its kind and hint. */
export function messageElement(problem: Problem, className = ""): HTMLElement {
  return h("div", { class: `problem-text ${className} kind-${problem.kind}`, role: "note" },
    h("span", { class: "problem-kind" }, kindName(problem.kind)), " ",
    h("span", { class: "problem-message" }, ...quoted(problem.message)),
    problem.hint ? h("span", { class: "problem-hint" }, ...quoted(problem.hint)) : null);
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

const setPlaceless = StateEffect.define<readonly Problem[]>();

const placeless = StateField.define<readonly Problem[]>({
  create: () => [],
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setPlaceless)) return effect.value;
    return value;
  },
  provide: (self) => showPanel.from(self, (problems) => problems.length ? () => panel(problems) : null),
});

function panel(problems: readonly Problem[]): Panel {
  return { dom: h("div", { class: "placeless" }, ...problems.map((problem) => messageElement(problem))) };
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

export function showProblems(view: EditorView, problems: readonly Problem[]): void {
  const { doc } = view.state;
  const without = problems.filter((problem) => !placeOf(doc, problem)).slice(0, MOST);
  view.dispatch({ effects: [setProblems.of(decorations(doc, problems)), setPlaceless.of(without)] });
}

const placeOf = (doc: Text, { span }: Problem): [number, number] | null => span?.[0] ? rangeOf(doc, span) : null;

function decorations(doc: Text, problems: readonly Problem[]): DecorationSet {
  const ranges: { from: number; to: number; side: number; decoration: Decoration }[] = [];
  for (const problem of problems.slice(0, MOST)) {
    const range = placeOf(doc, problem);
    if (!range) continue;
    const [from, to] = range;
    const line = doc.lineAt(from);
    const className = `wavy kind-${problem.kind}`;
    if (to > from) ranges.push({ from, to, side: 0, decoration: Decoration.mark({ class: className }) });
    const widget = Decoration.widget({ widget: new Message(problem), block: true, side: 1 });
    ranges.push({ from: line.to, to: line.to, side: 1, decoration: widget });
  }
  ranges.sort((a, b) => a.from - b.from || a.side - b.side);
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to, decoration } of ranges) builder.add(from, to, decoration);
  return builder.finish();
}
