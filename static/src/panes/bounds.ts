// The bounds report: what became of the check of each access, and a mark beside each index in the source.
import * as client from "../client";
import { h, replace } from "../dom";
import { Fresh } from "../fresh";
import { STATES, type ShowMarks } from "../access_marks";
import type { Link } from "../link";
import { sameText, type Model, type Text } from "../model";
import { placeName } from "../spans";
import { AskingPane } from "./asking";
import type { Access } from "../types";
import type { PaneKind } from "./pane";

export class BoundsPane extends AskingPane {
  readonly element = h("div", { class: "scroll" });
  protected readonly place = h("div", {});
  private readonly count = h("p", { class: "quiet", role: "status" });
  private readonly list = h("ul", { class: "remarks accesses", "aria-label": "Accesses" });
  private readonly fresh: Fresh;
  private readonly hidden = new Set<string>();
  private accesses: readonly Access[] = [];
  /** The text that they are of. */
  private of: Text | null = null;

  constructor(
    model: Model,
    private readonly link: Link,
    private readonly marks: ShowMarks,
  ) {
    super(model, "Checks are listed");
    this.fresh = new Fresh(model, this.place);
    this.element.append(this.fresh.element);
    model.on("source", () => this.mark());
  }

  override show(visible: boolean): void {
    super.show(visible);
    this.mark();
  }

  protected async ask(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, client.ask("bounds", {}, of));
    if (!answer) return;
    this.accesses = answer.accesses;
    this.of = of;
    replace(this.place, this.filters(), this.count, this.list);
    this.draw();
    this.mark();
  }

  private filters(): HTMLElement {
    const present = Object.keys(STATES).filter((state) => this.accesses.some((access) => access.state === state));
    return h(
      "div",
      { class: "filters", role: "group", "aria-label": "Which accesses" },
      ...present.map((state) => {
        const box = h("input", { type: "checkbox", checked: !this.hidden.has(state) });
        box.addEventListener("change", () => {
          if (box.checked) this.hidden.delete(state);
          else this.hidden.add(state);
          this.draw();
        });
        return h("label", { class: "check" }, box, `${STATES[state]!.sign} ${state}`);
      }),
    );
  }

  private draw(): void {
    const shown = this.accesses.filter((access) => !this.hidden.has(access.state));
    const total = this.accesses.length;
    this.count.textContent = total
      ? `${shown.length === total ? total : `${shown.length} of ${total}`} ` +
        `${total === 1 ? "access" : "accesses"} to arrays`
      : "The program has no index, slice or update.";
    replace(this.list, ...shown.map((access) => this.item(access)));
  }

  private item(access: Access): HTMLElement {
    const where = { spans: [access.src], origin: "bounds", line: -1 };
    return h(
      "li",
      {
        class: `remark access ${access.state}`,
        onmouseenter: () => this.link.hover(where),
        onmouseleave: () => this.link.hover(null),
      },
      h("span", { class: "remark-sign", "aria-hidden": "true" }, STATES[access.state]!.sign),
      h(
        "div",
        {},
        h("p", { class: "remark-text" }, h("strong", {}, `${access.kind} ${access.state}. `), access.because),
        ...access.claims.map((claim) =>
          h(
            "div",
            { class: "access-claim" },
            h("code", {}, claim.says),
            claim.facts.length ? ", since" : "",
            h("ul", {}, ...claim.facts.map((fact) => h("li", {}, fact))),
          ),
        ),
        ...access.missing.map((part) => h("p", { class: "access-missing" }, h("code", {}, part), " is not proved")),
        h(
          "p",
          { class: "remark-meta" },
          h("button", { class: "link", onclick: () => this.link.choose(where) }, placeName(access.src)),
        ),
      ),
    );
  }

  /** Marks are of the text that they were made for, and seen while this pane is. */
  private mark(): void {
    this.marks(this.visible && this.of && sameText(this.of, this.model.now) ? this.accesses : []);
  }
}

export const pane: PaneKind = {
  id: "bounds",
  title: "Bounds",
  order: 50,
  group: "Cost",
  about: "checks of indices and slices: proved, checked when it runs",
  make: ({ model, link, mark }) => new BoundsPane(model, link, mark),
};
