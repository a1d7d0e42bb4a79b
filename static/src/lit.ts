// Lit lines and places in a CodeMirror view: decorations that panes set from the selection.
import { RangeSetBuilder, StateEffect, StateField, Text, type Extension, type Line } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";
import { units } from "./spans";
import type { Span } from "./types";

export interface Marks {
  strong: readonly number[];
  weak: readonly number[];
  /** Exact places, in the source. */
  places: readonly Span[];
  /** Faulty parts: a line, from 0, and its characters from one to another. */
  faults?: readonly (readonly [line: number, from: number, to: number])[];
  /** True if the first of the places is faulty. */
  fault?: boolean;
}

const AROUND = 80; // pixels

const setMarks = StateEffect.define<DecorationSet>();
const strong = Decoration.line({ class: "lit" });
const weak = Decoration.line({ class: "lit-weak" });
const place = Decoration.mark({ class: "lit-place" });
const fault = Decoration.mark({ class: "stride-fault" });

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return effect.value;
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** Show these marks; with none, clear them. */
export function light(view: EditorView, marks: Marks): void {
  const doc = view.state.doc;
  const lines = new Map<number, Decoration>();
  for (const line of marks.weak) lines.set(line, weak);
  for (const line of marks.strong) lines.set(line, strong);
  const ranges: [number, number, Decoration][] = [];
  for (const [line, decoration] of lines) {
    if (line < doc.lines) ranges.push([doc.line(line + 1).from, -1, decoration]);
  }
  for (const span of marks.places) {
    const range = rangeOf(doc, span);
    if (range && range[0] < range[1])
      ranges.push([range[0], range[1], marks.fault && span === marks.places[0] ? fault : place]);
  }
  for (const [line, from, to] of marks.faults ?? []) {
    const { from: start, to: end } = doc.line(line + 1);
    if (start + to <= end) ranges.push([start + from, start + to, fault]);
  }
  ranges.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const builder = new RangeSetBuilder<Decoration>();
  for (const [from, to, decoration] of ranges) builder.add(from, to < 0 ? from : to, decoration);
  view.dispatch({ effects: setMarks.of(builder.finish()) });
}

/** A span's offsets in a document, cut to what is there. */
export function rangeOf(doc: Text, span: Span): [number, number] | null {
  if (span[0] < 1 || span[0] > doc.lines) return null;
  const first = doc.line(span[0]);
  const last = doc.line(Math.min(span[2], doc.lines));
  const from = first.from + units(first.text, span[1] - 1);
  const to = last.from + units(last.text, span[3] - 1);
  return [from, Math.max(from, to)];
}

/** The column of an offset, as spans count: in characters, from 1. */
export function columnOf(line: Line, at: number): number {
  return [...line.text.slice(0, at - line.from)].length + 1;
}

/** A text as a document, whose lines end at newlines and nowhere else, as the compiler's do. */
export function documentOf(text: string): Text {
  return Text.of(text.replaceAll("\r\n", "\n").split("\n"));
}

/** Scroll a line (from 0) into view unless it is, with some lines around it. */
export function reveal(view: EditorView, line: number): void {
  if (line < 0 || line >= view.state.doc.lines) return;
  const at = view.state.doc.line(line + 1).from;
  const yMargin = Math.min(AROUND, view.scrollDOM.clientHeight / 4);
  if (BELOW_EACH_OTHER.matches) return revealWithin(view, at, yMargin);
  // The view decides whether it is in sight when it has measured a new text.
  view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "nearest", yMargin }) });
}

const BELOW_EACH_OTHER = window.matchMedia("(max-width: 860px)"); // as in layout.css

/** Bring a place to the upper edge, as far as the text goes, but for a margin. */
export function bringUp(view: EditorView, at: number, yMargin: number): void {
  if (BELOW_EACH_OTHER.matches) return scrollPane(view, at, (box, top) => top - (box.top + yMargin));
  view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "start", yMargin }) });
}

/** The line at the upper edge, from 0, and how much of it is hidden. */
export interface Top {
  line: number;
  hidden: number;
}

export function topOf(view: EditorView): Top {
  const { scrollDOM, state } = view;
  const block = view.lineBlockAtHeight(scrollDOM.scrollTop);
  return { line: state.doc.lineAt(block.from).number - 1, hidden: Math.round(scrollDOM.scrollTop - block.top) };
}

/** Bring a line to the upper edge, as far as the text goes: the next text may be a shorter one. */
export function toTop(view: EditorView, { line, hidden }: Top): void {
  const { doc } = view.state;
  bringUp(view, doc.line(Math.min(doc.lines, line + 1)).from, -hidden);
}

function revealWithin(view: EditorView, at: number, margin: number): void {
  scrollPane(view, at, (box, top, bottom) => {
    const above = box.top + margin - top;
    return above > 0 ? -above : Math.max(0, bottom - (box.bottom - margin));
  });
}

/** Where panes lie below each other: scroll the pane, and not the page, by what is between the edges. */
function scrollPane(view: EditorView, at: number, by: (box: DOMRect, top: number, bottom: number) => number): void {
  view.requestMeasure({
    read: () => {
      const scroller = [view.scrollDOM, view.dom.parentElement].find(
        (one) => one && one.scrollHeight > one.clientHeight,
      );
      if (!scroller) return null;
      const { top, bottom } = view.lineBlockAt(Math.min(at, view.state.doc.length));
      const box = scroller.getBoundingClientRect();
      return { scroller, by: by(box, view.documentTop + top, view.documentTop + bottom) };
    },
    write: (found) => {
      if (found) found.scroller.scrollTop += found.by;
    },
  });
}

export const litLines: Extension = field;
