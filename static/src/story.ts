// The line above the editor: an example's point, and what to look at.
import { h, quoted, replace } from "./dom";
import type { Example, Look } from "./types";

export class Story {
  readonly element = h("div", { class: "story", hidden: true });

  constructor(private readonly look: (look: Look) => void) {}

  show(example: Example | null): void {
    this.element.hidden = !example;
    if (!example) return;
    replace(this.element,
      h("p", { class: "point" }, h("strong", {}, example.title), " ", ...quoted(example.point)),
      example.looks.length ? h("ul", { class: "looks", "aria-label": "What to look at" }, ...example.looks.map((look) =>
        h("li", {}, h("button", { class: "link", onclick: () => this.look(look) }, ...quoted(look.text))))) : null);
  }
}
