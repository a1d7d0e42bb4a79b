// The bounds report: what became of the check of each access, and a mark beside each index in the source.
import * as client from "../client";
import { debounce, h, replace } from "../dom";
import { Fresh } from "../fresh";
import { STATES, type ShowMarks } from "../access_marks";
import type { Link } from "../link";
import type { Model, Text } from "../model";
import { messageElement } from "../problems";
import { placeName } from "../spans";
import { Today } from "./today";
import type { Access } from "../types";

export class BoundsPane {
  readonly element = h("div", { class: "scroll" });
  private readonly content = h("div", {});
  private readonly count = h("p", { class: "quiet", role: "status" });
  private readonly list = h("ul", { class: "remarks accesses", "aria-label": "Accesses" });
  private readonly fresh: Fresh;
  private readonly today: Today;
  private readonly hidden = new Set<string>();
  private accesses: readonly Access[] = [];
  private visible = false;
  private seen: Text | null = null;

  constructor(private readonly model: Model, private readonly link: Link, private readonly marks: ShowMarks) {
    this.fresh = new Fresh(model, this.content);
    this.element.append(this.fresh.element);
    this.today = new Today(model, "Checks are listed", () => void this.refresh());
    const soon = debounce(60, () => void this.refresh());
    model.on("stages", soon);
    model.on("status", soon);
    model.on("source", () => this.mark());
  }

  show(visible: boolean): void {
    this.visible = visible;
    this.mark();
    void this.refresh();
  }

  private async refresh(): Promise<void> {
    const { made } = this.model;
    if (!this.visible || !made || made === this.seen) return;
    if (!this.today.permits(this.content)) return;
    this.seen = made;
    const answer = await client.bounds(made.source, made.options);
    if (this.model.made !== made) return;
    this.fresh.made(made);
    this.accesses = answer.ok ? answer.accesses : [];
    if (answer.ok) replace(this.content, this.filters(), this.count, this.list);
    else replace(this.content, messageElement(answer.error));
    this.draw();
    this.mark();
  }

  private filters(): HTMLElement {
    const present = Object.keys(STATES).filter((state) => this.accesses.some((access) => access.state === state));
    return h("div", { class: "filters", role: "group", "aria-label": "Which accesses" }, ...present.map((state) => {
      const box = h("input", { type: "checkbox", checked: !this.hidden.has(state) });
      box.addEventListener("change", () => {
        if (box.checked) this.hidden.delete(state);
        else this.hidden.add(state);
        this.draw();
      });
      return h("label", { class: "check" }, box, `${STATES[state]!.sign} ${state}`);
    }));
  }

  private draw(): void {
    const shown = this.accesses.filter((access) => !this.hidden.has(access.state));
    const total = this.accesses.length;
    this.count.textContent = total
      ? `${shown.length === total ? total : `${shown.length} of ${total}`} ${total === 1 ? "access" : "accesses"} to arrays`
      : "The program has no index, slice or update.";
    replace(this.list, ...shown.map((access) => this.item(access)));
  }

  private item(access: Access): HTMLElement {
    const where = { spans: [access.src], origin: "bounds", line: -1 };
    return h("li", {
      class: `remark access ${access.state}`,
      onmouseenter: () => this.link.hover(where),
      onmouseleave: () => this.link.hover(null),
    },
    h("span", { class: "remark-sign", "aria-hidden": "true" }, STATES[access.state]!.sign),
    h("div", {},
      h("p", { class: "remark-text" }, h("strong", {}, `${access.kind} ${access.state}. `), access.because),
      ...access.claims.map((claim) => h("div", { class: "access-claim" },
        h("code", {}, claim.says), claim.facts.length ? ", since" : "",
        h("ul", {}, ...claim.facts.map((fact) => h("li", {}, fact))))),
      ...access.missing.map((part) => h("p", { class: "access-missing" }, h("code", {}, part), " is not proved")),
      h("p", { class: "remark-meta" },
        h("button", { class: "link", onclick: () => this.link.choose(where) }, placeName(access.src)))));
  }

  /** Marks are of the text that they were made for, and seen while this pane is. */
  private mark(): void {
    const fresh = this.visible && this.seen !== null && this.seen === this.model.made && this.model.source === this.seen.source;
    this.marks(fresh ? this.accesses : []);
  }
}
