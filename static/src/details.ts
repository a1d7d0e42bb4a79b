// The panes of the details. Their code comes with the first of them that is seen or has something to keep; what is
// asked of them before waits for it.
import { late, NotArrived } from "./arriving";
import type { Dock } from "./dock";
import { h, replace } from "./dom";
import type { AnyAsked } from "./kept";
import { sameText } from "./text";
import type { Desk, KnownKind, Pane } from "./panes/pane";
import type { LessonAnswer } from "./types";
import { KINDS } from "panes:kinds";

type Action = (pane: Pane) => void;

/** A pane, or the place for it. */
class Slot {
  readonly place = h("div", {}, h("p", { class: "empty" }, "This pane is loading."));
  /** Actions for the pane when it is there: the last of each name. */
  private readonly later = new Map<string, Action>();
  /** The drawing that it shall have. */
  private kept: unknown;

  constructor(
    readonly kind: KnownKind,
    public pane: Pane | null,
  ) {}

  do(name: string, action: Action): void {
    if (this.pane) return action(this.pane);
    this.later.delete(name);
    this.later.set(name, action);
  }

  fill(pane: Pane): void {
    this.pane = pane;
    for (const action of this.later.values()) action(pane);
    this.later.clear();
  }

  now(linked = false): unknown {
    const { pane, kept } = this;
    if (!pane?.keep) return kept;
    return linked && pane.keep.linked ? pane.keep.linked() : pane.keep.now();
  }

  as(kept: unknown): void {
    this.kept = kept;
    this.do("as", (pane) => pane.keep?.as(kept));
  }
}

export class Details {
  private readonly slots: readonly Slot[];
  private coming: Promise<void> | null = null;

  /** `made`: the panes that are there already. */
  constructor(
    private readonly desk: Desk,
    private readonly dock: Dock,
    made: ReadonlyMap<string, Pane> | undefined,
  ) {
    this.slots = KINDS.map((kind) => new Slot(kind, made?.get(kind.id) ?? null));
    for (const slot of this.slots) {
      const { kind, pane } = slot;
      if (pane) pane.element.inert = false; // the first view's is asleep
      const show = (visible: boolean): void => {
        slot.do("show", (shown) => shown.show?.(visible));
        if (visible && !slot.pane) void this.load();
      };
      dock.add({ id: kind.id, title: kind.title, group: kind.group, content: pane?.element ?? slot.place, show });
    }
    // Who is about to open one does not wait for it.
    for (const kind of ["pointerover", "focusin"])
      dock.element.addEventListener(kind, ({ target }) => {
        if ((target as Element).closest(".tabs-bar")) void this.load();
      });
  }

  /** Wait until what was asked of the panes so far has been done. */
  settled(): Promise<void> {
    return this.coming ?? Promise.resolve();
  }

  private load(): Promise<void> {
    return (this.coming ??= this.fill().catch((error: unknown) => {
      this.coming = null;
      if (!(error instanceof NotArrived)) throw error;
      this.missing(error);
    }));
  }

  private async fill(): Promise<void> {
    const { PANES } = await late();
    for (const slot of this.slots) {
      const kind = PANES.find(({ id }) => id === slot.kind.id);
      if (slot.pane || !kind) continue;
      const pane = kind.make(this.desk);
      this.dock.fill(kind.id, pane.element);
      slot.fill(pane);
    }
  }

  private missing({ message }: NotArrived): void {
    for (const { pane, place } of this.slots)
      if (!pane)
        replace(
          place,
          h(
            "p",
            { class: "empty", role: "alert" },
            `${message} `,
            h("button", { onclick: () => void this.load() }, "Try again"),
          ),
        );
  }

  look(tab: string, stage: string, object: string): void {
    this.slots.find(({ kind }) => kind.id === tab)?.do("look", (pane) => pane.look?.(stage, object));
  }

  suppose(lesson: Pick<LessonAnswer, "object" | "sizes">): void {
    for (const slot of this.slots) slot.do("suppose", (pane) => pane.suppose?.(lesson));
  }

  /** Return the questions for a link. */
  asked(): Pick<AnyAsked, "op" | "request">[] {
    return this.slots.flatMap(({ pane }) => pane?.share?.asked() ?? []);
  }

  /** Show what a link or this browser keeps of answers, and nothing of others. */
  restore(asked: readonly AnyAsked[]): void {
    const { model } = this.desk;
    const of = model.now;
    for (const slot of this.slots) {
      slot.do("restore", (pane) => sameText(of, model.now) && pane.share?.restore(asked));
      if (!slot.pane && asked.some(({ op }) => slot.kind.answers.includes(op))) void this.load();
    }
  }

  /** Return what is drawn, by its fields; `linked`: as far as a link holds the data for it. */
  view(linked: boolean): Record<string, unknown> {
    return Object.fromEntries(this.keeping.map((slot) => [slot.kind.keeps, slot.now(linked)]));
  }

  /** Draw what a view says; `changed`: only where that is another thing. */
  drawAs(view: object, changed: boolean): void {
    for (const slot of this.keeping) {
      const wanted = (view as Record<string, unknown>)[slot.kind.keeps];
      if (!changed || JSON.stringify(wanted) !== JSON.stringify(slot.now())) slot.as(wanted);
    }
  }

  private get keeping(): Slot[] {
    return this.slots.filter(({ kind }) => kind.keeps);
  }
}
