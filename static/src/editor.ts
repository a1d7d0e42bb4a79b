// The source editor.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, isolateHistory } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { EditorState, Transaction } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { accessMarks, markAccesses } from "./access_marks";
import { debounce, h } from "./dom";
import { futhark } from "./lang";
import { columnOf, documentOf, light, rangeOf, reveal } from "./lit";
import type { Link } from "./link";
import { margin, setMarginLines, type MarginLine } from "./margin";
import type { Model } from "./model";
import { problemMarks, showProblems } from "./problems";
import { typesAt } from "./types_at";
import { shared } from "./view";
import { wrapping } from "./wrap";
import { FUNCTIONS, KEYWORDS, PRIMS } from "./words";
import type { Access, Span } from "./types";

export class SourceEditor {
  readonly view: EditorView;
  private applying = false;

  constructor(
    parent: HTMLElement,
    private readonly model: Model,
    private readonly link: Link,
    private readonly onEdit: () => void,
  ) {
    this.view = new EditorView({ parent, state: this.state(model.source) });
    this.view.contentDOM.addEventListener("mousemove", (event) => this.hover(event));
    this.view.contentDOM.addEventListener("mouseleave", () => link.hover(null));
    model.on("problems", () => showProblems(this.view, [...model.problems, ...model.warnings, ...model.runProblems]));
    model.on("stages", debounce(40, () => this.colour()));
    link.on(() => this.light());
  }

  get source(): string {
    return this.view.state.doc.toString();
  }

  /** Replace the text: as one step that can be undone, or as what there is at first. */
  set(source: string, undone: boolean): void {
    if (source === this.source) return;
    this.applying = true;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: documentOf(source) },
      annotations: [Transaction.addToHistory.of(undone), isolateHistory.of("full")],
    });
    this.applying = false;
  }

  focus(): void {
    this.view.focus();
  }

  /** Mark what became of the checks of these. */
  mark(accesses: readonly Access[]): void {
    markAccesses(this.view, accesses);
  }

  goTo(span: Span): void {
    const range = rangeOf(this.view.state.doc, span);
    if (!range) return;
    this.view.dispatch({ selection: { anchor: range[0] }, scrollIntoView: true });
    this.view.focus();
  }

  private state(source: string): EditorState {
    return EditorState.create({
      doc: documentOf(source),
      extensions: [
        lineNumbers(),
        margin("margin-source"),
        history(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        indentUnit.of("  "),
        autocompletion({ override: [complete], icons: false }),
        placeholder(whatToDo()),
        keymap.of([
          ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap,
          { key: "Ctrl-]", mac: "Cmd-]", run: indentMore },
          { key: "Ctrl-[", mac: "Cmd-[", run: indentLess },
          ...defaultKeymap,
        ]),
        futhark,
        shared,
        problemMarks,
        accessMarks,
        typesAt(this.model, this.link),
        wrapping,
        EditorView.contentAttributes.of({ "aria-label": "Source", spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.edited();
          else if (update.selectionSet && isUsers(update.transactions)) this.chooseAtCursor();
        }),
      ],
    });
  }

  private edited(): void {
    this.model.source = this.source;
    if (this.applying) return;
    this.link.choose(null);
    this.onEdit();
  }

  private chooseAtCursor(): void {
    const { doc, selection } = this.view.state;
    if (!selection.main.empty) return;
    const line = doc.lineAt(selection.main.head);
    this.link.choose(this.link.at(line.number, columnOf(line, selection.main.head)));
  }

  private hover(event: MouseEvent): void {
    if (event.buttons) return;
    const at = this.view.posAtCoords({ x: event.clientX, y: event.clientY });
    if (at === null) return this.link.hover(null);
    const line = this.view.state.doc.lineAt(at);
    this.link.hover(this.link.at(line.number, columnOf(line, at)));
  }

  private light(): void {
    const selection = this.link.shown;
    const spans = selection?.spans ?? [];
    light(this.view, { strong: [], weak: [], places: spans.slice(0, 12) });
    if (selection && selection.origin !== "source" && spans[0]) reveal(this.view, spans[0][0] - 1);
  }

  /** A bar beside every line that some stage's text comes from. */
  private colour(): void {
    const lines: MarginLine[] = [];
    for (const span of this.link.places()) lines[span[0] - 1] = { text: "", line: span[0] };
    const all = Array.from({ length: this.view.state.doc.lines }, (_, i) => lines[i] ?? { text: "", line: 0 });
    this.view.dispatch({ effects: setMarginLines(all) });
  }
}

/** What stands in an empty editor. */
function whatToDo(): HTMLElement {
  return h("span", { class: "what-to-do" }, "Write a program here, or choose an example above. One to begin with:",
    h("code", {}, "entry main (x: i64) = x + 1"));
}

/** Whether a change of the cursor came from the keyboard or the mouse. */
function isUsers(transactions: readonly Transaction[]): boolean {
  return transactions.some((transaction) => transaction.isUserEvent("select"));
}

const WORDS = [
  ...[...FUNCTIONS].map((label) => ({ label, type: "function" })),
  ...[...KEYWORDS].map((label) => ({ label, type: "keyword" })),
  ...[...PRIMS].map((label) => ({ label, type: "type" })),
];

/** Names of the prelude, keywords, and the words of this program. */
function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[A-Za-z_][\w']*/);
  if (!word || (word.text.length < 2 && !context.explicit)) return null;
  const known = new Set(WORDS.map((option) => option.label));
  const text = context.state.doc.sliceString(0, 100_000).replace(/--.*$/gm, "");
  const own = new Set(text.match(/[A-Za-z_][\w']{2,}/g) ?? []);
  own.delete(word.text);
  const options = [...own].filter((label) => !known.has(label)).map((label) => ({ label, type: "text", boost: 1 }));
  return { from: word.from, options: [...options, ...WORDS], validFor: /^[\w']*$/ };
}
