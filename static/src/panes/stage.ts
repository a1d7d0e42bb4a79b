// A pane that shows any stage, or the difference between any two. It knows no stage by name.
import { Compartment, EditorState } from "@codemirror/state";
import { defaultKeymap } from "@codemirror/commands";
import { EditorView, keymap } from "@codemirror/view";
import { diff, type Piece } from "../diff";
import { h, replace } from "../dom";
import { languageOf } from "../lang";
import type { Link, Selection } from "../link";
import { bringUp, documentOf, light, reveal } from "../lit";
import { margin, setMarginLines, type MarginLine } from "../margin";
import { sameText, type Model, type StageState } from "../model";
import { fileOf, hueAt, linesFor, placeName } from "../spans";
import type { Line } from "../types";
import { readOnly, shared } from "../view";
import { wrapping } from "../wrap";

interface Shown {
  lines: readonly Line[];
  pieces: readonly Piece[] | null;
}

export interface StagePaneEvents {
  changed(): void;
  closed(pane: StagePane): void;
  focused(pane: StagePane): void;
}

export class StagePane {
  readonly element: HTMLElement;
  readonly view: EditorView;
  private shown: Shown = { lines: [], pieces: null };
  private drawn: { stage: string; state: StageState | undefined; against: StageState | undefined } | null = null;
  private language = new Compartment();
  private readonly select = h("select", { "aria-label": "Stage", class: "stage-select" });
  private readonly against = h("select", { "aria-label": "Compare with", class: "against-select" });
  private readonly note = h("p", { class: "pane-note" });
  private readonly stops: (() => void)[] = [];

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly events: StagePaneEvents,
    public stage: string,
    public compare = "",
  ) {
    const body = h("div", { class: "pane-body" });
    const close = h("button", { class: "icon", "aria-label": "Close this pane", title: "Close this pane", onclick: () => events.closed(this) }, "×");
    this.element = h("section", { class: "pane stage-pane", onfocusin: () => events.focused(this), onmousedown: () => events.focused(this) },
      h("header", { class: "pane-head" }, this.select,
        h("label", { class: "against" }, h("span", {}, "vs"), this.against), h("span", { class: "gap" }), close),
      this.note, body);
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

  open(stage: string, compare = this.compare): void {
    const other = stage !== this.stage;
    this.stage = stage;
    this.compare = compare === stage ? "" : compare;
    this.update();
    if (other && !this.light()) this.toProgram();
    this.events.changed();
  }

  /** Move by one stage along the pipeline. */
  step(by: number): void {
    const present = this.model.present();
    const at = present.findIndex((info) => info.id === this.stage);
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
      this.model.on("status", () => this.describe()),
      this.model.on("source", () => this.describe()),
      this.link.on(() => this.light()),
    );
    this.view.contentDOM.addEventListener("mousemove", (event) => {
      if (!event.buttons) this.hover(event);
    });
    this.view.contentDOM.addEventListener("mouseleave", () => this.link.hover(null));
  }

  private update(): void {
    this.choices();
    const state = this.model.stages.get(this.stage);
    const against = this.compare ? this.model.stages.get(this.compare) : undefined;
    const { drawn, stage } = this;
    if (!drawn || stage !== drawn.stage || state !== drawn.state || against !== drawn.against) {
      const top = drawn?.stage === stage ? this.top() : null;
      this.draw(state?.lines ?? [], against?.lines);
      this.drawn = { stage, state, against };
      if (top) this.scrollTo(top);
    }
    this.describe();
  }

  private draw(lines: readonly Line[], before: readonly Line[] | undefined): void {
    const pieces = before ? diff(before.map((line) => line.text), lines.map((line) => line.text)) : null;
    const shown = pieces ? pieces.map((piece) => (piece.new >= 0 ? lines[piece.new] : before?.[piece.old])!) : lines;
    this.shown = { lines: shown, pieces };
    const { view } = this;
    const text = shown.map((line) => line.text).join("\n");
    const kind = this.model.info(this.stage)?.kind ?? "ir";
    const changed = text !== view.state.doc.toString();
    view.dispatch({
      ...(changed ? { changes: { from: 0, to: view.state.doc.length, insert: documentOf(text) } } : {}),
      effects: [this.language.reconfigure(languageOf(kind)), setMarginLines(this.marginLines())],
    });
    this.light();
  }

  /** The line at the upper edge, from 0, and how much of it is hidden. */
  private top(): { line: number; hidden: number } {
    const { scrollDOM, state } = this.view;
    const block = this.view.lineBlockAtHeight(scrollDOM.scrollTop);
    return { line: state.doc.lineAt(block.from).number - 1, hidden: scrollDOM.scrollTop - block.top };
  }

  /** Bring a line to the upper edge, as far as the text goes: the next text may be a shorter one. */
  private scrollTo({ line, hidden }: { line: number; hidden: number }): void {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(doc.lines, line + 1)).from;
    bringUp(this.view, at, -hidden);
  }

  private marginLines(): MarginLine[] {
    return this.shown.lines.map((line, number) => {
      const kind = this.shown.pieces?.[number]?.kind;
      const sign = kind === "added" ? "+" : kind === "removed" ? "−" : "";
      const place = line.src[0];
      const text = `${sign}${place?.[0] ?? ""}`;
      return {
        text, hue: place ? hueAt(place) : 0, ...(place && fileOf(place) ? { title: placeName(place) } : {}),
        ...(kind ? { className: `diff-${kind}` } : {}),
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
    const options = (chosen: string) => this.model.manifest.map((info) =>
      h("option", { value: info.id, selected: info.id === chosen }, info.title));
    const signature = this.model.manifest.map((info) => info.id).join();
    if (this.select.dataset["for"] !== signature) {
      replace(this.select, ...options(this.stage));
      replace(this.against, h("option", { value: "" }, "nothing"), ...options(this.compare));
      this.select.dataset["for"] = signature;
    }
    this.select.value = this.stage;
    this.against.value = this.compare;
    const title = this.model.info(this.stage)?.title ?? this.stage;
    this.element.dataset["shows"] = this.stage;
    this.element.setAttribute("aria-label", this.compare ? `${title}, compared` : title);
    this.view.contentDOM.setAttribute("aria-label", `${title}, text`);
  }

  private describe(): void {
    const state = this.model.stages.get(this.stage);
    const { phase } = this.model.status;
    const stale = state?.stale ?? false;
    this.view.dom.classList.toggle("outdated", state !== undefined && !sameText(state.of, this.model.now));
    this.element.classList.toggle("stale", stale && (phase === "failed" || phase === "stopped"));
    let note = this.model.info(this.stage)?.explain ?? "";
    if (!state) {
      note = phase === "failed" ? "This stage was not reached: see the error in the source." : note;
    } else if (stale && phase === "failed") {
      note = "Out of date: the program as it is now does not get here.";
    } else if (stale && phase === "stopped") {
      note = "Out of date: the program as it is now is not compiled yet.";
    } else if (this.shown.pieces) {
      const count = (kind: string) => this.shown.pieces!.filter((piece) => piece.kind === kind).length;
      note = `${count("added")} lines added, ${count("removed")} removed since ${this.model.info(this.compare)?.title}. Numbers at the end of names are not compared.`;
    }
    this.note.textContent = note;
  }

  private selectionOf(line: number): Selection | null {
    const spans = this.shown.lines[line]?.src ?? [];
    return spans.length ? { spans: [...spans], origin: this.stage, line } : null;
  }

  private choose(line: number): void {
    this.link.choose(this.selectionOf(line));
  }

  private chooseAtCursor(): boolean {
    const { state } = this.view;
    if (state.selection.main.empty) this.choose(state.doc.lineAt(state.selection.main.head).number - 1);
    return true;
  }

  private hover(event: MouseEvent): void {
    const at = this.view.posAtCoords({ x: event.clientX, y: event.clientY });
    this.link.hover(at === null ? null : this.selectionOf(this.view.state.doc.lineAt(at).number - 1));
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
    light(this.view, { strong: [...strong, ...own], weak, places: [] });
    const target = strong[0] ?? weak[0];
    if (selection.origin !== this.stage && target !== undefined) reveal(this.view, target);
    return target !== undefined;
  }
}
