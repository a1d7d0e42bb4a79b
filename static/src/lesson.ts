// A lesson above its program: text, a question to predict an answer to, what the compiler counts; and its file.
import * as client from "./client";
import { announce, debounce, h, quoted, replace } from "./dom";
import { markdown } from "./markdown";
import { messageElement } from "./messages";
import { load, save } from "./storage";
import { sameText, type Text } from "./text";
import type { LessonAnswer, SolveAnswer } from "./types";

export interface LessonEvents {
  /** Show another program, and what it is about. */
  show(lesson: LessonAnswer): void;
  /** The program as it is now. */
  now(): Text;
  /** Lead the eye back to what it is about. */
  look(lesson: LessonAnswer): void;
  /** Hide the compiler's results while they would answer the question, or show them. */
  cover(covered: boolean): void;
}

/** The browser's stored state of a lesson. */
interface Kept {
  /** The reader's own text of the file, if it was edited. */
  text?: string;
  guess?: number;
  revealed?: boolean;
  /** For a puzzle, the least score so far. */
  best?: number;
}

const STALE = "The program has changed: score it again.";

export class LessonBox {
  readonly element = h("section", { class: "lesson", "aria-label": "Lesson", tabindex: 0, hidden: true });
  /** Takes the editor's place while the file is edited. */
  readonly editor = h("div", { class: "lesson-editor", hidden: true });
  private readonly text = h("textarea", { "aria-label": "The lesson's file", spellcheck: false, class: "lesson-text" });
  private readonly told = h("div", { class: "lesson-told" });
  private readonly body = h("div", {});
  private readonly edit = h("button", { "aria-pressed": "false", onclick: () => this.toggle() }, "Edit");
  private readonly turn = h("button", { onclick: () => this.reset() });
  private readonly file = h("input", {
    type: "file",
    accept: ".md,text/markdown,text/plain",
    "aria-label": "Open a lesson's file",
    hidden: true,
  });
  /** Says that what is shown is not the shipped lesson. */
  private readonly own = h(
    "p",
    { class: "quiet", hidden: true },
    "This is your own text instead of the lesson. ",
    h("button", { onclick: () => this.reset() }, "Show the lesson as it was"),
  );
  /** The text that *As it was* replaced, until something is typed. */
  private thrown: string | null = null;
  private name = "";
  private shipped = "";
  private kept: Kept = {};
  private lesson: LessonAnswer | null = null;
  private asked = 0;
  /** True if the reader wanted to look before answering. */
  private looks = false;
  /** The program that was scored, and a note that it has changed since. */
  private scored: Text | null = null;
  private readonly stale = h("p", { class: "lesson-stale", hidden: true }, STALE);
  private readonly soon = debounce(400, () => void this.changed());

  constructor(private readonly events: LessonEvents) {
    this.editor.append(
      h(
        "div",
        { class: "lesson-bar" },
        h("button", { onclick: () => this.download() }, "Download"),
        h("button", { onclick: () => this.file.click() }, "Open file"),
        this.file,
        this.turn,
        this.told,
      ),
      this.text,
    );
    this.file.addEventListener("change", () => void this.read());
    this.text.addEventListener("input", () => {
      this.throw(null);
      this.keep({ text: this.text.value });
      this.soon();
    });
  }

  /** The lesson of this name, with the edits of this browser. Raises Unanswered. */
  async open(name: string, back: string, next: string): Promise<LessonAnswer | null> {
    this.name = name;
    this.kept = load<Kept>(`lesson.${name}`) ?? {};
    this.shipped = await client.lessonText(name);
    this.put(this.kept.text ?? this.shipped);
    this.throw(null);
    const to = (where: string, word: string): HTMLElement | null =>
      where ? h("a", { class: "button", href: `/lessons/${where}` }, word) : null;
    replace(
      this.element,
      h(
        "div",
        { class: "lesson-bar" },
        h("a", { href: "/lessons/" }, "Lessons"),
        to(back, "Back"),
        to(next, "Next"),
        this.edit,
      ),
      this.own,
      this.body,
    );
    this.element.hidden = false;
    this.sayWhose();
    return this.ask();
  }

  private async ask(): Promise<LessonAnswer | null> {
    const number = (this.asked += 1);
    const answer = await client.post("lesson", { lesson: this.text.value });
    if (number !== this.asked) return null;
    if (!answer.ok) {
      replace(this.told, messageElement(answer.error));
      if (!this.lesson) replace(this.body, messageElement(answer.error));
      return null;
    }
    this.lesson = answer;
    replace(
      this.told,
      h(
        "p",
        answer.wrong ? { class: "problem-text" } : { class: "quiet" },
        answer.wrong || `${answer.measure}: the compiler says ${count(answer.value)}.`,
      ),
    );
    this.draw(answer);
    return answer;
  }

  private async changed(): Promise<void> {
    const before = this.lesson;
    const now = await this.ask();
    if (!now) return;
    const same = (["source", "stage", "code", "tab", "object"] as const).every((key) => before?.[key] === now[key]);
    if (!same || JSON.stringify(before?.options) !== JSON.stringify(now.options)) this.events.show(now);
  }

  private keep(more: Kept): void {
    this.kept = { ...this.kept, ...more };
    save(`lesson.${this.name}`, this.kept);
    this.sayWhose();
  }

  private sayWhose(): void {
    this.own.hidden = (this.kept.text ?? this.shipped) === this.shipped;
  }

  /** A file that was written elsewhere takes the text's place; *Undo* brings that back. */
  private async read(): Promise<void> {
    const file = this.file.files?.[0];
    this.file.value = "";
    if (!file) return;
    if (file.size > LONGEST)
      return replace(
        this.told,
        h("p", { class: "problem-text", role: "alert" }, `\`${file.name}\` is too long for a lesson.`),
      );
    const before = this.kept.text;
    this.put(await file.text());
    this.keep({ text: this.text.value });
    this.throw(before ?? null);
    void this.changed();
  }

  private draw(lesson: LessonAnswer): void {
    replace(
      this.body,
      h("h2", {}, lesson.title),
      markdown(lesson.html, "lesson-prose"),
      lesson.stage
        ? h(
            "p",
            { class: "row" },
            h("button", { onclick: () => this.show(lesson) }, "Show me"),
            h("button", { onclick: () => this.events.show(lesson), title: "With the original program" }, "Start again"),
          )
        : null,
      lesson.puzzle ? this.puzzle(lesson, lesson.puzzle) : this.question(lesson),
    );
    this.events.cover(this.covers(lesson));
  }

  private covers({ puzzle, wrong }: LessonAnswer): boolean {
    return !puzzle && !wrong && !this.kept.revealed && !this.looks;
  }

  /** Lead to what it is about, answered or not. */
  private show(lesson: LessonAnswer): void {
    this.looks = true;
    this.draw(lesson);
    this.events.look(lesson);
  }

  /** The program is another one now: a score that is shown is of the one before. */
  edited(): void {
    const stale = this.scored !== null && !sameText(this.scored, this.events.now());
    this.stale.hidden = !stale;
    this.body.querySelector(".lesson-score")?.classList.toggle("outdated", stale);
  }

  private puzzle(
    lesson: LessonAnswer,
    { goal, par, hints, solution }: NonNullable<LessonAnswer["puzzle"]>,
  ): HTMLElement {
    const outcome = h("div", { class: "lesson-outcome lesson-score", role: "status" });
    this.scored = null;
    this.stale.hidden = true;
    const score = h("button", { class: "primary" }, "Score");
    const best = h("p", { class: "quiet" });
    const drawBest = (): void => {
      best.textContent = this.kept.best === undefined ? "" : `Your best: ${count(this.kept.best)}.`;
    };
    score.addEventListener(
      "click",
      () =>
        void (async () => {
          score.disabled = true;
          const now = this.events.now();
          const answer = await client.post("solve", { ...now, lesson: this.text.value });
          score.disabled = false;
          this.scored = now;
          this.edited();
          if (!answer.ok) return replace(outcome, messageElement(answer.error));
          if (answer.same && answer.value < (this.kept.best ?? Infinity)) this.keep({ best: answer.value });
          drawBest();
          replace(
            outcome,
            h(
              "p",
              { class: "lesson-verdict" },
              h("strong", {}, verdict(answer, goal, par)),
              " ",
              ...quoted(answer.because),
            ),
            answer.solved ? markdown(lesson.after, "lesson-prose") : null,
          );
        })(),
    );
    drawBest();
    const sizes = Object.entries(lesson.sizes)
      .map(([name, size]) => `${name} = ${count(size)}`)
      .join(", ");
    return h(
      "div",
      {},
      h(
        "p",
        { class: "lesson-goal" },
        h("code", {}, lesson.measure),
        sizes ? ` for ${sizes}` : "",
        `: now ${count(lesson.value)}, goal ${count(goal)}, par ${count(par)}. `,
        score,
      ),
      best,
      this.stale,
      outcome,
      ...hints.map((hint, k) => h("details", {}, h("summary", {}, `Hint ${k + 1}`), markdown(hint, "lesson-prose"))),
      solution
        ? h("details", {}, h("summary", {}, "A solution"), h("pre", { class: "value", tabindex: 0 }, solution))
        : null,
    );
  }

  private question(lesson: LessonAnswer): HTMLElement {
    const { guess, revealed } = this.kept;
    const outcome = h("div", { class: "lesson-outcome", tabindex: -1 });
    const reveal = h(
      "button",
      {
        class: "primary",
        disabled: guess === undefined || revealed,
        onclick: () => {
          this.keep({ revealed: true });
          this.draw(lesson);
          this.body.querySelector<HTMLElement>(".lesson-outcome")?.focus();
          announce(this.body.querySelector(".lesson-verdict")?.textContent ?? "");
        },
      },
      "Reveal",
    );
    const choice = (one: number): HTMLElement => {
      const radio = h("input", {
        type: "radio",
        name: "prediction",
        value: one,
        checked: one === guess,
        disabled: revealed,
      });
      radio.addEventListener("change", () => {
        this.keep({ guess: one });
        reveal.disabled = false;
      });
      return h("label", {}, radio, count(one));
    };
    if (revealed && guess !== undefined) this.outcome(outcome, lesson, guess);
    return h(
      "div",
      {},
      h(
        "fieldset",
        { class: "lesson-question" },
        h("legend", {}, markdown(lesson.question, "lesson-prose")),
        ...lesson.choices.map(choice),
        reveal,
      ),
      outcome,
    );
  }

  private outcome(place: HTMLElement, lesson: LessonAnswer, guess: number): void {
    const right = guess === lesson.value;
    const value = count(lesson.value);
    replace(
      place,
      h(
        "p",
        { class: "lesson-verdict" },
        h("strong", {}, right ? `✓ ${value}, as you said.` : `✗ ${value}, not ${count(guess)}.`),
        " Counted by the compiler: ",
        h("code", {}, lesson.measure),
      ),
      markdown(lesson.after, "lesson-prose"),
      h(
        "p",
        {},
        h(
          "button",
          {
            onclick: () => {
              this.looks = false;
              this.keep({ revealed: false });
              this.draw(lesson);
            },
          },
          "Ask me again",
        ),
      ),
    );
  }

  private toggle(): void {
    const editing = Boolean(this.editor.hidden);
    this.editor.hidden = !editing;
    this.edit.setAttribute("aria-pressed", String(editing));
    this.edit.textContent = editing ? "Done" : "Edit";
    this.element.parentElement!.classList.toggle("edits-lesson", editing);
    if (editing) this.text.focus();
  }

  /** Show a file from its first line on: setting a text alone leads to its end. */
  private put(text: string): void {
    this.text.value = text;
    this.text.setSelectionRange(0, 0);
    this.text.scrollTop = 0;
  }

  private throw(text: string | null): void {
    this.thrown = text;
    this.turn.textContent = text === null ? "As it was" : "Undo";
  }

  /** The shipped text, or what was thrown away for it. */
  private reset(): void {
    const { thrown } = this;
    const { text: mine, ...rest } = this.kept;
    this.kept = rest;
    this.put(thrown ?? this.shipped);
    this.keep(thrown === null ? {} : { text: thrown });
    this.throw(thrown === null ? (mine ?? null) : null);
    void this.changed();
  }

  private download(): void {
    const url = URL.createObjectURL(new Blob([this.text.value], { type: "text/markdown" }));
    h("a", { href: url, download: `${this.name}.md` }).click();
    URL.revokeObjectURL(url);
  }
}

const LONGEST = 400_000; // bytes of a lesson's file

const count = (number: number): string => number.toLocaleString("en");

function verdict({ value, same, solved }: SolveAnswer, goal: number, par: number): string {
  if (!same) return "✗ The results differ.";
  if (!solved) return `✗ ${count(value)}: the goal is ${count(goal)}.`;
  return value < par
    ? `✓ ${count(value)}: below par!`
    : value === par
      ? `✓ ${count(value)}: par.`
      : `✓ ${count(value)}; par is ${count(par)}.`;
}
