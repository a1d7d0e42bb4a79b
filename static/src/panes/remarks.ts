// The remarks: every decision of the compiler, as sentences, with their places; and the rules that they name.
import * as client from "../client";
import { h, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link } from "../link";
import type { Model, Text } from "../model";
import { contains, fileOf, placeName } from "../spans";
import type { Remark } from "../types";
import { AskingPane } from "./asking";
import type { PaneKind } from "./pane";

const SIGNS: Record<string, string> = { applied: "✓", missed: "✗", note: "i" };
const WORDS: Record<string, string> = { applied: "done", missed: "not done", note: "note" };

/** Called by a remark's button for its proof. */
export type ShowProof = (remark: Remark) => void;

const IN_PLACE = "shortcircuit/";
const MOST = 200;

/** A rule's name, which leads to its page. */
const ruleLink = (rule: string): HTMLElement =>
  h("a", { href: `/rules/${rule}`, target: "_blank" }, h("code", {}, rule));

/** One remark as a list item; its place can be chosen. */
export function remarkItem(remark: Remark, model: Model, link: Link, proof: ShowProof): HTMLElement {
  const place = remark.src[0];
  // The main program, whose places have no file, is called from nowhere.
  const caller = place && fileOf(place) ? remark.src.find((span) => fileOf(span) !== fileOf(place)) : undefined;
  const stage = model.info(remark.stage)?.title ?? remark.stage;
  const select = () => place && link.choose({ spans: remark.src, origin: "remarks", line: -1 });
  return h(
    "li",
    {
      class: `remark ${remark.kind}`,
      onmouseenter: () => place && link.hover({ spans: remark.src, origin: "remarks", line: -1 }),
      onmouseleave: () => link.hover(null),
    },
    h("span", { class: "remark-sign", "aria-hidden": "true" }, SIGNS[remark.kind] ?? "·"),
    h(
      "div",
      {},
      h("p", { class: "remark-text" }, ...quoted(remark.because)),
      remark.hint ? h("p", { class: "remark-hint" }, ...quoted(remark.hint)) : null,
      h(
        "p",
        { class: "remark-meta" },
        h("span", { class: "visually-hidden" }, `${WORDS[remark.kind] ?? remark.kind}, `),
        place ? h("button", { class: "link", onclick: select }, placeName(place)) : null,
        caller
          ? h(
              "span",
              {},
              "called from ",
              h(
                "button",
                {
                  class: "link",
                  onclick: () => link.choose({ spans: [caller], origin: "remarks", line: -1 }),
                },
                placeName(caller),
              ),
            )
          : null,
        remark.rule.startsWith(IN_PLACE)
          ? h(
              "button",
              { class: "link", onclick: () => proof(remark) },
              remark.kind === "applied" ? "see the proof" : "see the attempts",
            )
          : null,
        h("span", {}, stage),
        ruleLink(remark.rule),
        ...remark.numbers.map(([name, value]) => h("span", { class: "number" }, `${name}: ${value}`)),
      ),
    ),
  );
}

/** A table of the rules, which asks for it while it is open. */
class Rules extends AskingPane {
  protected readonly place = h("div", { class: "table-scroll" });
  private readonly fresh = new Fresh(this.model, this.place);
  readonly element = h("details", {}, h("summary", {}, "What the rules do"), this.fresh.element);
  private seenWith = false;

  constructor(model: Model) {
    super(model, "Rules are listed");
    this.element.addEventListener("toggle", () => this.show(this.seenWith));
  }

  /** Record that the remarks are seen or hidden. */
  override show(visible: boolean): void {
    this.seenWith = visible;
    super.show(visible && this.element.open);
  }

  protected async ask(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, client.ask("rules", {}, of));
    if (!answer) return;
    const head = ["Rule", "What it does", "Done", "Not done", "Notes"].map((title) => h("th", { scope: "col" }, title));
    const rows = answer.rules.map((rule) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, ruleLink(rule.id)),
        h(
          "td",
          {},
          rule.does,
          rule.optional ? null : h("span", { class: "quiet" }, " Always on."),
          rule.equation ? h("p", { class: "quiet" }, ...quoted(rule.equation)) : null,
        ),
        ...[rule.applied, rule.missed, rule.notes].map((count) => h("td", {}, String(count))),
      ),
    );
    replace(
      this.place,
      rows.length
        ? h("table", { class: "cells-table" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))
        : h("p", { class: "quiet" }, "No rule has a remark on this program."),
    );
  }
}

export class RemarksPane {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "remarks" });
  private readonly count = h("p", { class: "quiet" });
  private readonly fresh: Fresh;
  private readonly rules: Rules;
  private readonly kinds = new Set(["applied", "missed", "note"]);
  private here = false;
  private visible = false;
  private drawn: readonly Remark[] | null = null;

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly proof: ShowProof,
  ) {
    const toggles = ["applied", "missed", "note"].map((kind) =>
      this.toggle(
        WORDS[kind]!,
        (on) => {
          if (on) this.kinds.add(kind);
          else this.kinds.delete(kind);
        },
        true,
      ),
    );
    const only = this.toggle("only the selection", (on) => (this.here = on), false);
    this.fresh = new Fresh(model, h("div", {}, this.count, this.list));
    this.rules = new Rules(model);
    this.element = h(
      "div",
      { class: "scroll" },
      h("div", { class: "filters", role: "group", "aria-label": "Which remarks" }, ...toggles, only),
      this.rules.element,
      this.fresh.element,
    );
    model.on("stages", () => this.refresh());
    link.on((_, chosen) => chosen && this.here && this.visible && this.draw());
  }

  /** A long list is not drawn while nobody sees it, nor again where it is the same. */
  show(visible: boolean): void {
    this.visible = visible;
    this.rules.show(visible);
    this.refresh();
  }

  private refresh(): void {
    if (this.visible && this.drawn !== this.model.remarks) this.draw();
  }

  private toggle(name: string, change: (on: boolean) => void, on: boolean): HTMLElement {
    const box = h("input", { type: "checkbox", checked: on });
    box.addEventListener("change", () => {
      change(box.checked);
      this.draw();
    });
    return h("label", { class: "check" }, box, name);
  }

  private draw(): void {
    this.drawn = this.model.remarks;
    this.fresh.made(this.model.made, this.model.remarks);
    const place = this.here ? this.link.chosen?.spans[0] : undefined;
    const all = this.model.remarks.filter(
      (remark) =>
        this.kinds.has(remark.kind) &&
        (!place || remark.src.some((span) => contains(place, span) || contains(span, place))),
    );
    const total = this.model.remarks.length;
    this.count.textContent = total
      ? `${all.length === total ? total : `${all.length} of ${total}`} ${total === 1 ? "remark" : "remarks"}`
      : "The compiler has no remarks on this program.";
    replace(
      this.list,
      ...all.slice(0, MOST).map((remark) => remarkItem(remark, this.model, this.link, this.proof)),
      all.length > MOST
        ? h("li", { class: "quiet" }, `and ${all.length - MOST} more: choose a kind, or a place in the source`)
        : null,
    );
  }
}

export const pane: PaneKind = {
  id: "remarks",
  title: "Remarks",
  order: 40,
  group: "Why",
  about: "decisions of the compiler: what was rewritten, what was not, and why; rules",
  make: ({ model, link, attempts }) => new RemarksPane(model, link, (remark) => attempts.showOf(remark)),
};
