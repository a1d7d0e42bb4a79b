// Expressions over the program's definitions: a box below the result, and what was evaluated in it.
import * as client from "../client";
import { announce, h, milliseconds, replace } from "../dom";
import { FLATPACK } from "../files";
import type { Evaluated } from "../kept";
import { sameText, type Model, type Text } from "../model";
import { messageElement } from "../messages";
import { EXPRESSION, fileOf, placeName } from "../spans";
import type { Backend, Failure, Problem, Span } from "../types";
import { resultOf } from "./result";

const MOST = 20;
const LONGEST_KEPT = 2000; // characters of an answer that this browser keeps
import type { Share } from "./pane";

export interface ExpressionEvents {
  /** The back end that is chosen to run on. */
  backend(): Backend["id"];
  changed(): void;
  used(): void;
  goTo(span: Span): void;
}

/** One that was evaluated; `of` is null where it is not known what its program was. */
interface Entry extends Evaluated {
  of: Text | null;
}

export class ExpressionBox {
  readonly element: HTMLElement;
  private readonly text = h("textarea", {
    id: "expression",
    rows: 1,
    spellcheck: "false",
    autocapitalize: "off",
    class: "expression-text",
  });
  private readonly button = h("button", { title: "Enter evaluates; Shift+Enter starts a new line" }, "Evaluate");
  private readonly list = h("ol", { class: "evaluated", "aria-label": "Values of expressions" });
  private entries: Entry[] = [];
  private stopping: AbortController | null = null;
  /** Where one is in what was typed before: 0 is what is being typed. */
  private back = 0;
  private draft = "";

  constructor(
    private readonly model: Model,
    private readonly events: ExpressionEvents,
  ) {
    this.element = h(
      "form",
      { class: "expressions", "aria-label": "Expressions" },
      h("div", { class: "expression-line" }, h("label", { for: "expression" }, "Expression"), this.text, this.button),
      this.list,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.stopping) this.stopping.abort();
      else void this.evaluate();
    });
    this.text.addEventListener("keydown", (event) => this.keys(event));
    model.on("source", () => this.draw());
    this.draw();
  }

  readonly share: Share = {
    asked: () =>
      this.entries.filter(({ of }) => of && sameText(of, this.model.now)).map(({ op, request }) => ({ op, request })),
    restore: (asked) => this.restore(asked.filter((one) => one.op === "eval")),
  };

  /** Return the entries that this browser stores with the program. */
  kept(): Evaluated[] {
    return this.entries.map(({ op, request, answer }) => ({ op, request, answer: short(answer) ? answer : null }));
  }

  private restore(entries: readonly Evaluated[]): void {
    this.stopping?.abort();
    this.entries = entries.map((one) => ({ ...one, of: this.model.now }));
    this.draw();
  }

  private async evaluate(): Promise<void> {
    const expression = this.text.value;
    if (!expression.trim()) return;
    this.events.used();
    const mine = (this.stopping = new AbortController());
    this.button.textContent = "Stop";
    const [of, request] = [this.model.now, { expression, backend: this.events.backend() }];
    const answer = await client.post("eval", { ...of, ...request }, mine.signal);
    this.stopping = null;
    this.button.textContent = "Evaluate";
    if (mine.signal.aborted) return announce("Stopped.");
    this.entries = [{ op: "eval" as const, request, answer, of }, ...this.entries].slice(0, MOST);
    this.back = 0;
    this.events.changed();
    this.draw();
    this.list.firstElementChild?.scrollIntoView({ block: "nearest" });
    if (answer.ok) {
      if (this.text.value === expression) this.text.value = "";
      announce(answer.output || answer.type);
    } else {
      announce(answer.error.message);
      if (this.text.value === expression) this.select(answer.error);
    }
  }

  /** Select the place of an error in the box. */
  private select({ span }: Problem): void {
    const range = span && rangeIn(this.text.value, span);
    if (!range || document.activeElement !== this.text) return;
    this.text.setSelectionRange(...range);
  }

  private keys(event: KeyboardEvent): void {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const { value, selectionStart } = this.text;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) this.element.querySelector("button")!.click();
    else if (by === 1 && !value.slice(0, selectionStart).includes("\n")) this.recall(this.back + 1);
    else if (by === -1 && this.back && !value.slice(selectionStart).includes("\n")) this.recall(this.back - 1);
    else return;
    event.preventDefault();
  }

  private recall(back: number): void {
    const typed = [...new Set(this.entries.map(({ request }) => request.expression))];
    if (back > typed.length) return;
    if (!this.back) this.draft = this.text.value;
    this.back = back;
    this.text.value = back ? typed[back - 1]! : this.draft;
  }

  private draw(): void {
    this.text.placeholder = this.model.now.main?.endsWith(FLATPACK) ? "main (Enumerate 0 (+ 1) 3)" : "map f (iota 3)";
    replace(this.list, ...this.entries.map((entry) => this.item(entry)));
  }

  private item(entry: Entry): HTMLElement {
    const {
      request: { expression },
      answer,
      of,
    } = entry;
    const outdated = !of || !sameText(of, this.model.now);
    return h(
      "li",
      { class: outdated ? "outdated" : "" },
      h(
        "p",
        {},
        h(
          "button",
          {
            class: "link expression-again",
            type: "button",
            title: "Copy it to the box",
            onclick: () => {
              this.text.value = expression;
              this.text.focus();
            },
          },
          h("code", {}, ...marked(expression, answer)),
        ),
        answer?.ok ? h("span", { class: "quiet" }, " : ", h("code", {}, answer.type)) : null,
        answer?.ok && answer.results?.length ? h("span", { class: "quiet" }, ` ${milliseconds(answer.ms)}`) : null,
      ),
      outdated ? h("p", { class: "quiet" }, "Out of date: of an earlier version of the program") : null,
      !answer
        ? h("p", { class: "quiet" }, "Its value was too long to keep: evaluate it again.")
        : answer.ok
          ? this.value(expression, answer)
          : this.problem(answer.error),
    );
  }

  private value(expression: string, answer: Extract<Evaluated["answer"], { ok: true }>): HTMLElement | null {
    if (answer.note) return h("p", { class: "quiet" }, answer.note);
    return answer.output ? resultOf(answer, undefined, expression) : null;
  }

  private problem(error: Problem): HTMLElement {
    const { span } = error;
    const inProgram = span && fileOf(span) !== EXPRESSION;
    return messageElement(
      error,
      "",
      inProgram
        ? h("button", { class: "link place", type: "button", onclick: () => this.events.goTo(span) }, placeName(span))
        : null,
    );
  }
}

const short = (answer: Evaluated["answer"]): boolean => JSON.stringify(answer ?? null).length <= LONGEST_KEPT;

/** An expression with the place of its error marked. */
function marked(expression: string, answer: Evaluated["answer"] | Failure): (string | HTMLElement)[] {
  const span = answer && !answer.ok ? answer.error.span : null;
  const range = span && rangeIn(expression, span);
  if (!range) return [expression];
  const [from, to] = range;
  return [
    expression.slice(0, from),
    h("mark", { class: "wavy kind-type" }, expression.slice(from, to) || " "),
    expression.slice(to),
  ];
}

/** The range of characters of a place in an expression; null for one elsewhere. */
function rangeIn(text: string, span: Span): [number, number] | null {
  if (fileOf(span) !== EXPRESSION) return null;
  const lines = text.split("\n");
  const at = (line: number, column: number): number => {
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  };
  const [line, column, endLine, endColumn] = span as [number, number, number, number];
  return [at(line, column), at(endLine, endColumn)];
}
