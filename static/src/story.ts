// The lines above the editor: an example's point (its title is in the text), and what to look at, step by step.
import { h, quoted, replace } from "./dom";
import type { Example, Look } from "./kept";

/** Title and notes that the author of a link writes. */
export interface Said {
  title: string;
  notes: string;
}

export class Story {
  readonly element = h("div", { class: "story", hidden: true });
  private readonly back = h("button", { onclick: () => this.step(-1) }, "Back");
  private readonly next = h("button", { onclick: () => this.step(1) }, "Next");
  private links: { look: Look; button: HTMLButtonElement }[] = [];
  /** The step that was taken last; -1 at first. */
  private at = -1;

  constructor(private readonly look: (look: Look) => void) {
    // Where panes lie below each other, a step leads away from here: the way on goes along.
    new IntersectionObserver(([seen]) => this.element.classList.toggle("away", !seen!.isIntersecting), {
      threshold: 0.1,
    }).observe(this.element);
  }

  show(example: Example | null): void {
    this.element.hidden = !example;
    this.at = -1;
    this.links = (example?.looks ?? []).map((look, k) => ({
      look,
      button: h("button", { class: "link", onclick: () => this.go(k) }, ...quoted(look.text)),
    }));
    if (!example) return;
    replace(
      this.element,
      h(
        "div",
        { class: "story-head" },
        h("p", { class: "point" }, ...quoted(example.point || `${example.title}.`)),
        this.links.length
          ? h("div", { class: "story-steps", role: "group", "aria-label": "Steps" }, this.back, this.next)
          : null,
      ),
      this.links.length
        ? h(
            "ol",
            { class: "looks", "aria-label": "What to look at" },
            ...this.links.map(({ button }) => h("li", {}, button)),
          )
        : null,
    );
    this.draw();
  }

  /** Show the title and notes of a link. */
  tell({ title, notes }: Said): void {
    if (!title && !notes) return;
    this.element.hidden = false;
    replace(
      this.element,
      title ? h("p", { class: "point" }, h("strong", {}, title)) : null,
      ...notes
        .split("\n")
        .filter((line) => line.trim())
        .map((line) => h("p", {}, ...quoted(line))),
    );
  }

  /** Links to what is no longer in the text lead nowhere. */
  follow(source: string): void {
    for (const { look, button } of this.links) {
      button.disabled = !source.includes(look.code);
      button.title = button.disabled ? "The code of this step is no longer in the program" : "";
    }
    this.draw();
  }

  /** The step after or before this one that leads anywhere; -1 if there is none. */
  private beside(by: number): number {
    let to = this.at + by;
    while (this.links[to]?.button.disabled) to += by;
    return this.links[to] ? to : -1;
  }

  private step(by: number): void {
    const to = this.beside(by);
    if (to >= 0) this.go(to);
  }

  private go(number: number): void {
    this.at = number;
    this.look(this.links[number]!.look);
    this.draw();
  }

  private draw(): void {
    for (const [k, { button }] of this.links.entries()) {
      if (k === this.at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
    // A button with the focus keeps it: it says that it does nothing, and does nothing.
    this.back.hidden = this.at < 0;
    this.back.setAttribute("aria-disabled", String(this.beside(-1) < 0));
    this.next.setAttribute("aria-disabled", String(this.beside(1) < 0));
    this.element.classList.toggle("taken", this.at >= 0);
  }
}
