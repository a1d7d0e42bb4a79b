// A stage's text as its reader writes it: all that follows is made from it. What is typed is an option, so it is kept.
import { debounce, h, replace } from "./dom";
import { messageElement } from "./messages";
import type { Model } from "./model";
import type { Options, Span } from "./types";

const READ_BACK = new Set(["ir", "imp", "kernels"]);

/** The texts that are written, by stage; undefined: none. */
export type WriteTexts = (texts: Options["edited"]) => void;

export class WrittenText {
  private readonly field = h("textarea", { spellcheck: "false", autocapitalize: "off", wrap: "off" });
  private readonly problems = h("div", { role: "alert", class: "written-problems" });
  readonly element = h(
    "div",
    { class: "written", hidden: true },
    h(
      "p",
      { class: "written-head" },
      h("strong", {}, "Written by hand."),
      " The later stages are compiled from this text. ",
      h("button", { onclick: () => this.takeBack() }, "Take it back"),
    ),
    this.problems,
    this.field,
  );
  readonly button = h(
    "button",
    {
      class: "icon",
      title: "Edit the text of this stage, and compile the later stages from it",
      onclick: () => this.begin(),
    },
    "✎ Edit this text",
  );
  private stage = "";
  /** True if something was typed that is not sent yet. */
  private typed = false;
  private readonly soon: () => void;

  constructor(
    private readonly model: Model,
    private readonly write: WriteTexts,
    /** The text that is shown. */
    private readonly text: () => string,
    private readonly shown: (written: boolean) => void,
  ) {
    this.soon = debounce(400, () => this.sendTyped());
    this.field.addEventListener("input", () => {
      this.typed = true;
      this.soon();
    });
  }

  /** Show what is written of a stage, if anything is. */
  follow(stage: string): void {
    const info = this.model.info(stage);
    const written = this.model.options.edited?.[stage];
    this.button.hidden = !READ_BACK.has(info?.kind ?? "") || written !== undefined || this.model.frozen !== null;
    if (stage !== this.stage) {
      this.sendTyped();
      this.stage = stage;
      this.field.value = written ?? "";
    } else if (written !== undefined && !this.typed && this.field.value !== written) this.field.value = written;
    this.field.setAttribute("aria-label", `The text of ${info?.title ?? stage}`);
    this.field.readOnly = this.model.frozen !== null;
    const open = written !== undefined;
    if (this.element.hidden === open) this.shown(open);
    this.element.hidden = !open;
    if (open) this.tell();
  }

  /** Show its problems: errors in the text, and the verifier's. */
  private tell(): void {
    const file = `<stage ${this.stage}>`;
    const about = `\`${this.stage}\``;
    const wrong = this.model.problems.filter(
      ({ span, message }) => span?.[4] === file || (!span && message.includes(`text of ${about}`)),
    );
    const unsound = this.model.remarks.filter((one) => one.because.includes(`edited text of ${about}`));
    replace(
      this.problems,
      ...wrong.map((problem) =>
        messageElement(problem, "", null, [], problem.span?.[4] === file ? this.place(problem.span) : null),
      ),
      ...(wrong.length ? [] : unsound).map(({ because, hint }) =>
        messageElement({ kind: "warning", message: because, hint, span: null }),
      ),
    );
  }

  private place([line, column]: Span): HTMLElement {
    return h(
      "button",
      { class: "link place", onclick: () => this.go(Number(line), Number(column)) },
      `line ${line}, column ${column}`,
    );
  }

  private go(line: number, column: number): void {
    const before = this.field.value.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
    this.field.focus();
    this.field.setSelectionRange(at, at + 1);
    this.field.scrollTop = (line - 4) * (this.field.scrollHeight / Math.max(1, this.field.value.split("\n").length));
  }

  private begin(): void {
    this.field.value = this.text();
    this.send();
    this.field.focus();
    this.field.setSelectionRange(0, 0);
  }

  private sendTyped(): void {
    if (!this.typed) return;
    this.typed = false;
    this.send();
  }

  private send(): void {
    const { edited } = this.model.options;
    const { value } = this.field;
    if (!this.model.frozen && edited?.[this.stage] !== value) this.write({ ...edited, [this.stage]: value });
  }

  private takeBack(): void {
    this.typed = false;
    const { [this.stage]: _, ...rest } = this.model.options.edited ?? {};
    this.write(Object.keys(rest).length ? rest : undefined);
  }
}
