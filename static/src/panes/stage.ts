// A pane that shows any stage, or the difference between any two. It knows no stage by name.
import { Compartment, EditorState, Text, type StateEffect } from "@codemirror/state";
import { defaultKeymap } from "@codemirror/commands";
import { EditorView, keymap } from "@codemirror/view";
import { FlowBar } from "./flow";
import { diff, folds, type Piece } from "../diff";
import { announce, h, replace } from "../dom";
import { languageOf } from "../lang";
import type { Flow } from "../kept";
import type { Link, Selection } from "../link";
import { bringUp, light, reveal, topOf, toTop } from "../lit";
import { margin, setMarginLines, type MarginLine } from "../margin";
import { BEFORE, PINNED, sameText, UNREACHED, type Model } from "../model";
import { explaining, namesAlone } from "../explaining";
import { foldsOf, isFolding, setFolding, type Folds } from "../asides";
import { allFolded, foldAll, folding, unfoldAt } from "../folded";
import { numbered } from "../numbers";
import { counted } from "../rail";
import { inWords, since, type Since } from "../since";
import { save } from "../storage";
import { fileOf, hueAt, linesFor, placeName } from "../spans";
import { tracedValues } from "../traced";
import { choices, paneMenu, stageName } from "../menus";
import { taking } from "../take";
import type { Line } from "../types";
import { readOnly, shared } from "../view";
import { wrapping } from "../wrap";
import { WrittenText, type WriteTexts } from "../written";

interface Shown {
  lines: readonly Line[];
  pieces: readonly Piece[] | null;
  /** Rows that stand for equal lines, and the first of these. */
  folded: ReadonlyMap<number, number>;
}

const NO_FOLDS: Folds = new Map();
const MOST_NEW = 0.7; // of the lines: where more are new nothing is marked

export interface StagePaneEvents {
  changed(): void;
  closed(pane: StagePane): void;
  focused(pane: StagePane): void;
}

export class StagePane {
  readonly element: HTMLElement;
  readonly view: EditorView;
  private shown: Shown = { lines: [], pieces: null, folded: new Map() };
  private readonly unfolded = new Set<number>();
  /** Changes since the stage before, if requested and known. */
  private since: Since | null = null;
  private drawn: {
    stage: string;
    lines: readonly Line[] | null | undefined;
    against: readonly Line[] | null | undefined;
    /** True if what is new is marked in the text. */
    marked: boolean;
  } | null = null;
  /** The kind of request that is pending: another stage, or another comparison of this one. */
  private opening: "stage" | "comparison" | "" = "";
  private language = new Compartment();
  private numbers = new Compartment();
  private readonly select = h("select", { "aria-label": "Stage", class: "stage-select at-hand" });
  private readonly name = stageName(this.select);
  private readonly against = h("select", { "aria-label": "Compare with", class: "against-select" });
  private readonly note = h("p", { class: "pane-note" });
  private readonly flow: FlowBar;
  private readonly written: WrittenText;
  private readonly flowing = h(
    "button",
    {
      class: "icon",
      title: "What each statement gives, step by step, on the inputs below",
      onclick: () => this.toggleFlow(),
    },
    "▸ Value flow",
  );
  /** The flow that was shown unasked: once closed, it stays closed. */
  private begun: Flow | null = null;
  private readonly stops: (() => void)[] = [];

  constructor(
    readonly id: string,
    grip: HTMLElement,
    private readonly model: Model,
    private readonly link: Link,
    private readonly events: StagePaneEvents,
    write: WriteTexts,
    public stage: string,
    public compare = "",
  ) {
    const body = h("div", { class: "pane-body" });
    this.flow = new FlowBar(
      model,
      () => this.view,
      () => this.shown.lines,
    );
    this.written = new WrittenText(
      model,
      write,
      () => this.taken.text,
      (open) => (body.hidden = open),
    );
    const close = h("button", { onclick: () => events.closed(this) }, "× Close this pane");
    const names = h(
      "button",
      {
        class: "icon",
        title: "Show the numbers of all names",
        "aria-pressed": String(numbered()),
        onclick: () => {
          save("numbers", !numbered());
          names.setAttribute("aria-pressed", String(numbered()));
          this.view.dispatch({ effects: this.hiding() });
        },
      },
      "# Numbers of names",
    );
    const asides = h(
      "button",
      {
        class: "icon",
        title: "Fold checks, parameters, support and host code",
        "aria-pressed": String(isFolding()),
        onclick: () => {
          setFolding(!isFolding());
          asides.setAttribute("aria-pressed", String(isFolding()));
          foldAll(this.view, this.folds());
        },
      },
      "⋯ Fold asides",
    );
    this.element = h(
      "section",
      { class: "pane stage-pane", onfocusin: () => events.focused(this), onmousedown: () => events.focused(this) },
      h(
        "header",
        { class: "pane-head" },
        grip,
        this.name,
        h(
          "span",
          { class: "pane-tools" },
          paneMenu(
            "More ▾",
            choices(
              h("label", { class: "against" }, h("span", {}, "Compare with"), this.against),
              this.flowing,
              this.written.button,
              asides,
              names,
              taking(() => ({
                title: this.model.info(this.stage)?.title ?? this.stage,
                element: this.element,
                ...this.taken,
              })),
              close,
            ),
            "More of this pane",
          ),
        ),
      ),
      this.note,
      this.flow.element,
      this.written.element,
      body,
    );
    this.view = new EditorView({ parent: body, state: this.state() });
    this.select.addEventListener("change", () => this.open(this.select.value, this.compare));
    this.against.addEventListener("change", () => this.open(this.stage, this.against.value));
    this.listen();
    this.update();
  }

  destroy(): void {
    for (const stop of this.stops) stop();
    this.view.destroy();
    this.element.remove();
  }

  /** All of the stage, of which a part is drawn. */
  get taken(): { text: string; data: unknown } {
    const { of: _, stale: __, ...stage } = this.model.stages.get(this.stage) ?? { of: null, stale: false, lines: [] };
    return { text: `${this.shown.lines.map(({ text }) => text).join("\n")}\n`, data: { id: this.stage, ...stage } };
  }

  open(stage: string, compare = this.compare): void {
    const other = stage !== this.stage;
    this.stage = stage;
    const change = other || compare !== this.compare;
    this.compare = compare === stage ? BEFORE : compare;
    if (change) this.unfolded.clear();
    this.opening = other ? "stage" : change ? "comparison" : this.opening;
    this.update();
    this.events.changed();
  }

  /** Move by one stage along the pipeline. */
  step(by: number): void {
    const present = this.model.present();
    const own = this.model.info(this.stage)?.of ?? this.stage;
    const at = present.findIndex((info) => info.id === own);
    const next = present[Math.min(present.length - 1, Math.max(0, at + by))];
    if (next) this.open(next.id);
  }

  private state(): EditorState {
    return EditorState.create({
      extensions: [
        margin("margin-stage", (line) => this.choose(line)),
        this.language.of([]),
        shared,
        readOnly,
        wrapping,
        explaining,
        folding(() => this.asides()),
        tracedValues,
        this.numbers.of([]),
        keymap.of([{ key: "Enter", run: () => this.chooseAtCursor() }, ...defaultKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.selectionSet && update.transactions.some((t) => t.isUserEvent("select"))) this.chooseAtCursor();
        }),
      ],
    });
  }

  private listen(): void {
    this.stops.push(
      this.model.on("stages", () => this.update()),
      this.model.on("pinned", () => this.update()),
      this.model.on("frozen", () => this.update()),
      this.model.on("status", () => this.describe()),
      this.model.on("source", () => {
        this.written.follow(this.stage);
        this.describe();
      }),
      this.model.on("problems", () => this.written.follow(this.stage)),
      this.link.on(() => this.light()),
    );
    this.view.contentDOM.addEventListener("mousemove", (event) => {
      if (!event.buttons) this.hover(event);
    });
    this.view.contentDOM.addEventListener("mouseleave", () => this.link.hover(null));
  }

  private toggleFlow(): void {
    if (this.flow.isOpen) this.flow.close();
    else void this.flow.open(this.stage, this.keptFlow);
  }

  /** The value flow of this stage that a link keeps. */
  private get keptFlow(): Flow | undefined {
    return this.model.frozen?.flows.find(({ request }) => request.stage === this.stage);
  }

  shared(): Pick<Flow, "op" | "request">[] {
    return this.flow.shared();
  }

  private update(): void {
    this.choices();
    this.written.follow(this.stage);
    this.flow.follow(this.stage);
    this.flowing.hidden =
      this.model.info(this.stage)?.kind !== "ir" ||
      (this.model.frozen !== null && !this.keptFlow) ||
      (this.compare !== "" && this.compare !== BEFORE);
    if (this.flowing.hidden && this.flow.isOpen) this.flow.close();
    const { stage } = this;
    const state = this.model.stages.get(stage);
    const { pinned } = this.model;
    const against =
      this.compare === PINNED
        ? pinned?.stages[this.stage]
        : this.compare
          ? this.model.stages.get(this.model.against(stage, this.compare))
          : undefined;
    const { drawn } = this;
    const lines = state?.lines;
    const marked = this.compare === BEFORE;
    const same = drawn?.stage === stage && drawn.lines === lines && drawn.against === against?.lines;
    if (!same || drawn?.marked !== marked) {
      const top = drawn?.stage === stage ? topOf(this.view) : null;
      this.draw(lines ?? [], against?.lines ?? undefined);
      this.drawn = { stage, lines, against: against?.lines, marked };
      if (top) toTop(this.view, top);
    }
    if (this.opening && lines && (this.compare === BEFORE || against?.lines !== null)) this.arrive();
    const kept = this.keptFlow;
    if (kept && kept !== this.begun && !this.flowing.hidden && state && sameText(state.of, this.model.now)) {
      this.begun = kept;
      void this.flow.open(stage, kept);
    }
    this.describe();
  }

  /** Scroll to the first difference, the selection or the beginning of the program that was opened. */
  private arrive(): void {
    const { opening } = this;
    this.opening = "";
    if (this.shown.pieces?.some(({ kind }) => kind !== "same")) this.difference(1, true);
    else if (opening === "stage" && !this.light()) this.toProgram();
  }

  private draw(lines: readonly Line[], before: readonly Line[] | undefined): void {
    const marked = this.compare === BEFORE;
    this.since = marked && before ? since(before, lines) : null;
    const pieces =
      before && !marked
        ? diff(
            before.map((line) => line.text),
            lines.map((line) => line.text),
          )
        : null;
    this.shown = pieces
      ? this.folding(
          pieces,
          pieces.map((piece) => (piece.new >= 0 ? lines[piece.new] : before?.[piece.old])!),
        )
      : { lines, pieces, folded: new Map() };
    const shown = this.shown.lines;
    const { view } = this;
    const text = Text.of(shown.length ? shown.map((line) => line.text) : [""]);
    const kind = this.model.info(this.stage)?.kind ?? "ir";
    const changed = !text.eq(view.state.doc);
    view.dispatch({
      ...(changed ? { changes: { from: 0, to: view.state.doc.length, insert: text } } : {}),
      effects: [
        this.language.reconfigure(languageOf(kind)),
        this.hiding(),
        setMarginLines(this.marginLines()),
        ...(changed ? allFolded(text, this.folds()) : []),
      ],
    });
    if (!changed && pieces) foldAll(view, NO_FOLDS);
    this.light();
  }

  /** Runs of lines beside the program itself; a difference folds what is equal. */
  private asides(): Folds {
    return this.shown.pieces ? NO_FOLDS : foldsOf(this.shown.lines, this.model.info(this.stage)?.kind ?? "ir");
  }

  private folds(): Folds {
    return isFolding() ? this.asides() : NO_FOLDS;
  }

  /** Numbers of names that tell apart nothing are hidden, but in texts that other compilers read. */
  private hiding(): StateEffect<unknown> {
    const kind = this.model.info(this.stage)?.kind;
    return this.numbers.reconfigure(
      numbered() || kind === "text" || kind === "listing" || kind === "syntax" ? [] : namesAlone,
    );
  }

  /** Equal lines that are far from changes are one row, until that is chosen. */
  private folding(pieces: readonly Piece[], lines: readonly Line[]): Shown {
    const folded = new Map<number, number>();
    const rows: Line[] = [];
    const kept: Piece[] = [];
    let at = 0;
    const keep = (to: number): void => {
      rows.push(...lines.slice(at, to));
      kept.push(...pieces.slice(at, to));
      at = to;
    };
    for (const [from, to] of folds(pieces).filter(([from]) => !this.unfolded.has(from))) {
      keep(from);
      folded.set(rows.length, from);
      rows.push({ text: `… ${to - from} equal lines`, src: [], node: -1 });
      kept.push(pieces[from]!);
      at = to;
    }
    keep(pieces.length);
    return { lines: rows, pieces: kept, folded };
  }

  /** Show the next or previous run of changed lines, round about; from the top if `first`. */
  difference(by: number, first = false): void {
    const kinds = this.shown.pieces?.map(({ kind }) => kind !== "same") ?? [];
    const starts = kinds.flatMap((changed, k) => (changed && !kinds[k - 1] ? [k] : []));
    if (!starts.length) return announce("There is no difference.");
    const { state } = this.view;
    const here = first ? -1 : state.doc.lineAt(state.selection.main.head).number - 1;
    const next = by > 0 ? starts.findIndex((line) => line > here) : starts.findLastIndex((line) => line < here);
    const to = next >= 0 ? next : by > 0 ? 0 : starts.length - 1;
    const at = state.doc.line(starts[to]! + 1).from;
    this.view.dispatch({ selection: { anchor: at } });
    bringUp(this.view, at, 48);
    announce(`Difference ${to + 1} of ${starts.length}`);
  }

  private marginLines(): MarginLine[] {
    const { lines } = this.shown;
    const marks = this.since && this.since.added.size <= MOST_NEW * lines.length ? this.since : null;
    return lines.map((line, number) => {
      const kind = this.shown.pieces?.[number]?.kind;
      const isNew = [marks?.added.has(number) ? "since-new" : "", marks?.gone.has(number) ? "since-gone" : ""];
      const className = kind ? `diff-${kind}` : isNew.filter(Boolean).join(" ");
      const sign = kind === "added" ? "+" : kind === "removed" ? "−" : "";
      const place = line.src[0];
      const text = `${sign}${place?.[0] ?? ""}`;
      return {
        text,
        hue: place ? hueAt(place) : 0,
        ...(place && fileOf(place) ? { title: placeName(place) } : {}),
        ...(className ? { className } : {}),
      };
    });
  }

  /** Show where the user's own program begins, below what is the same for all programs. */
  private toProgram(): void {
    const first = this.shown.lines.findIndex((line) => line.src.length);
    const at = this.view.state.doc.line(Math.max(0, first) + 1).from;
    bringUp(this.view, at, 24);
  }

  private choices(): void {
    const options = (chosen: string) =>
      this.model.shownAs.map((info) => h("option", { value: info.id, selected: info.id === chosen }, info.title));
    const { pinned } = this.model;
    const signature = [pinned?.label, ...this.model.shownAs.map((info) => info.id)].join();
    if (this.select.dataset.for !== signature) {
      replace(this.select, ...options(this.stage));
      replace(
        this.against,
        h("option", { value: BEFORE }, "the stage before"),
        h("option", { value: "" }, "nothing"),
        pinned ? h("option", { value: PINNED }, "A") : null,
        ...options(this.compare),
      );
      this.select.dataset.for = signature;
    }
    this.select.value = this.stage;
    this.against.value = this.compare;
    const title = this.model.info(this.stage)?.title ?? this.stage;
    this.name.firstElementChild!.textContent = title;
    this.element.dataset.shows = this.stage;
    const number = Number(this.id.slice("stage-".length)); // two panes may show the same stage
    this.element.setAttribute(
      "aria-label",
      [title, this.compare && this.compare !== BEFORE ? "compared" : "", number > 1 ? `pane ${number}` : ""]
        .filter(Boolean)
        .join(", "),
    );
    this.view.contentDOM.setAttribute("aria-label", `${title}, text`);
  }

  private describe(): void {
    const state = this.model.stages.get(this.stage);
    const { phase, long } = this.model.status;
    const stale = state?.stale ?? false;
    const outdated = state !== undefined && !sameText(state.of, this.model.now);
    const awaited = outdated && long;
    this.view.dom.classList.toggle("outdated", outdated);
    this.element.classList.toggle("stale", awaited || (stale && (phase === "failed" || phase === "stopped")));
    let note = this.model.info(this.stage)?.explain ?? "";
    const refused = this.model.refused.get(this.stage);
    if (refused && (!state?.lines || this.model.info(this.stage)?.of !== undefined)) {
      note = `${refused.message} ${refused.hint}`.trim();
    } else if (!state) {
      const listing = this.model.info(this.stage)?.of !== undefined;
      note =
        listing && this.model.frozen
          ? "This link does not store it."
          : (UNREACHED[phase] ?? (listing ? "It is being computed." : note));
    } else if (state.lines === null) {
      note = "It is being computed.";
    } else if (awaited) {
      note = "Out of date: the current program is being compiled.";
    } else if (stale && phase === "failed") {
      note = "Out of date: the current program does not reach this stage.";
    } else if (stale && phase === "stopped") {
      note = "Out of date: the current program is not compiled yet.";
    } else if (this.compare === PINNED && this.model.pinned && !this.shown.pieces) {
      note = "A does not reach this stage, so there is nothing to compare with.";
    } else if (this.shown.pieces) {
      const count = (kind: string) => this.shown.pieces!.filter((piece) => piece.kind === kind).length;
      if (!count("added") && !count("removed"))
        note = `The same as ${this.compare === PINNED ? "in A" : this.model.info(this.compare)?.title}.`;
      else
        note =
          `${counted(count("added"), "line")} added, ${count("removed")} removed since ` +
          `${this.compare === PINNED ? "A" : this.model.info(this.compare)?.title}. ` +
          "Numbers at the end of names are not compared.";
    } else if (this.since) {
      note += ` ${inWords(this.since, this.model.info(this.model.against(this.stage, BEFORE))?.title ?? "")}`;
    }
    this.note.textContent = note;
  }

  private selectionOf(line: number): Selection | null {
    const spans = this.shown.lines[line]?.src ?? [];
    return spans.length ? { spans: [...spans], origin: this.stage, line } : null;
  }

  private choose(line: number): void {
    const folded = this.shown.folded.get(line);
    if (folded !== undefined) {
      this.unfolded.add(folded);
      this.drawn = this.drawn && { ...this.drawn, lines: [] };
      return this.update();
    }
    this.link.choose(this.selectionOf(line));
  }

  private chooseAtCursor(): boolean {
    const { state } = this.view;
    if (state.selection.main.empty) this.choose(state.doc.lineAt(state.selection.main.head).number - 1);
    return true;
  }

  private hover(event: MouseEvent): void {
    const { view } = this;
    // There the editor tells of the last line.
    const isBelow = event.clientY > view.documentTop + view.contentHeight * view.scaleY;
    const at = isBelow ? null : view.posAtCoords({ x: event.clientX, y: event.clientY });
    this.link.hover(at === null ? null : this.selectionOf(this.view.state.doc.lineAt(at).number - 1));
  }

  /** The line of the main file that the upper edge shows; 0 where that is not known. */
  get sourceAtTop(): number {
    const { line } = topOf(this.view);
    const place = this.shown.lines.slice(line).find(({ src: [span] }) => span && !fileOf(span))?.src[0];
    return place?.[0] ?? 0;
  }

  /** Bring what comes from a line of the main file, or the next one, to the upper edge. */
  toSource(line: number): void {
    const at = this.shown.lines.findIndex(({ src: [span] }) => span && !fileOf(span) && span[0] >= line);
    if (at >= 0) toTop(this.view, { line: at, hidden: 0 });
  }

  /** Show the next or previous run of lines that come from what is selected, round about. */
  occurrence(by: number): void {
    const place = this.link.chosen?.spans[0];
    const { strong, weak } = place ? linesFor(this.shown.lines, place) : { strong: [], weak: [] };
    const all = (strong.length ? strong : weak).toSorted((a, b) => a - b);
    const starts = all.filter((line, k) => all[k - 1] !== line - 1);
    const title = this.model.info(this.stage)?.title ?? this.stage;
    if (!starts.length) return announce(`${title} contains nothing of it.`);
    const { state } = this.view;
    const here = state.doc.lineAt(state.selection.main.head).number - 1;
    const next = by > 0 ? starts.findIndex((line) => line > here) : starts.findLastIndex((line) => line < here);
    const to = next >= 0 ? next : by > 0 ? 0 : starts.length - 1;
    this.view.dispatch({ selection: { anchor: state.doc.line(starts[to]! + 1).from } });
    reveal(this.view, starts[to]!);
    announce(`${title}, line ${starts[to]! + 1}: ${to + 1} of ${starts.length}`);
  }

  /** Light the lines of what is selected, and show the first; whether there are any. */
  private light(): boolean {
    const selection = this.link.shown;
    const place = selection?.spans[0];
    if (!place) {
      light(this.view, { strong: [], weak: [], places: [] });
      return false;
    }
    const { strong, weak } = linesFor(this.shown.lines, place);
    const own = selection.origin === this.stage ? [selection.line] : [];
    const faults = (selection.faults ?? []).filter(
      ({ stage, line, text }) => stage === this.stage && this.shown.lines[line - 1]?.text === text,
    );
    light(this.view, {
      strong: [...strong, ...own],
      weak,
      places: [],
      faults: faults.flatMap(({ line, at }) => at.map(([from, to]) => [line - 1, from!, to!] as const)),
    });
    const target = strong[0] ?? weak[0];
    if (selection === this.link.chosen && target !== undefined) unfoldAt(this.view, target);
    if (selection.origin !== this.stage && target !== undefined) reveal(this.view, target);
    return target !== undefined;
  }
}
