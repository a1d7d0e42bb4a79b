// Whether what a pane shows is of the program as it is now; where it is not, the pane says so.
import type { Answer } from "./client";
import { h, replace } from "./dom";
import { sameText, type Model, type Text } from "./model";
import { messageElement } from "./messages";

const ANSWERS = new WeakMap<Element, unknown>();

/** Return the answers behind the visible parts of a pane: one, several, or undefined for none. */
export function answersIn(pane: Element): unknown {
  const found = [...pane.querySelectorAll(".fresh")]
    .filter((one) => one.checkVisibility())
    .map((one) => ANSWERS.get(one))
    .filter((one) => one !== undefined);
  return found.length > 1 ? found : found[0];
}

export class Fresh {
  /** The content with a note, which is under it or over what is seen of its end, and moves nothing. */
  readonly element: HTMLElement;
  private readonly note = h(
    "p",
    { class: "outdated-note", hidden: true },
    h("span", {}, "Out of date", h("i", {}, ": it belongs to an earlier version of the program")),
  );
  private readonly waiting = h("p", { class: "empty", hidden: true }, "It is being computed.");
  private of: Text | null = null;
  private asked = 0;

  constructor(
    private readonly model: Model,
    private readonly content: HTMLElement,
  ) {
    this.element = h("div", { class: "fresh" }, this.waiting, content, this.note);
    model.on("source", () => this.tell());
  }

  /** Record the text and the answer of the content shown from here on; pending answers become stale. */
  made(of: Text | null, answer?: unknown): void {
    this.asked += 1;
    this.of = of;
    this.waiting.hidden = true;
    ANSWERS.set(this.element, answer);
    this.tell();
  }

  /**
   * The answer to a question about a text, or null where it is not wanted any more: something else has been
   * asked or shown since, or a link is shown that it is not of. A failure is shown in `place`.
   */
  async answer<T extends object>(of: Text, asked: Promise<Answer<T>>, place = this.content): Promise<T | null> {
    const mine = (this.asked += 1);
    const { frozen } = this.model;
    this.waiting.hidden = Boolean(this.content.textContent);
    const answer = await asked;
    if (mine === this.asked) this.waiting.hidden = true;
    if (mine !== this.asked || (this.model.frozen && this.model.frozen !== frozen)) return null;
    this.made(of, answer);
    if (!("error" in answer)) return answer;
    replace(place, messageElement(answer.error));
    return null;
  }

  private tell(): void {
    const outdated = this.of !== null && !sameText(this.of, this.model.now);
    this.content.classList.toggle("outdated", outdated);
    this.note.hidden = !outdated;
  }
}
