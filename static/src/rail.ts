// The pipeline rail: one chip per stage, with what it changed.
import { arrange, classes, h, milliseconds, replace } from "./dom";
import { sameText, type Model, type StageState } from "./model";
import { load, save } from "./storage";
import type { StageInfo } from "./types";

/** With more stages than this only those are shown that changed something, until all are asked for. */
const FEW = 8;
const ALL = "rail.all";
/** The first stage of the core language is seen in any case, as that which others change. */
const CORE = "ir";

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

/** Return the changes of a stage's counts, largest first: `−1 map`, `+1 segred`. */
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
 * Return the changes of a stage's counts, or else its number of rewrites; for another kind of stage its
 * largest counts.
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
  private all = load<boolean>(ALL) ?? false;
  private readonly more = h("button", { class: "rail-more", onclick: () => this.turn() });
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
    const seen = this.seen(shown);
    if (!seen.some(({ id }) => id === this.current)) this.current = seen[0]?.id ?? "";
    const chips = seen.map((info) => this.chip(info, manifest[manifest.indexOf(info) - 1], shown));
    const hidden = manifest.length - seen.length;
    this.more.textContent = this.all ? "fewer" : `all ${manifest.length}`;
    this.more.title = this.all ? "Only the stages that changed something" : `${hidden} more stages`;
    this.more.setAttribute("aria-label", this.all ? "Fewer stages" : `All ${manifest.length} stages`);
    this.more.setAttribute("aria-expanded", String(this.all));
    arrange(this.element, ...chips, ...(manifest.length > FEW && (this.all || hidden) ? [this.more] : []));
    if (focused && document.activeElement !== this.chips.get(focused)?.chip) this.focus(focused);
  }

  /** Show all stages, or those alone that changed something; kept for the next visit. */
  private turn(): void {
    this.all = !this.all;
    save(ALL, this.all);
    this.draw();
    this.more.focus();
  }

  /** The stages that changed something, whatever is shown. */
  get changed(): readonly StageInfo[] {
    return this.few([]);
  }

  private seen(shown: readonly string[]): readonly StageInfo[] {
    const { manifest } = this.model;
    // Which stages changed something may be what is asked.
    return this.all || this.isCovered || manifest.length <= FEW ? manifest : this.few(shown);
  }

  /**
   * The stages with a chip: those that changed something, the text for the chosen machine, and what panes show or is
   * said of.
   */
  private few(shown: readonly string[]): readonly StageInfo[] {
    const { manifest, stages, status, pinned, options } = this.model;
    const target = options.target ?? "c";
    const stopped = status.phase === "failed" && manifest.find(({ id }) => stages.get(id)?.stale !== false);
    const found = manifest.filter((info, at) => {
      const { id, kind } = info;
      const stage = stages.get(id);
      const before = manifest[at - 1];
      if (shown.includes(id) || id === target || info === stopped) return true;
      if (kind === CORE && before?.kind !== CORE) return true;
      if (!stage || !before || before.kind !== kind) return false;
      const against = pinned && !pinned.apart && changes(pinned.stages[id]?.counts, stage.counts).length > 0;
      return against || changes(stages.get(before.id)?.counts, stage.counts).length > 0;
    });
    return found.length > 1 ? found : manifest;
  }

  /** Hide the numbers of chips, which may be the answer to a lesson's question. */
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
          ? " The text changed, but the number of statements of each kind did not."
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
    const ids = this.seen(this.events.shown()).map((info) => info.id);
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
