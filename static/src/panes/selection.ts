// What is selected, and what became of it: its lines in every stage, and the remarks on it.
import { h, replace } from "../dom";
import type { Link } from "../link";
import { hueOf } from "../margin";
import type { Model } from "../model";
import { contains, excerpt, linesFor, placeName } from "../spans";
import type { Span } from "../types";
import { remarkItem } from "./remarks";

export interface SelectionEvents {
  open(stage: string): void;
  goTo(span: Span): void;
}

export class SelectionPane {
  readonly element = h("div", { class: "scroll selection" });

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly events: SelectionEvents,
  ) {
    model.on("stages", () => this.draw());
    link.on((_, chosen) => chosen && this.draw());
    this.draw();
  }

  private draw(): void {
    const place = this.link.chosen?.spans[0];
    if (!place) {
      replace(this.element, h("p", { class: "empty" },
        "Click an expression in the source, or a line of any stage. Its way through the compiler is told here."));
      return;
    }
    replace(this.element,
      h("p", { class: "quiet" }, h("button", { class: "link", onclick: () => this.events.goTo(place) }, placeName(place))),
      h("p", { class: `subject ${hueOf(place[0])}` }, h("code", {}, excerpt(this.model.source, place, 160))),
      h("h2", {}, "Through the compiler"), this.fate(place), ...this.remarks(place));
  }

  private fate(place: Span): HTMLElement {
    let before = -1;
    const rows = this.model.present().map((info) => {
      const lines = this.model.stages.get(info.id)!.lines;
      const { strong, weak } = linesFor(lines, place);
      const words = (numbers: readonly number[]) => lines[numbers.find((k) => /\w/.test(lines[k]!.text)) ?? numbers[0]!]!.text.trim();
      const first = strong[0] ?? weak[0];
      const gone = !strong.length && before > 0;
      before = strong.length;
      const what = strong.length
        ? h("code", {}, words(strong))
        : h("span", { class: "quiet" }, weak.length ? "a part of " : gone ? "gone" : "no line of its own",
          weak.length ? h("code", {}, words(weak)) : null);
      return h("tr", { class: gone ? "gone" : "" },
        h("th", { scope: "row" }, h("button", { class: "link", onclick: () => this.events.open(info.id) }, info.title)),
        h("td", { class: "amount" }, strong.length || (first === undefined ? "–" : "·")),
        h("td", {}, what));
    });
    return h("table", { class: "fate" },
      h("colgroup", {}, h("col", { class: "col-stage" }), h("col", { class: "col-amount" }), h("col", {})),
      h("thead", { class: "visually-hidden" }, h("tr", {}, h("th", {}, "Stage"), h("th", {}, "Lines"), h("th", {}, "First line"))),
      h("tbody", {}, ...rows));
  }

  private remarks(place: Span): HTMLElement[] {
    const found = this.model.remarks.filter((remark) => remark.src.some((span) => contains(place, span)));
    const around = found.length ? found : this.model.remarks.filter((r) => r.src[0] && contains(r.src[0], place));
    if (!around.length) return [];
    return [h("h2", {}, "Why"), h("ul", { class: "remarks" },
      ...around.slice(0, 30).map((remark) => remarkItem(remark, this.model, this.link)))];
  }
}
