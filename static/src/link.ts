// One selection through all panes: a place in the source, hovered or chosen.
import { innermost, keyOf } from "./spans";
import type { Model } from "./model";
import type { Line, Span, Underlined } from "./types";

export interface Selection {
  /** The place that was pointed at, and further places of the same line. */
  spans: Span[];
  /** Where it was pointed at: `source`, a stage's id, `remarks`, .. */
  origin: string;
  /** The line there, from 0; -1 in the source. */
  line: number;
  /** Faulty parts of the texts of stages; in the source it is the first place. */
  faults?: readonly Underlined[];
}

type Listener = (selection: Selection | null, chosen: boolean) => void;

export class Link {
  /** Stays until another is chosen. */
  chosen: Selection | null = null;
  private hovered: Selection | null = null;
  private listeners = new Set<Listener>();
  private known: Span[] = [];
  private generation = -1;

  constructor(private readonly model: Model) {}

  on(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The selection that is highlighted now. */
  get shown(): Selection | null {
    return this.hovered ?? this.chosen;
  }

  hover(selection: Selection | null): void {
    if (same(selection, this.hovered)) return;
    this.hovered = selection;
    this.tell(false);
  }

  choose(selection: Selection | null): void {
    this.hovered = null;
    this.chosen = selection;
    this.tell(true);
  }

  /** Choose a source place by a point of a file in it: the innermost place that any stage knows. */
  at(file: string, line: number, column: number): Selection | null {
    const span = innermost(this.places(), file, line, column);
    return span ? { spans: [span], origin: "source", line: -1 } : null;
  }

  /**
   * Every place that some line of some stage comes from, each once, as the compiler tells, or the texts of a link.
   * The syntax tree has one for each word; the places that a program keeps through the compiler are those of later
   * stages.
   */
  places(): readonly Span[] {
    if (this.model.places) return this.model.places;
    if (this.generation !== this.model.generation) {
      const found = new Map<string, Span>();
      const present = this.model.present();
      const later = present.filter((info) => info.kind !== "syntax");
      for (const { id } of later.length ? later : present) {
        const stage = this.model.stages.get(id)!;
        if (!stage.stale) for (const [key, span] of placesOf(stage.lines ?? [])) found.set(key, span);
      }
      this.known = [...found.values()];
      this.generation = this.model.generation;
    }
    return this.known;
  }

  private tell(chosen: boolean): void {
    for (const listener of this.listeners) listener(this.shown, chosen);
  }
}

const placesOfLines = new WeakMap<readonly Line[], ReadonlyMap<string, Span>>();

/** The places of a stage's lines by what names them; found once. */
function placesOf(lines: readonly Line[]): ReadonlyMap<string, Span> {
  const known = placesOfLines.get(lines);
  if (known) return known;
  const found = new Map<string, Span>();
  let before: readonly Span[] = [];
  for (const { src } of lines) {
    for (const [k, span] of src.entries()) {
      // Most lines are from where the last one is.
      if (!before[k] || !isSame(before[k], span)) found.set(keyOf(span), span);
    }
    before = src;
  }
  placesOfLines.set(lines, found);
  return found;
}

function isSame(a: Span, b: Span): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3] && a[4] === b[4];
}

function same(a: Selection | null, b: Selection | null): boolean {
  if (!a || !b) return a === b;
  return a.origin === b.origin && a.line === b.line && a.spans.map(keyOf).join() === b.spans.map(keyOf).join();
}
