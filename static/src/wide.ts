// A button that gives the details the room of the stages, until a stage is wanted again.
import { h } from "./dom";

export class Wide {
  readonly button = h("button", {
    class: "widen", title: "Let the details have the room of the stages", "aria-label": "Wide details", "aria-pressed": "false",
    onclick: () => this.set(!this.root.hasAttribute("data-wide")),
  }, "⇔");

  constructor(private readonly root: HTMLElement) {}

  set(wide: boolean): void {
    if (wide === this.root.hasAttribute("data-wide")) return;
    this.root.toggleAttribute("data-wide", wide);
    this.button.setAttribute("aria-pressed", String(wide));
    window.dispatchEvent(new Event("resize"));
  }
}
