// Whether what a pane shows is of the program as it is now; where it is not, the pane says so.
import { h } from "./dom";
import { sameText, type Model, type Text } from "./model";

export class Fresh {
  /** The content below a note that takes no room of its own. */
  readonly element: HTMLElement;
  private readonly note = h("p", { class: "outdated-note", hidden: true }, h("span", {}, "Out of date: made for an earlier text"));
  private of: Text | null = null;

  constructor(private readonly model: Model, private readonly content: HTMLElement) {
    this.element = h("div", { class: "fresh" }, this.note, content);
    model.on("source", () => this.tell());
  }

  /** What is shown from here on was made of this text, or of none. */
  made(of: Text | null): void {
    this.of = of;
    this.tell();
  }

  private tell(): void {
    const outdated = this.of !== null && !sameText(this.of, this.model.now);
    this.content.classList.toggle("outdated", outdated);
    this.note.hidden = !outdated;
  }
}
