// Texts before their editors are there: the same lines at the same places, and a source that can be typed into.
import { saysFolded, type Folds } from "./asides";
import { h } from "./dom";
import type { Link } from "./link";
import type { Model } from "./model";
import type { Pane } from "./panes/pane";
import { hueOf } from "./spans";

const HANG = 4; // as in wrap.ts
const DEEPEST = 40;

export interface PlainLine {
  /** As the server has coloured it. */
  html: string;
  /** The text beside it. */
  margin: string;
  /** The colour of its bar; 0: none. */
  hue: number;
}

/** Elements for the text of a line that the server has coloured; `shown` changes the text. */
function coloured(html: string, shown: (text: string) => string): DocumentFragment {
  const made = document.createElement("template");
  made.innerHTML = html;
  const texts = document.createNodeIterator(made.content, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) text.textContent = shown(text.textContent ?? "");
  return made.content;
}

function row(line: PlainLine, code: Node, indent: number): HTMLElement[] {
  const made = h("div", { class: "plain-code" }, code);
  if (!made.textContent) made.append(h("br"));
  const hang = Math.min(DEEPEST, indent) + HANG;
  made.style.setProperty("--hang", `${hang}ch`);
  return [h("div", { class: `plain-margin ${line.hue ? hueOf(line.hue) : ""}` }, line.margin), made];
}

const indentOf = (text: string): number => Math.max(0, text.search(/\S/));

/** A stage's lines, of which some runs are folded. */
export function plainStage(
  lines: readonly PlainLine[],
  texts: readonly string[],
  folds: Folds,
  shown: (text: string) => string,
): HTMLElement {
  const rows: HTMLElement[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const fold = folds.get(at);
    const code = fold ? h("span", { class: "folded" }, saysFolded(fold)) : coloured(lines[at]!.html, shown);
    const indent = indentOf(texts[at]!);
    rows.push(...row(lines[at]!, fold ? append(" ".repeat(indent), code) : code, indent));
    if (fold) at = fold.last;
  }
  return h("div", { class: "plain plain-stage" }, ...rows);
}

function append(...parts: (string | Node)[]): DocumentFragment {
  const made = document.createDocumentFragment();
  made.append(...parts);
  return made;
}

/** Text typed before there was an editor. */
export interface Typed {
  text: string;
  from: number;
  to: number;
  focused: boolean;
}

/** The source: coloured lines, and over them, seen from the first key on, a field that takes what is typed. */
export class PlainSource {
  readonly element: HTMLElement;
  private readonly field: HTMLTextAreaElement;

  constructor(
    private readonly source: string,
    lines: readonly PlainLine[],
  ) {
    const texts = source.split("\n");
    this.field = h("textarea", {
      class: "plain-field",
      "aria-label": "Source",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
    });
    this.field.value = source;
    this.field.setSelectionRange(0, 0);
    this.field.addEventListener("input", () => this.element.classList.add("typed"));
    // The server leaves out an empty one.
    const last = lines.length < texts.length ? [{ html: "", margin: String(texts.length), hue: 0 }] : [];
    const rows = [...lines, ...last].flatMap((line, k) => {
      const [margin, code] = row(
        { ...line, margin: "" },
        coloured(line.html, (text) => text),
        indentOf(texts[k] ?? ""),
      );
      return [h("div", { class: "plain-number" }, line.margin), margin!, h("div", { class: "plain-fold" }, "›"), code!];
    });
    this.element = h("div", { class: "plain plain-source" }, ...rows, this.field);
  }

  /** The text typed so far; null if it is unchanged and the field has no focus. */
  get typed(): Typed | null {
    const { value: text, selectionStart: from, selectionEnd: to } = this.field;
    const focused = document.activeElement === this.field;
    return focused || text !== this.source ? { text, from, to, focused } : null;
  }
}

/** The parts of the first view that the page continues with, if it was drawn. */
export interface Early {
  source: PlainSource;
  model: Model;
  link: Link;
  /** Panes of the details that it has made, by their ids. */
  panes: ReadonlyMap<string, Pane>;
  /** The pane whose tab was opened. */
  opened: string;
}

export const first: { view: Early | null } = { view: null };
