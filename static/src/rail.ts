// The pipeline rail: one chip per stage, with what it changed.
import { arrange, classes, h, milliseconds, replace } from "./dom";
import { sameText, type Model, type StageState } from "./model";
import type { StageInfo } from "./types";

export interface RailEvents {
  /** Open a stage in the current pane, or in a new one beside it. */
  open(stage: string, beside: boolean): void;
  /** Ids of stages that panes show. */
  shown(): string[];
}

const NAMES: Record<string, string> = { hist: "histogram", if: "branch", alloc: "allocation", index: "read" };

/** `2 maps`, `1 copy`, `3 segmaps`. */
export function counted(count: number, name: string): string {
  const word = NAMES[name] ?? name;
  if (count === 1) return `${count} ${word}`;
  const many = word.endsWith("y") ? `${word.slice(0, -1)}ies` : /(s|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
  return `${count} ${many}`;
}

/** What a stage changed in the counts, largest change first: `−1 map`, `+1 segred`. */
export function changes(
  before: Record<string, number> | undefined,
  after: Record<string, number> | undefined,
): string[] {
  if (!before || !after) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .map((name) => ({ name, by: (after[name] ?? 0) - (before[name] ?? 0) }))
    .filter(({ by }) => by !== 0)
    .sort((a, b) => Math.abs(b.by) - Math.abs(a.by))
    .map(({ name, by }) => `${by > 0 ? "+" : "−"}${counted(Math.abs(by), name)}`);
}

/**
 * What a stage changed: in the counts, or else how often it rewrote something; of another kind, what it has
 * most of.
 */
function told(stage: StageState, isSameKind: boolean, changed: readonly string[], rewrites: number): readonly string[] {
  if (!isSameKind) return changes({}, stage.counts).map((change) => change.replace("+", ""));
  if (changed.length) return changed;
  if (stage.same) return ["no change"];
  return [rewrites ? counted(rewrites, "rewrite") : "as many of each"];
}

export class Rail {
  readonly element = h("div", { class: "rail", role: "toolbar", "aria-label": "Stages of the compiler" });
  private current = "";
  private isCovered = false;
  /** Each chip, and what it was made of. */
  private readonly chips = new Map<string, { of: string; chip: HTMLElement }>();

  constructor(
    private readonly model: Model,
    private readonly events: RailEvents,
  ) {
    this.element.addEventListener("keydown", (event) => this.keys(event));
    model.on("stages", () => this.draw());
    model.on("status", () => this.draw());
    model.on("pinned", () => this.draw());
    this.draw();
  }

  draw(): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset.stage;
    const shown = this.events.shown();
    const { manifest } = this.model;
    // Who comes here by keyboard comes to the stage that is open.
    this.current = focused ?? manifest.find(({ id }) => shown.includes(id))?.id ?? manifest[0]?.id ?? "";
    arrange(this.element, ...manifest.map((info, at) => this.chip(info, manifest[at - 1], shown)));
    if (focused && document.activeElement !== this.chips.get(focused)?.chip) this.focus(focused);
  }

  /** Whether chips tell no numbers: they may be what is asked. */
  set covered(covered: boolean) {
    if (covered === this.isCovered) return;
    this.isCovered = covered;
    this.draw();
  }

  private chip(info: StageInfo, before: StageInfo | undefined, shown: string[]): HTMLElement {
    const stage = this.model.stages.get(info.id);
    const { pinned } = this.model;
    const against = pinned?.apart ? undefined : pinned?.stages[info.id];
    const differs = against && stage ? changes(against.counts, stage.counts) : [];
    const isSameKind = before?.kind === info.kind;
    const changed = isSameKind ? changes(this.model.stages.get(before.id)?.counts, stage?.counts) : [];
    const rewrites = this.model.remarks.filter((one) => one.stage === info.id && one.kind === "applied").length;
    const missing = !stage || stage.stale;
    const reached = !before || this.model.stages.get(before.id)?.stale === false;
    const stopped = this.model.status.phase === "failed" && reached ? "stops here" : "";
    const [first, second] = missing ? [stopped] : told(stage, isSameKind, changed, rewrites);
    const open = shown.includes(info.id);
    const toA = against && stage && !stage.stale ? ` Against A: ${differs.join(", ") || "as many of each"}.` : "";
    const all =
      toA +
      (changed.length
        ? ` Changes: ${changed.join(", ")}.`
        : isSameKind && !missing && !stage.same
          ? " Another text, with as many of each statement as before."
          : "");
    const looks = {
      class: classes("chip", {
        open,
        unmade: missing,
        stopped: missing && stopped !== "",
        changed: changed.length > 0,
      }),
      "aria-pressed": String(open),
      tabindex: info.id === this.current ? 0 : -1,
      title:
        `${info.explain}${all}${missing ? "" : ` It took ${milliseconds(stage.ms)}.`} ` +
        `Shift-click opens it beside.`,
    };
    if (this.isCovered)
      Object.assign(looks, { class: classes("chip", { open, unmade: missing }), title: info.explain });
    const [note, more] = this.isCovered
      ? []
      : against && !missing
        ? differs[0]
          ? [`vs A: ${differs[0]}`]
          : []
        : [first, second];
    const earlier = !missing && !sameText(stage.of, this.model.now);
    const of = JSON.stringify([looks, info.title, note, more, earlier]);
    const made = this.chips.get(info.id);
    if (made?.of === of) return made.chip;
    const chip =
      made?.chip ??
      h("button", { "data-stage": info.id, onclick: (event: MouseEvent) => this.events.open(info.id, event.shiftKey) });
    for (const [name, value] of Object.entries(looks)) chip.setAttribute(name, String(value));
    replace(
      chip,
      h("span", { class: "chip-title" }, info.title),
      h(
        "span",
        { class: earlier ? "chip-note earlier" : "chip-note" },
        note
          ? h("span", { class: "chip-delta" }, note, more ? h("span", { class: "chip-more" }, `, ${more}`) : null)
          : null,
      ),
    );
    this.chips.set(info.id, { of, chip });
    return chip;
  }

  private keys(event: KeyboardEvent): void {
    const ids = this.model.manifest.map((info) => info.id);
    const at = ids.indexOf((event.target as HTMLElement).dataset.stage ?? "");
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: ids.length - 1 }[event.key];
    const id = to === undefined ? undefined : ids[to];
    if (id) {
      event.preventDefault();
      this.focus(id);
      this.draw();
    } else if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      this.events.open(ids[at]!, true);
    }
  }

  private focus(id: string): void {
    this.element.querySelector<HTMLElement>(`[data-stage="${CSS.escape(id)}"]`)?.focus({ preventScroll: false });
  }
}
