// The source editor.
import { isolateHistory } from "@codemirror/commands";
import { Compartment, EditorState, type StateEffect, type Text, type Transaction } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, lineNumbers, placeholder } from "@codemirror/view";
import { accessMarks, markAccesses } from "./access_marks";
import { costMarks, markCosts } from "./cost_marks";
import { lineCosts } from "./costs";
import { debounce, h } from "./dom";
import { editing } from "./editing";
import { imported, importsIn, type Saved } from "./files";
import { filesChanged, importLinks } from "./imports";
import { sourceLanguage } from "./lang";
import { columnOf, documentOf, light, rangeOf, reveal } from "./lit";
import type { Link, Selection } from "./link";
import { margin, setMarginLines, type MarginLine } from "./margin";
import type { Model } from "./model";
import type { Typed } from "./plain";
import { showProblems } from "./problems";
import { fileOf, hueAt } from "./spans";
import { Language } from "./language";
import { showTraced, tracedValues } from "./traced";
import type { Texts } from "./texts";
import { typed, typedStage } from "./types_at";
import type { Access, Problem, SourceCost, Span, TextEdit } from "./types";

export interface EditorEvents {
  /** The text of the open file has changed. */
  edited(): void;
  /** A link in the text leads to another file. */
  leave(go: () => void): void;
  /** Make a file that is imported and not there. */
  create(name: string): void;
}

/** The language of the file that is shown, which may get another name. */
const spoken = new Compartment();

interface Left {
  state: EditorState;
  scroll: StateEffect<unknown>;
}

export class SourceEditor {
  readonly view: EditorView;
  readonly language: Language;
  private applying = false;
  /** The file that the view shows, and how the others were left: each has its own history. */
  private shown: string;
  private readonly left = new Map<string, Left>();
  private accesses: readonly Access[] = [];
  private costs: readonly SourceCost[] = [];

  constructor(
    parent: HTMLElement,
    private readonly model: Model,
    private readonly link: Link,
    private readonly texts: Texts,
    private readonly events: EditorEvents,
  ) {
    this.shown = model.files.open;
    this.language = new Language({
      now: () => model.now,
      path: () => this.path,
      textOf: (path) => model.files.text(model.files.nameOf(path)),
      isFrozen: () => model.frozen !== null,
      isCompiled: () =>
        !model.trouble && [...model.stages.values()].some(({ of, stale }) => !stale && of.source === model.source),
      problems: () => [...model.problems, ...model.warnings],
      goTo: (span) => this.events.leave(() => this.goTo(span)),
      change: (path, edits) => this.change(path, edits),
    });
    this.view = new EditorView({ parent, state: this.state(documentOf(model.source)) });
    this.view.contentDOM.addEventListener("mousemove", (event) => this.hover(event));
    this.view.contentDOM.addEventListener("mouseleave", () => link.hover(null));
    model.on("problems", () => this.problems());
    model.on(
      "stages",
      debounce(40, () => this.colour()),
    );
    model.on("stages", () => this.fold());
    model.on("files", () => this.view.dispatch({ effects: filesChanged.of(null) }));
    link.on((selection, chosen) => this.follow(selection, chosen));
  }

  /** Show a program: its text as one step that can be undone, where each is one file, or as what there is at first. */
  load(program: Saved, undone: boolean): void {
    const { files } = this.model;
    const alone = files.names().length === 1 && !Object.keys(program.files ?? {}).length;
    files.load(program);
    if (alone && undone) {
      this.shown = files.open;
      this.replaceText(files.source);
      this.speak();
    } else {
      this.left.clear();
      this.turnTo(files.open);
    }
    this.model.emit("program");
    this.model.emit("files");
  }

  /** Show a file as it was left. */
  open(name: string): void {
    const { files } = this.model;
    if (name === this.shown || !files.has(name)) return;
    this.left.set(this.shown, { state: this.view.state, scroll: this.view.scrollSnapshot() });
    files.open = name;
    this.turnTo(name);
    this.model.emit("files");
  }

  /** After files were renamed, removed or replaced: show the one that is open, as it was left if it is the same. */
  update(): void {
    const { files } = this.model;
    if (files.open === this.shown) return this.replaceText(files.text(this.shown));
    this.left.set(this.shown, { state: this.view.state, scroll: this.view.scrollSnapshot() });
    this.turnTo(files.open);
  }

  renamed(name: string, to: string): void {
    const left = this.left.get(name);
    this.left.delete(name);
    if (left) this.left.set(to, left);
    if (this.shown === name) this.shown = to;
    this.refresh();
  }

  private turnTo(name: string): void {
    const text = documentOf(this.model.files.text(name));
    const left = this.left.get(name);
    const same = left?.state.doc.eq(text);
    this.shown = name;
    this.view.setState(same ? left!.state : this.state(text));
    if (same) this.view.dispatch({ effects: left!.scroll });
    this.refresh();
  }

  private replaceText(text: string): void {
    const { doc } = this.view.state;
    const whole = documentOf(text);
    if (whole.eq(doc)) return;
    this.applying = true;
    this.view.dispatch({
      changes: differing(doc, whole),
      annotations: isolateHistory.of("full"),
    });
    this.applying = false;
  }

  private change(path: string, edits: readonly TextEdit[]): void {
    this.rewrite(this.model.files.nameOf(path), (doc) =>
      edits.map(({ span, text: insert }) => {
        const [from, to] = rangeOf(doc, span)!;
        return { from, to, insert };
      }),
    );
  }

  /** Changes in any file, of which each keeps its own history. */
  rewrite(name: string, edits: (doc: Text) => { from: number; to: number; insert: string }[]): void {
    const { files } = this.model;
    const left = name === this.shown ? undefined : this.left.get(name);
    const state = name === this.shown ? this.view.state : (left?.state ?? this.state(documentOf(files.text(name))));
    const changes = edits(state.doc);
    const made = { changes, annotations: isolateHistory.of("full"), userEvent: "input.rename" };
    if (name === this.shown) return this.view.dispatch(made);
    const after = state.update(made).state;
    this.left.set(name, { state: after, scroll: left?.scroll ?? EditorView.scrollIntoView(0) });
    files.write(name, after.doc.toString());
    this.model.emit("files");
    this.events.edited();
  }

  /** Put a text at the end of the main file. */
  append(text: string): void {
    const { files } = this.model;
    this.open(files.main);
    const { doc } = this.view.state;
    const before = doc.length && doc.line(doc.lines).length ? "\n" : "";
    this.view.dispatch({
      changes: { from: doc.length, insert: before + text },
      annotations: isolateHistory.of("full"),
      userEvent: "input",
      scrollIntoView: true,
    });
  }

  /** Ask for the folds when nothing has changed for a moment. */
  private readonly fold = debounce(300, () => this.model.frozen || void this.language.fold(this.view));

  /** Configure the language for the file that is shown. */
  private speak(): void {
    this.view.dispatch({ effects: spoken.reconfigure(sourceLanguage(this.shown)) });
  }

  private refresh(): void {
    this.speak();
    this.fold();
    this.problems();
    this.light();
    this.colour();
    this.mark(this.accesses);
    this.markCosts(this.costs);
  }

  focus(): void {
    this.view.focus();
  }

  /** Go on with what was typed before there was an editor. */
  goOn({ text, from, to, focused }: Typed): void {
    const whole = documentOf(text);
    const { doc } = this.view.state;
    if (focused) this.focus();
    this.view.dispatch({
      ...(whole.eq(doc) ? {} : { changes: differing(doc, whole), userEvent: "input" }),
      selection: { anchor: Math.min(from, whole.length), head: Math.min(to, whole.length) },
    });
  }

  /** Mark what became of the checks of these. */
  mark(accesses: readonly Access[]): void {
    this.accesses = accesses;
    markAccesses(
      this.view,
      accesses.filter(({ at }) => fileOf(at) === this.path),
    );
  }

  /** Show beside the lines what they cost. */
  markCosts(costs: readonly SourceCost[]): void {
    this.costs = costs;
    markCosts(this.view, lineCosts(costs, this.path), ({ cost }) =>
      this.link.choose({ spans: cost.src.slice(0, 1), origin: "answer", line: -1 }),
    );
  }

  /** Insert a text in front of a place of the main file. */
  insert(line: number, column: number, text: string): void {
    this.open(this.model.files.main);
    const at = rangeOf(this.view.state.doc, [line, column, line, column]);
    if (!at) return;
    this.view.dispatch({ changes: { from: at[0], insert: text }, annotations: isolateHistory.of("full") });
  }

  goTo(span: Span): void {
    if (fileOf(span).startsWith("<")) return; // a stage's text, or an expression, which is no file
    this.open(this.model.files.nameOf(fileOf(span)));
    const range = fileOf(span) === this.path ? rangeOf(this.view.state.doc, span) : null;
    if (!range) return;
    this.view.dispatch({ selection: { anchor: range[0] }, scrollIntoView: true });
    this.view.focus();
  }

  /** The name of the file that is shown, as in spans. */
  private get path(): string {
    return this.model.files.pathOf(this.shown);
  }

  private problems(): void {
    const { problems, warnings, runProblems } = this.model;
    showProblems(this.view, [...problems, ...warnings, ...runProblems], this.path, {
      goTo: (span) => this.events.leave(() => this.goTo(span)),
      wayOut: (problem) => this.wayOut(problem),
    });
    showTraced(
      this.view,
      this.model.traced.filter(({ src }) => src[0] && fileOf(src[0]) === this.path),
    );
  }

  /** An error about an import of a file that is not there: it can be made. */
  private wayOut({ span }: Problem): HTMLElement | null {
    const { files } = this.model;
    const range = span && rangeOf(this.view.state.doc, span);
    if (!range) return null;
    const near = importsIn(this.view.state.doc.toString()).filter(({ from, to }) => from <= range[1] && range[0] <= to);
    const name = near.map(({ path }) => imported(this.shown, path)).find((one) => one && !files.refusal(one));
    return name
      ? h("p", {}, h("button", { onclick: () => this.events.create(name) }, "Create ", h("bdi", {}, name)))
      : null;
  }

  private state(text: Text): EditorState {
    const { model } = this;
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        margin("margin-source"),
        editing("Source", this.language, {
          type: (at) => this.typeAt(at),
          files: () => model.files.names().map((name) => [name, model.files.text(name)]),
          name: () => this.shown,
        }),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        placeholder(whatToDo()),
        spoken.of(sourceLanguage(this.shown)),
        accessMarks,
        costMarks,
        tracedValues,
        importLinks({ leads: (path) => this.leadsTo(path) !== null, go: (path) => this.goInto(path) }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.edited();
          else if (update.selectionSet && isUsers(update.transactions)) this.chooseAtCursor();
        }),
      ],
    });
  }

  /** Return the innermost typed expression at a place, and its type. */
  private async typeAt(at: number): Promise<[Span, string] | null> {
    const line = this.view.state.doc.lineAt(at);
    const place = this.link.at(this.path, line.number, columnOf(line, at))?.spans[0];
    const id = typedStage(this.model.manifest);
    const state = this.model.stages.get(id);
    return place && state && !state.stale ? typed(await this.texts.lines(id, state), place) : null;
  }

  private edited(): void {
    this.model.files.write(this.shown, this.view.state.doc.toString());
    if (this.applying) return;
    this.link.choose(null);
    this.events.edited();
  }

  private leadsTo(path: string): string | null {
    const name = imported(this.shown, path);
    return name !== null && this.model.files.has(name) ? name : null;
  }

  private goInto(path: string): void {
    const name = this.leadsTo(path);
    if (!name) return;
    this.events.leave(() => this.open(name));
    this.view.focus();
  }

  private chooseAtCursor(): void {
    const { doc, selection } = this.view.state;
    if (!selection.main.empty) return;
    const line = doc.lineAt(selection.main.head);
    this.link.choose(this.link.at(this.path, line.number, columnOf(line, selection.main.head)));
  }

  private hover(event: MouseEvent): void {
    if (event.buttons) return;
    const at = this.view.posAtCoords({ x: event.clientX, y: event.clientY });
    if (at === null) return this.link.hover(null);
    const line = this.view.state.doc.lineAt(at);
    this.link.hover(this.link.at(this.path, line.number, columnOf(line, at)));
  }

  /** Show a selection made elsewhere in its file. */
  private follow(selection: Selection | null, chosen: boolean): void {
    const place = selection?.spans[0];
    if (chosen && place && selection.origin !== "source") this.open(this.model.files.nameOf(fileOf(place)));
    this.light();
  }

  private light(): void {
    const selection = this.link.shown;
    const spans = (selection?.spans ?? []).filter((span) => fileOf(span) === this.path);
    light(this.view, { strong: [], weak: [], places: spans.slice(0, 12), fault: (selection?.faults?.length ?? 0) > 0 });
    if (selection && selection.origin !== "source" && spans[0]) reveal(this.view, spans[0][0] - 1);
  }

  /** A bar beside every line that some stage's text comes from. */
  private colour(): void {
    const lines: MarginLine[] = [];
    for (const span of this.link.places())
      if (fileOf(span) === this.path) lines[span[0] - 1] = { text: "", hue: hueAt(span) };
    const all = Array.from({ length: this.view.state.doc.lines }, (_, i) => lines[i] ?? { text: "", hue: 0 });
    this.view.dispatch({ effects: setMarginLines(all) });
  }
}

/** One change that makes a text another one, of what differs: where one is scrolled to, the rest stays. */
function differing(doc: Text, whole: Text): { from: number; to: number; insert: Text } {
  const [before, after] = [doc.toString(), whole.toString()];
  const least = Math.min(before.length, after.length);
  let from = 0;
  while (from < least && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < least - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same += 1;
  return { from, to: before.length - same, insert: whole.slice(from, after.length - same) };
}

/** Return the placeholder of an empty editor. */
function whatToDo(): HTMLElement {
  return h(
    "span",
    { class: "what-to-do" },
    "Write a program here, or choose an example above. For example:",
    h("code", {}, "entry main (x: i64) = x + 1"),
  );
}

/** True if a change of the cursor came from the keyboard or the mouse. */
function isUsers(transactions: readonly Transaction[]): boolean {
  return transactions.some((transaction) => transaction.isUserEvent("select"));
}
