// The lines above the editor: an example's point (its title is in the text), and what to look at.
import { h, quoted, replace } from "./dom";
import type { Example, Look } from "./kept";

export class Story {
  readonly element = h("div", { class: "story", hidden: true });
  private links: { look: Look; button: HTMLButtonElement }[] = [];

  constructor(private readonly look: (look: Look) => void) {}

  show(example: Example | null): void {
    this.element.hidden = !example;
    this.links = (example?.looks ?? []).map((look) => ({
      look, button: h("button", { class: "link", onclick: () => this.look(look) }, ...quoted(look.text)),
    }));
    if (!example) return;
    replace(this.element,
      h("p", { class: "point" }, ...quoted(example.point || `${example.title}.`)),
      this.links.length ? h("ul", { class: "looks", "aria-label": "What to look at" },
        ...this.links.map(({ button }) => h("li", {}, button))) : null);
  }

  /** Links to what is no longer in the text lead nowhere. */
  follow(source: string): void {
    for (const { look, button } of this.links) {
      button.disabled = !source.includes(look.code);
      button.title = button.disabled ? "What this is about is no longer in the text" : "";
    }
  }
}
