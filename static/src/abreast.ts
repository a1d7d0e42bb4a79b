// Two texts side by side: lines that only one of them has are marked, and where one is scrolled the other follows.
import { RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";
import { diff, type Piece } from "./diff";
import { bringUp, topOf } from "./lit";

const setLines = StateEffect.define<DecorationSet>();

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setLines)) return effect.value;
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** For an editor whose lines are marked. */
export const differingLines: Extension = field;

const linesOf = (view: EditorView): string[] => view.state.doc.toString().split("\n");
const ABOVE = 48; // pixels over a difference

export class Abreast {
  private pieces: readonly Piece[] = [];
  /** For each line of A its counterpart in B, and the other way round. */
  private counterparts: readonly [number[], number[]] = [[], []];
  /** Where a text was scrolled to by this: what it tells of that is no wish of the reader's. */
  private readonly driven = new Map<EditorView, number>();
  private readonly stop = new AbortController();

  /** `compares`: whether what both show is to be compared. */
  constructor(
    private readonly a: EditorView,
    private readonly b: EditorView,
    private readonly compares: () => boolean,
  ) {
    for (const view of [a, b])
      view.scrollDOM.addEventListener("scroll", () => this.scrolled(view), { signal: this.stop.signal });
  }

  destroy(): void {
    this.stop.abort();
    mark(this.b, [], "");
  }

  /** Lines that only A has, and only B; null where nothing is compared. */
  update(): [number, number] | null {
    const [before, after] = [linesOf(this.a), linesOf(this.b)];
    const compares = this.compares();
    this.pieces = compares ? diff(before, after) : [];
    const removed = this.pieces.flatMap((one) => (one.kind === "removed" ? [one.old] : []));
    const added = this.pieces.flatMap((one) => (one.kind === "added" ? [one.new] : []));
    mark(this.a, removed, "diff-removed");
    mark(this.b, added, "diff-added");
    const same = this.pieces.filter(({ kind }) => kind === "same");
    this.counterparts = [
      met(
        before.length,
        same.map((one) => [one.old, one.new]),
        after.length,
      ),
      met(
        after.length,
        same.map((one) => [one.new, one.old]),
        before.length,
      ),
    ];
    return compares ? [removed.length, added.length] : null;
  }

  /** The line of the other text that stands for one of this, both from 0. */
  counterpart(view: EditorView, line: number): number {
    return this.counterparts[view === this.a ? 0 : 1][line] ?? line;
  }

  /** Bring the other text to where this one is. */
  align(view: EditorView): void {
    const other = view === this.a ? this.b : this.a;
    if (!view.scrollDOM.clientHeight || !other.scrollDOM.clientHeight || !this.pieces.length) return;
    const { line, hidden } = topOf(view);
    const at = Math.min(other.state.doc.lines, this.counterpart(view, line) + 1);
    other.requestMeasure({
      key: this,
      read: () => other.lineBlockAt(other.state.doc.line(at).from).top + hidden,
      write: (top) => {
        const { scrollDOM } = other;
        const to = Math.max(0, Math.min(Math.round(top), scrollDOM.scrollHeight - scrollDOM.clientHeight));
        if (Math.abs(scrollDOM.scrollTop - to) < 2) return;
        this.driven.set(other, to);
        scrollDOM.scrollTop = to;
      },
    });
  }

  /** Go to the next or previous run of lines that differ, in both texts; which of how many, or null. */
  difference(by: number, from: EditorView): [number, number] | null {
    const starts = this.pieces.flatMap((one, k) =>
      one.kind !== "same" && (this.pieces[k - 1]?.kind ?? "same") === "same" ? [k] : [],
    );
    if (!starts.length) return null;
    const own = from === this.a ? "old" : "new";
    const here = from.state.doc.lineAt(from.state.selection.main.head).number - 1;
    const line = (k: number, which: "old" | "new"): number => {
      const at = this.pieces.findIndex((one, number) => number >= k && one[which] >= 0);
      return at >= 0 ? this.pieces[at]![which] : (which === "old" ? this.a : this.b).state.doc.lines - 1;
    };
    const next =
      by > 0 ? starts.findIndex((k) => line(k, own) > here) : starts.findLastIndex((k) => line(k, own) < here);
    const to = next >= 0 ? next : by > 0 ? 0 : starts.length - 1;
    for (const [view, which] of [
      [this.a, "old"],
      [this.b, "new"],
    ] as const) {
      const at = view.state.doc.line(line(starts[to]!, which) + 1).from;
      view.dispatch({ selection: { anchor: at } });
      bringUp(view, at, ABOVE);
    }
    return [to + 1, starts.length];
  }

  private scrolled(view: EditorView): void {
    const driven = this.driven.get(view);
    this.driven.delete(view);
    if (driven === undefined || Math.abs(driven - view.scrollDOM.scrollTop) > 2) this.align(view);
  }
}

/** Return each line's counterpart; without one, the line as far behind the last counterpart, before the next. */
function met(lines: number, pairs: readonly (readonly [number, number])[], end: number): number[] {
  const found: number[] = [];
  let before = -1;
  for (const [from, to] of [...pairs, [lines, end] as const]) {
    while (found.length < from) found.push(Math.min((before += 1), Math.max(0, to - 1)));
    if (from < lines) found.push((before = to));
  }
  return found;
}

function mark(view: EditorView, lines: readonly number[], name: string): void {
  const builder = new RangeSetBuilder<Decoration>();
  const decoration = Decoration.line({ class: name });
  for (const line of lines) {
    const { from } = view.state.doc.line(line + 1);
    builder.add(from, from, decoration);
  }
  view.dispatch({ effects: setLines.of(builder.finish()) });
}
