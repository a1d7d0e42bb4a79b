// The text of A, which the program is compared with, in an editor beside the source: read, or edited.
import { isolateHistory } from "@codemirror/commands";
import { Compartment, EditorState, type Extension, type Text as Document } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { Abreast } from "../abreast";
import { announce, debounce, h, replace } from "../dom";
import type { Dock } from "../dock";
import { editing } from "../editing";
import type { SourceEditor } from "../editor";
import { MAIN } from "../files";
import { sourceLanguage } from "../lang";
import { Language } from "../language";
import { PROGRAM_A, SOURCE } from "../layouts";
import { columnOf, documentOf, rangeOf } from "../lit";
import type { Model, Text } from "../model";
import type { Beside, Pins } from "../pinned";
import { showProblems } from "../problems";
import { counted } from "../rail";
import { fileOf, innermost } from "../spans";
import type { Texts } from "../texts";
import { typed, typedStage } from "../types_at";
import type { Span, TextEdit } from "../types";
import { readOnly } from "../view";

export class ProgramA {
  private readonly element: HTMLElement;
  readonly view: EditorView;
  private readonly language: Language;
  private readonly what = h("span", { class: "program-a-label" });
  private readonly file = h("select", { "aria-label": "File of A" });
  private readonly editing = h(
    "button",
    {
      "aria-pressed": "false",
      title: "Edit A: it is compiled as you type",
      onclick: () => {
        this.edits(this.pins.beside !== "edit");
        this.view.focus();
      },
    },
    "Edit A",
  );
  private readonly note = h("p", { class: "pane-note", role: "status" });
  private readonly editable = new Compartment();
  private abreast: Abreast | null = null;
  /** The file that is shown, by its path. */
  private name = MAIN;
  private applying = false;
  private readonly soon = debounce(100, () => this.compare());

  constructor(
    private readonly model: Model,
    private readonly dock: Dock,
    private readonly source: SourceEditor,
    private readonly pins: Pins,
    private readonly texts: Texts,
  ) {
    const body = h("div", { class: "pane-body" });
    this.language = new Language({
      now: () => model.pinned?.text ?? model.now,
      path: () => this.path,
      textOf: (path) => this.textOf(path),
      isFrozen: () => model.pinned?.link !== undefined,
      isCompiled: () => model.pinned !== null && !model.pinned.pending && Object.keys(model.pinned.stages).length > 0,
      problems: () => model.pinned?.problems ?? [],
      goTo: (span) => this.goTo(span),
      change: (path, edits) => this.change(path, edits),
    });
    this.view = new EditorView({ parent: body, state: this.state(documentOf("")) });
    const close = h(
      "button",
      {
        class: "icon",
        "aria-label": "Close A's text",
        title: "Close A's text",
        onclick: () => {
          this.close();
          source.focus();
        },
      },
      "×",
    );
    this.element = h(
      "section",
      { class: "pane program-a", "aria-label": "A, text" },
      h(
        "header",
        { class: "pane-head" },
        dock.grip(PROGRAM_A),
        h("strong", {}, "A"),
        this.what,
        h("span", { class: "gap" }),
        this.file,
        this.editing,
        close,
      ),
      this.note,
      body,
    );
    this.file.addEventListener("change", () => this.show(this.file.value));
    model.on("pinned", () => this.follow());
    model.on("source", () => this.soon());
    model.on("files", () => this.followFile());
  }

  get isOpen(): boolean {
    return this.abreast !== null;
  }

  /** Show A's text beside the source, where the source stands. */
  open(): void {
    if (!this.model.pinned) return announce("Nothing is pinned as A. Pin a compilation under Compare.");
    if (!this.isOpen) this.begin("read");
    this.dock.open(PROGRAM_A);
  }

  private begin(beside: Beside): void {
    this.dock.add({
      id: PROGRAM_A,
      title: "A",
      content: this.element,
      show: (visible) => visible && this.abreast?.align(this.source.view),
    });
    this.abreast = new Abreast(this.view, this.source.view, () => this.compares);
    this.edits(beside === "edit");
    this.follow();
    this.followFile();
    this.compare();
    this.abreast.align(this.source.view);
  }

  /** As A is shown where this page's program comes from. */
  as(beside: Beside): void {
    if (!beside) this.close();
    else if (!this.isOpen) this.begin(beside);
    else this.edits(beside === "edit");
  }

  close(): void {
    if (!this.isOpen) return;
    this.abreast!.destroy();
    this.abreast = null;
    this.pins.beside = "";
    this.dock.remove(PROGRAM_A);
  }

  /** To A's text from anywhere else, and from there to the line of the source that it stands for. */
  turn(): void {
    if (!this.view.hasFocus) {
      const { view } = this.source;
      const line = view.state.doc.lineAt(view.state.selection.main.head).number - 1;
      if (!this.isOpen) this.open();
      if (this.isOpen) this.place(this.view, line, view);
    } else {
      this.place(
        this.source.view,
        this.view.state.doc.lineAt(this.view.state.selection.main.head).number - 1,
        this.view,
      );
    }
  }

  /** Go to a difference of the two texts, if one of them has the focus; whether it has. */
  difference(by: number): boolean {
    const from = [this.view, this.source.view].find((view) => view.hasFocus);
    if (!this.abreast || !from) return false;
    this.compare();
    const found = this.abreast.difference(by, from);
    announce(found ? `Difference ${found[0]} of ${found[1]}` : "There is no difference.");
    return true;
  }

  private place(view: EditorView, line: number, from: EditorView): void {
    this.dock.open(view === this.view ? PROGRAM_A : SOURCE);
    const at = Math.min(view.state.doc.lines, (this.abreast?.counterpart(from, line) ?? line) + 1);
    view.dispatch({ selection: { anchor: view.state.doc.line(at).from }, scrollIntoView: true });
    view.focus();
  }

  private edits(edits: boolean): void {
    this.pins.beside = edits ? "edit" : "read";
    this.editing.setAttribute("aria-pressed", String(edits));
    this.view.dispatch({ effects: this.editable.reconfigure(this.permits) });
  }

  // --- what is shown ---

  /** Another A, or another text of it. */
  private follow(): void {
    const { pinned } = this.model;
    if (!pinned) return this.close();
    if (!this.isOpen) return this.pins.beside ? this.begin(this.pins.beside) : undefined;
    const names = namesIn(pinned.text);
    replace(this.file, ...names.map((name) => h("option", { value: name }, name)));
    this.file.hidden = names.length < 2;
    this.show(names.includes(this.name) ? this.name : names[0]!);
    this.what.textContent = this.what.title = pinned.label;
    showProblems(this.view, pinned.problems, this.path, { goTo: (span) => this.goTo(span), wayOut: () => null });
    if (!pinned.link) void this.language.fold(this.view);
  }

  private show(name: string): void {
    const { pinned } = this.model;
    if (!pinned) return;
    const [other, text] = [name !== this.name, documentOf(textIn(pinned.text, name))];
    this.name = this.file.value = name;
    if (other) {
      this.view.setState(this.state(text));
      this.follow();
    } else if (!text.eq(this.view.state.doc)) {
      this.applying = true;
      this.view.dispatch({
        changes: { from: 0, to: this.view.state.doc.length, insert: text },
        annotations: isolateHistory.of("full"),
      });
      this.applying = false;
    }
    this.compare();
  }

  /** The source shows another file: A shows its own one of that name. */
  private followFile(): void {
    const { pinned, files } = this.model;
    if (!pinned || !this.isOpen) return;
    const wanted = files.open === files.main ? mainOf(pinned.text) : files.open;
    if (wanted !== this.name && namesIn(pinned.text).includes(wanted)) this.show(wanted);
    else this.soon();
  }

  /** Files of one name, or both main ones. */
  private get compares(): boolean {
    const { pinned, files } = this.model;
    return (
      pinned !== null && (files.open === this.name || (files.open === files.main && this.name === mainOf(pinned.text)))
    );
  }

  private compare(): void {
    const { pinned } = this.model;
    const found = this.abreast?.update();
    if (!pinned || found === undefined) return;
    const text = !found
      ? `B shows ${this.model.files.open}, another file.`
      : found[0] + found[1]
        ? `${counted(found[0], "line")} only in A, ${found[1]} only in B.`
        : "The same text as B.";
    const why = pinned.pending
      ? " It is being compiled."
      : pinned.problems.some(({ kind }) => kind !== "warning")
        ? " A does not compile."
        : "";
    if (this.note.textContent !== text + why) this.note.textContent = text + why;
  }

  private goTo(span: Span): void {
    const { pinned } = this.model;
    if (!pinned) return;
    this.show(nameOf(pinned.text, fileOf(span)));
    const range = rangeOf(this.view.state.doc, span);
    if (range) this.view.dispatch({ selection: { anchor: range[0] }, scrollIntoView: true });
    this.view.focus();
  }

  // --- the editor ---

  private get permits(): Extension {
    return this.pins.beside === "edit" ? [] : readOnly;
  }

  private state(doc: Document): EditorState {
    return EditorState.create({
      doc,
      extensions: [
        lineNumbers(),
        editing("Text of A", this.language, {
          type: (at) => this.typeAt(at),
          files: () =>
            this.model.pinned
              ? namesIn(this.model.pinned.text).map((name) => [name, textIn(this.model.pinned!.text, name)])
              : [],
          name: () => this.name,
        }),
        sourceLanguage(this.name),
        this.editable.of(this.permits),
        EditorView.updateListener.of((update) => update.docChanged && !this.applying && this.edited()),
      ],
    });
  }

  /** The name of the file that is shown, as in spans. */
  private get path(): string {
    const { pinned } = this.model;
    return pinned ? pathOf(pinned.text, this.name) : "";
  }

  private textOf(path: string): string {
    const { pinned } = this.model;
    return pinned ? textIn(pinned.text, nameOf(pinned.text, path)) : "";
  }

  /** Return the typed expression of A at a place, and its type. */
  private async typeAt(at: number): Promise<[Span, string] | null> {
    const { pinned, manifest } = this.model;
    const id = typedStage(manifest);
    const state = pinned && !pinned.pending ? pinned.stages[id] : undefined;
    const line = this.view.state.doc.lineAt(at);
    const lines = state ? await this.texts.lines(id, state) : [];
    const place = innermost(
      lines.flatMap(({ src }) => src.slice(0, 1)),
      this.path,
      line.number,
      columnOf(line, at),
    );
    return place && typed(lines, place);
  }

  /** Changes in any file of A: of the one that is shown, a step that can be undone. */
  private change(path: string, edits: readonly TextEdit[]): void {
    const { pinned } = this.model;
    if (!pinned) return;
    const name = nameOf(pinned.text, path);
    const doc = name === this.name ? this.view.state.doc : documentOf(textIn(pinned.text, name));
    const changes = edits.map(({ span, text: insert }) => {
      const [from, to] = rangeOf(doc, span)!;
      return { from, to, insert };
    });
    if (name === this.name)
      this.view.dispatch({ changes, annotations: isolateHistory.of("full"), userEvent: "input.rename" });
    else this.pins.edit(written(pinned.text, name, EditorState.create({ doc }).update({ changes }).newDoc.toString()));
  }

  private edited(): void {
    const { pinned } = this.model;
    if (pinned) this.pins.edit(written(pinned.text, this.name, this.view.state.doc.toString()));
    this.soon();
  }
}

const mainOf = ({ main = MAIN }: Text): string => main;
const namesIn = (text: Text): string[] => [mainOf(text), ...Object.keys(text.files ?? {}).sort()];
const textIn = (text: Text, name: string): string => (name === mainOf(text) ? text.source : (text.files?.[name] ?? ""));

function written(text: Text, name: string, to: string): Text {
  return name === mainOf(text) ? { ...text, source: to } : { ...text, files: { ...text.files, [name]: to } };
}

/** Return the name of a file of A in spans. */
const pathOf = (text: Text, name: string): string => (name === mainOf(text) ? "" : name);
const nameOf = (text: Text, path: string): string => (path === "" ? mainOf(text) : path);
