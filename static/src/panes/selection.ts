// What is selected, and what became of it: its lines in every stage, and the remarks on it.
import * as client from "../client";
import type { Answer } from "../client";
import { debounce, h, quoted, replace } from "../dom";
import type { Link } from "../link";
import { fateOf } from "../fate";
import type { Model, Text } from "../model";
import { messageElement } from "../messages";
import { contains, excerpt, fileOf, hueAt, hueOf, keyOf, occurrenceIn, placeName } from "../spans";
import { about, called, isGuard, KINDS, kindOf, pointOf, sourcesOf } from "../proof/attempts";
import type { Attempt } from "../kept";
import type { Occurrence, OccurrencesAnswer, Span, StageInfo } from "../types";
import { remarkItem } from "./remarks";
import type { Desk, PaneKind } from "./pane";

export class SelectionPane {
  readonly element = h("div", { class: "scroll selection" });
  private readonly tried = h("div", {});
  private readonly fates = h("div", {});
  /** The place whose fates are drawn. */
  private drawn = "";
  /** The text and place of the fates, and the answer. */
  private told: { of: Text; place: string; answer: Promise<Answer<OccurrencesAnswer>> } | null = null;
  private visible = false;

  private readonly model: Model;
  private readonly link: Link;

  constructor(private readonly desk: Desk) {
    const { model, link } = desk;
    this.model = model;
    this.link = link;
    const soon = debounce(60, () => this.draw());
    model.on("stages", soon);
    model.on("status", () => {
      void this.attempts();
      void this.fate();
    });
    link.on((_, chosen) => chosen && this.draw());
  }

  show(visible: boolean): void {
    this.visible = visible;
    this.draw();
  }

  /** Show that the selection was built in its place, or why it was copied. */
  private async attempts(): Promise<void> {
    const place = this.link.chosen?.spans[0];
    const { made, frozen } = this.model;
    if (!this.visible || !place || !made || (frozen && !frozen.attempts)) return;
    const found = await this.desk.attempts.load();
    if (this.model.made !== made || this.link.chosen?.spans[0] !== place) return;
    const all = found.ok ? found.attempts : [];
    const [here, source] = [about(all, place).slice(0, 8), sourcesOf(all)];
    replace(
      this.tried,
      here.length ? h("h2", {}, "Built in place, or copied?") : null,
      here.length
        ? h("ul", { class: "remarks" }, ...here.map((attempt) => this.attempt(attempt, source(attempt))))
        : null,
    );
  }

  private attempt(attempt: Attempt, source: string): HTMLElement {
    const kind = KINDS[kindOf(attempt)];
    return h(
      "li",
      { class: `remark ${attempt.done ? "applied" : "missed"}` },
      h("span", { class: "remark-sign", "aria-hidden": "true" }, kind.sign),
      h(
        "div",
        {},
        h(
          "p",
          {},
          ...(isGuard(attempt)
            ? []
            : [
                h("code", {}, source),
                " into ",
                h("code", {}, called(attempt, attempt.destination)),
                `: ${kind.words}. `,
              ]),
          ...quoted(attempt.because),
        ),
        h(
          "p",
          { class: "remark-meta" },
          h("span", {}, pointOf(attempt)),
          h(
            "button",
            { class: "link", onclick: () => this.desk.attempts.show(attempt) },
            attempt.done ? "see the proof" : "see the attempts",
          ),
        ),
      ),
    );
  }

  private draw(): void {
    if (!this.visible) return;
    const place = this.link.chosen?.spans[0];
    if (!place) {
      replace(
        this.element,
        h(
          "p",
          { class: "empty" },
          "Click an expression in the source, or a line of any stage. Its path through the compiler appears here.",
        ),
      );
      return;
    }
    replace(
      this.element,
      h(
        "p",
        { class: "quiet" },
        h("button", { class: "link", onclick: () => this.desk.goTo(place) }, placeName(place)),
      ),
      h("p", { class: `subject ${hueOf(hueAt(place))}` }, h("code", {}, excerpt(this.model.textAt(place), place, 160))),
      this.headline(place),
      this.steps(),
      this.tried,
      h("h2", {}, "Through the compiler"),
      this.fates,
      ...this.remarks(place),
    );
    replace(this.tried);
    if (this.drawn !== keyOf(place)) replace(this.fates);
    void this.attempts();
    void this.fate();
  }

  /** Return a sentence about its fate. */
  private headline(place: Span): HTMLElement | null {
    const fate = fateOf(this.model.remarks, place);
    return (
      fate &&
      h(
        "p",
        { class: "headline" },
        fate.text,
        " ",
        h("button", { class: "link", onclick: () => this.desk.goTo(fate.other) }, "show it"),
      )
    );
  }

  private steps(): HTMLElement {
    const step = (by: number, sign: string, name: string) =>
      h(
        "button",
        {
          "aria-label": `${name} occurrence`,
          title: by > 0 ? "F4" : "Shift+F4",
          onclick: () => this.desk.occurrence(by),
        },
        sign,
      );
    return h("p", { class: "occurrences" }, "In the current pane: ", step(-1, "↑", "Previous"), step(1, "↓", "Next"));
  }

  /** Its lines at each stage; what was told of an earlier text stays until that is known. */
  private async fate(): Promise<void> {
    const place = this.link.chosen?.spans[0];
    const { model } = this;
    const of = model
      .present()
      .map(({ id }) => model.stages.get(id)!)
      .find(({ stale }) => !stale)?.of;
    if (!this.visible || !place || model.isCompiling) return;
    const answer = of && !model.frozen ? await this.occurrences(of, place) : null;
    if (place !== this.link.chosen?.spans[0] || (answer && this.told?.of !== of)) return;
    this.drawn = keyOf(place);
    if (answer && !answer.ok) {
      this.told = null; // so that it is asked again
      return replace(this.fates, messageElement(answer.error));
    }
    replace(
      this.fates,
      this.table((info) =>
        answer ? answer.stages[info.id] : occurrenceIn(model.stages.get(info.id)!.lines ?? [], place),
      ),
    );
  }

  private occurrences(of: Text, place: Span): Promise<Answer<OccurrencesAnswer>> {
    const key = keyOf(place);
    if (this.told?.of === of && this.told.place === key) return this.told.answer;
    const [line, column, end_line, end_column] = place;
    const answer = client.post("occurrences", { ...of, file: fileOf(place), line, column, end_line, end_column });
    this.told = { of, place: key, answer };
    return answer;
  }

  private table(occurrence: (info: StageInfo) => Occurrence | undefined): HTMLElement {
    let before = -1;
    const rows = this.model.present().map((info) => {
      const found = occurrence(info);
      if (this.model.stages.get(info.id)!.stale || !found) return notReached(info.title);
      const { lines, text } = found;
      const gone = !lines && before > 0;
      before = lines;
      const what = lines
        ? h("code", {}, text)
        : h(
            "span",
            { class: "quiet" },
            text ? "a part of " : gone ? "gone" : "no line of its own",
            text ? h("code", {}, text) : null,
          );
      return h(
        "tr",
        { class: gone && !text ? "gone" : "" },
        h("th", { scope: "row" }, h("button", { class: "link", onclick: () => this.desk.open(info.id) }, info.title)),
        h("td", { class: "amount" }, lines || (text ? "·" : "–")),
        h("td", {}, what),
      );
    });
    return h(
      "table",
      { class: "fate" },
      h("colgroup", {}, h("col", { class: "col-stage" }), h("col", { class: "col-amount" }), h("col", {})),
      h(
        "thead",
        { class: "visually-hidden" },
        h("tr", {}, h("th", {}, "Stage"), h("th", {}, "Lines"), h("th", {}, "First line")),
      ),
      h("tbody", {}, ...rows),
    );
  }

  private remarks(place: Span): HTMLElement[] {
    const others = this.model.remarks.filter((remark) => !remark.rule.startsWith("shortcircuit/"));
    const found = others.filter((remark) => remark.src.some((span) => contains(place, span)));
    const around = found.length ? found : others.filter((r) => r.src[0] && contains(r.src[0], place));
    if (!around.length) return [];
    return [
      h("h2", {}, "Why"),
      h(
        "ul",
        { class: "remarks" },
        ...around
          .slice(0, 30)
          .map((remark) => remarkItem(remark, this.model, this.link, (one) => this.desk.attempts.showOf(one))),
      ),
    ];
  }
}

function notReached(title: string): HTMLElement {
  return h(
    "tr",
    { class: "gone" },
    h("th", { scope: "row" }, title),
    h("td", { class: "amount" }, "–"),
    h("td", {}, h("span", { class: "quiet" }, "not used by the current program")),
  );
}

export const pane: PaneKind = {
  id: "selection",
  title: "Selection",
  order: 30,
  group: "Why",
  about: "the selected expression in all stages: its lines, fusion, copies",
  make: (desk) => new SelectionPane(desk),
};
