// What a frozen state does not hold is made by today's compiler, and only on demand.
import { h, replace } from "../dom";
import type { Model } from "../model";

export class Today {
  private allowed = "";

  constructor(
    private readonly model: Model,
    private readonly what: string,
    private readonly retry: () => void,
  ) {}

  /** Return true if work may go on; otherwise `element` explains that and offers to. */
  permits(element: HTMLElement): boolean {
    const frozen = this.model.frozen?.id;
    if (!frozen || this.allowed === frozen) return true;
    const button = h(
      "button",
      {
        onclick: () => {
          this.allowed = frozen;
          this.retry();
        },
      },
      "Make it now",
    );
    replace(
      element,
      h("p", { class: "empty" }, `This link stores texts, remarks and results. ${this.what} by today's compiler.`),
      button,
    );
    return false;
  }
}
