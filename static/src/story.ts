// The lines above the editor: an example's point (its title is in the text), and what to look at.
import { h, quoted, replace } from "./dom";
import type { Example, Look } from "./types";

export class Story {
  readonly element = h("div", { class: "story", hidden: true });

  constructor(private readonly look: (look: Look) => void) {}

  show(example: Example | null): void {
    this.element.hidden = !example;
    if (!example) return;
    replace(this.element,
      h("p", { class: "point" }, ...quoted(example.point || `${example.title}.`)),
      example.looks.length ? h("ul", { class: "looks", "aria-label": "What to look at" }, ...example.looks.map((look) =>
        h("li", {}, h("button", { class: "link", onclick: () => this.look(look) }, ...quoted(look.text))))) : null);
  }
}
