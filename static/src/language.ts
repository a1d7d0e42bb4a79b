// What the editor asks the compiler about a place of the text: types, what may be written, where a name is
// declared and used, another name, the layout, the declarations of a file, what folds.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { isolateHistory } from "@codemirror/commands";
import { codeFolding, foldGutter, foldKeymap, foldService } from "@codemirror/language";
import { Prec, StateEffect, StateField, type ChangeSpec, type EditorState, type Extension } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, showPanel, type Panel } from "@codemirror/view";
import { ask, post } from "./client";
import { h, quoted } from "./dom";
import { columnOf, rangeOf } from "./lit";
import type { Text } from "./model";
import { fileOf, keyOf, placeName } from "./spans";
import type { Failure, InspectAnswer, Problem, Span, TextEdit } from "./types";

export interface Place {
  file: string;
  line: number;
  column: number;
}

/** The program that an editor shows a file of. */
export interface Program {
  now(): Text;
  /** The name of the file that is shown, as in spans. */
  path(): string;
  /** Return the text of a file, by its name in spans. */
  textOf(path: string): string;
  /** True if it is a frozen link, about which nothing is asked without a request. */
  isFrozen(): boolean;
  /** True if it is compiled as it is now. */
  isCompiled(): boolean;
  problems(): readonly Problem[];
  goTo(span: Span): void;
  /** Change a file, as one step that can be undone. */
  change(path: string, edits: readonly TextEdit[]): void;
}

const MOST_USES = 200;
const TYPES: Record<string, string> = {
  "type parameter": "type",
  size: "variable",
  module: "namespace",
  "module type": "interface",
  field: "property",
  constructor: "enum",
};
const setPanel = StateEffect.define<HTMLElement | null>();

const panelField = StateField.define<HTMLElement | null>({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setPanel)) return effect.value;
    return value;
  },
  provide: (self) => showPanel.from(self, (dom) => dom && ((): Panel => ({ dom, mount: () => first(dom)?.focus() }))),
});

const first = (dom: HTMLElement): HTMLElement | null => dom.querySelector("input, [role='listbox'] button");

const setFolds = StateEffect.define<ReadonlyMap<number, number>>();
const foldsField = StateField.define<ReadonlyMap<number, number>>({
  create: () => new Map(),
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setFolds)) return effect.value;
    return transaction.docChanged && transaction.startState.doc.lines !== transaction.state.doc.lines
      ? new Map()
      : value;
  },
});

export class Language {
  /** The names of the commands, with their keys. */
  readonly commands: readonly [string, string, (view: EditorView) => void][] = [
    ["Format", "Shift-Alt-f", (view) => void this.format(view)],
    ["Outline", "Ctrl-Shift-o", (view) => void this.outline(view)],
    ["Rename", "F2", (view) => void this.rename(view)],
    ["Definition", "F12", (view) => void this.definition(view)],
    ["Uses", "Shift-F12", (view) => void this.uses(view)],
    ["Fixes", "Ctrl-.", (view) => void this.fixes(view)],
  ];

  constructor(private readonly program: Program) {}

  get extensions(): Extension {
    return [
      panelField,
      foldsField,
      codeFolding(),
      foldGutter({ markerDOM: (open) => h("span", { class: "fold", "aria-hidden": "true" }, open ? "⌄" : "›") }),
      foldService.of((state, from) => {
        const line = state.doc.lineAt(from);
        const end = state.field(foldsField).get(line.number);
        return end && end <= state.doc.lines ? { from: line.to, to: state.doc.line(end).to } : null;
      }),
      keymap.of([
        ...foldKeymap,
        ...this.commands.map(([, key, run]) => ({
          key,
          preventDefault: true,
          run: (view: EditorView) => {
            run(view);
            return true;
          },
        })),
      ]),
      Prec.highest(EditorView.domEventHandlers({ keydown: ({ key }, view) => key === "Escape" && this.close(view) })),
    ];
  }

  private place(state: EditorState, at: number): Place {
    const line = state.doc.lineAt(at);
    return { file: this.program.path(), line: line.number, column: columnOf(line, at) };
  }

  private async inspect(view: EditorView, at: number): Promise<InspectAnswer | Failure> {
    return post("inspect", { ...this.program.now(), ...this.place(view.state, at) });
  }

  /** The type and the documentation of what is under the mouse; `otherwise` where that is not known. */
  types(otherwise: (at: number) => Promise<[Span, string] | null>): Extension {
    return hoverTooltip(
      async (view, at) => {
        const doc = view.state.doc;
        const answer = this.program.isFrozen() ? null : await this.inspect(view, at);
        if (view.state.doc !== doc) return null;
        const known = answer?.ok && answer.says && answer.span;
        const found = known ? ([answer.span!, answer.says] as const) : await otherwise(at);
        if (view.state.doc !== doc) return null;
        const range = found && rangeOf(view.state.doc, found[0]);
        if (!found || !range) return null;
        const told = known && answer.doc ? h("p", {}, ...quoted(answer.doc)) : null;
        return {
          pos: range[0],
          end: range[1],
          above: true,
          create: () => ({ dom: h("div", { class: "type-tip" }, h("pre", {}, found[1]), told) }),
        };
      },
      { hoverTime: 300 },
    );
  }

  /** Return completions at the cursor; null without an answer. */
  async complete(context: CompletionContext): Promise<CompletionResult | null> {
    const stop = new AbortController();
    context.addEventListener("abort", () => stop.abort());
    const answer = await post(
      "complete",
      { ...this.program.now(), ...this.place(context.state, context.pos) },
      stop.signal,
    );
    if (!answer.ok || context.aborted) return null;
    const line = context.state.doc.lineAt(context.pos);
    const from = rangeOf(context.state.doc, [line.number, answer.column, line.number, answer.column])![0];
    const options = answer.items.map(
      ({ name, kind, says, doc }): Completion => ({
        label: name,
        type: TYPES[kind] ?? kind,
        boost: kind === "keyword" ? -1 : says.startsWith("def ") ? 0 : 1,
        detail: says.length < 60 ? shortened(says, name) : "",
        ...(doc || says.length >= 60 ? { info: [says, doc].filter(Boolean).join("\n\n") } : {}),
      }),
    );
    return { from, options, validFor: /^[\w']*$/ };
  }

  private async definition(view: EditorView): Promise<void> {
    const answer = await this.inspect(view, view.state.selection.main.head);
    if (answer.ok && answer.declared) this.program.goTo(answer.declared);
    else this.say(view, answer.ok ? "The cursor is not on a name that the program declares." : answer.error.message);
  }

  private async uses(view: EditorView): Promise<void> {
    const answer = await this.inspect(view, view.state.selection.main.head);
    if (!answer.ok) return this.say(view, answer.error.message);
    const { uses, declared } = answer;
    if (!uses.length) return this.say(view, "The cursor is not on a name.");
    this.list(
      view,
      `${uses.length} use${uses.length > 1 ? "s" : ""}`,
      uses
        .slice(0, MOST_USES)
        .map((span) => [
          span,
          `${placeName(span)}${declared && keyOf(span) === keyOf(declared) ? ", declared here" : ""}`,
          this.lineOf(span),
          0,
        ]),
    );
  }

  private lineOf(span: Span): string {
    return (this.program.textOf(fileOf(span)).split("\n")[span[0] - 1] ?? "").trim();
  }

  private async outline(view: EditorView): Promise<void> {
    const answer = await ask("outline", { file: this.program.path() }, this.program.now());
    if (!answer.ok) return this.say(view, answer.error.message);
    if (!answer.symbols.length) return this.say(view, "Nothing is declared here.");
    this.list(
      view,
      "Outline",
      answer.symbols.map(({ name, kind, span, depth }) => [span, name, kind, depth]),
    );
  }

  /** Ask what folds, along with what else is asked about a text that was compiled. */
  async fold(view: EditorView): Promise<void> {
    const doc = view.state.doc;
    if (!this.program.isCompiled()) return;
    const answer = await ask("outline", { file: this.program.path() }, this.program.now());
    if (!answer.ok || view.state.doc !== doc) return;
    view.dispatch({ effects: setFolds.of(new Map(answer.folds.map(([start, end]) => [start!, end!]))) });
  }

  /** True if the text is read-only; then says so. */
  private refuses(view: EditorView): boolean {
    if (view.state.readOnly) this.say(view, "This text is read-only until you edit it.");
    return view.state.readOnly;
  }

  private async rename(view: EditorView): Promise<void> {
    if (this.refuses(view)) return;
    const { state } = view;
    const place = this.place(state, state.selection.main.head);
    const answer = await this.inspect(view, state.selection.main.head);
    const range = answer.ok && answer.declared && answer.span ? rangeOf(state.doc, answer.span) : null;
    if (!range)
      return this.say(
        view,
        answer.ok ? "The cursor is not on a name that the program declares." : answer.error.message,
      );
    const field = h("input", {
      type: "text",
      value: state.sliceDoc(...range),
      "aria-label": "New name",
      spellcheck: false,
    });
    const told = h("span", { role: "status" });
    const form = h("form", { class: "ask-row" }, h("label", {}, "New name ", field), h("button", {}, "Rename"), told);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const done = await post("rename", { ...this.program.now(), ...place, name: field.value.trim() });
      if (view.state.doc !== state.doc) return this.say(view, "The text has changed meanwhile.");
      if (!done.ok) return told.replaceChildren(...quoted(`${done.error.message} ${done.error.hint}`));
      this.close(view);
      this.edit(done.edits);
    });
    this.show(view, form, "Rename");
    field.select();
  }

  /** Changes that mend what is wrong in the line of the cursor. */
  private async fixes(view: EditorView): Promise<void> {
    if (this.refuses(view)) return;
    const { doc } = view.state;
    const { file, line } = this.place(view.state, view.state.selection.main.head);
    const wrong = this.program
      .problems()
      .flatMap((one) => [one, ...(one.errors ?? [])])
      .filter(({ span, hint }) => hint && span && fileOf(span) === file && span[0] <= line && line <= span[2]);
    if (!wrong.length) return this.say(view, "This line has no hint.");
    const answers = await Promise.all(
      wrong.map(({ span, hint }) =>
        post("fixes", {
          ...this.program.now(),
          file,
          line: span![0],
          column: span![1],
          end_line: span![2],
          end_column: span![3],
          hint,
        }),
      ),
    );
    if (view.state.doc !== doc) return;
    const found = answers.flatMap((answer) => (answer.ok ? answer.fixes : []));
    if (!found.length) return this.say(view, "No single change is known to fix this line.");
    this.buttons(
      view,
      "Fixes",
      found.map(({ title, edits }) => [title, "", 0, () => this.edit(edits)]),
    );
  }

  private edit(edits: readonly TextEdit[]): void {
    const files = new Map<string, TextEdit[]>();
    for (const edit of edits) files.set(fileOf(edit.span), [...(files.get(fileOf(edit.span)) ?? []), edit]);
    for (const [file, its] of files) this.program.change(file, its);
  }

  private async format(view: EditorView): Promise<void> {
    if (this.refuses(view)) return;
    const doc = view.state.doc;
    const answer = await post("format", { source: doc.toString(), main: this.place(view.state, 0).file });
    if (view.state.doc !== doc) return;
    if (!answer.ok) return this.say(view, `${answer.error.message} A text with syntax errors is not formatted.`);
    const before = doc.toString();
    if (answer.text === before) return this.say(view, "It is already formatted.");
    const cursor = sameLetter(before, answer.text, view.state.selection.main.head);
    const changes: ChangeSpec = { from: 0, to: doc.length, insert: answer.text };
    view.dispatch({
      changes,
      selection: { anchor: cursor },
      scrollIntoView: true,
      annotations: isolateHistory.of("full"),
      userEvent: "input.format",
    });
  }

  // --- the panel below the text ------------------------------------------------------------------

  private say(view: EditorView, text: string): void {
    this.show(view, h("p", { role: "status" }, ...quoted(text)), "Answer");
  }

  private list(view: EditorView, title: string, rows: readonly [Span, string, string, number][]): void {
    this.buttons(
      view,
      title,
      rows.map(([span, name, more, depth]) => [name, more, depth, () => this.program.goTo(span)]),
    );
  }

  private buttons(view: EditorView, title: string, rows: readonly [string, string, number, () => void][]): void {
    const buttons = rows.map(([name, more, depth, run]) =>
      h(
        "button",
        {
          class: "ask-item",
          "data-depth": String(Math.min(depth, 3)),
          onclick: () => {
            this.close(view);
            run();
          },
        },
        h("span", {}, ...quoted(name)),
        " ",
        h("span", { class: "quiet" }, more),
      ),
    );
    const box = h("div", { class: "ask-list", role: "group", "aria-label": title }, ...buttons);
    box.addEventListener("keydown", (event) => {
      const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
      if (to === undefined) return;
      buttons[(to + buttons.length) % buttons.length]!.focus();
      event.preventDefault();
    });
    this.show(view, box, title);
    buttons[0]?.focus();
  }

  private show(view: EditorView, content: HTMLElement, title: string): void {
    const dom = h(
      "div",
      { class: "ask", role: "region", "aria-label": title },
      content,
      h("button", { class: "ask-close", "aria-label": "Close", onclick: () => this.close(view) }, "×"),
    );
    dom.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.close(view);
      event.stopPropagation();
    });
    view.dispatch({ effects: setPanel.of(dom) });
  }

  private close(view: EditorView): boolean {
    if (!view.state.field(panelField)) return false;
    view.dispatch({ effects: setPanel.of(null) });
    view.focus();
    return true;
  }
}

/** A type without the name that it is the type of. */
const shortened = (says: string, name: string): string =>
  says.replace(/^(?:def|entry) /, "").replace(new RegExp(`^${name.replace(/\W/g, "\\$&")}:? ?`), "");

/** The place behind as many letters and signs as before one in another layout of the same text. */
function sameLetter(before: string, after: string, at: number): number {
  let left = before.slice(0, at).replace(/\s/g, "").length;
  let to = 0;
  while (left > 0 && to < after.length) if (/\S/.test(after[to++]!)) left -= 1;
  return to;
}
