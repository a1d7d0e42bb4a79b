// What functions and their statements cost, as formulas in the program's sizes.
import { h, replace } from "../dom";
import type { Link } from "../link";
import { placeName } from "../spans";
import { AnsweredPane, type Asked } from "./asking";
import type { CostFormula, FormulasAnswer, FunctionFormula, StatementFormula } from "../types";
import type { PaneKind } from "./pane";

const PARTS = {
  work: "operations, and elements read and written",
  span: "the same along the longest chain of dependent steps",
  moved: "bytes of the elements read and written",
  made: "bytes of the arrays made",
} as const;
type Part = keyof typeof PARTS;
const NAMES = Object.keys(PARTS) as Part[];

class Formulas implements Asked<"formulas"> {
  readonly what = "Costs are told as formulas";
  readonly ask = "formulas";

  constructor(private readonly link: Link) {}

  draw(answer: FormulasAnswer, place: HTMLElement): void {
    const told = answer.amounts.map((one) =>
      h("p", { class: "remark-hint" }, h("code", {}, one), ": only a run tells it"),
    );
    replace(
      place,
      h("p", { class: "quiet" }, `Costs of one call, or of one execution of a statement, in stage ${answer.stage}.`),
      ...answer.functions.flatMap((one) => this.of(one)),
      ...told,
      ...NAMES.map((name) => h("p", { class: "quiet cost-part" }, h("code", {}, name), `: ${PARTS[name]}`)),
    );
  }

  private of(one: FunctionFormula): HTMLElement[] {
    const head = NAMES.map((name) => h("th", { scope: "col", title: PARTS[name] }, name));
    const rows = one.statements.map((stm) => this.row(stm));
    const table = h(
      "table",
      { class: "cells-table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, one.name), ...head)),
      h("tbody", {}, h("tr", {}, h("th", { scope: "row" }, "all"), ...cells(one.cost)), ...rows),
    );
    const scrolled = { class: "table-scroll", tabindex: 0, role: "group", "aria-label": `Costs of ${one.name}` };
    const left = one.unknown.map((reason) => h("p", { class: "remark-hint" }, `Not counted: ${reason}.`));
    return [h("div", scrolled, table), ...left];
  }

  private row(stm: StatementFormula): HTMLElement {
    const where = { spans: stm.src, origin: "formulas", line: -1 };
    const [place] = stm.src;
    const name = h("code", {}, `${"  ".repeat(stm.depth)}${stm.text}`);
    const jump = place
      ? h("button", { class: "link", onclick: () => this.link.choose(where), title: placeName(place) }, name)
      : name;
    const told = stm.free ? [h("td", { colspan: NAMES.length }, "free")] : cells(stm.cost);
    return h(
      "tr",
      { onmouseenter: () => this.link.hover(where), onmouseleave: () => this.link.hover(null) },
      h("th", { scope: "row" }, jump),
      ...told,
    );
  }
}

const cells = (cost: CostFormula): HTMLElement[] =>
  NAMES.map((name) => h("td", {}, cost.at_most ? "at most " : "", h("code", {}, cost[name])));

export const pane: PaneKind = {
  id: "formulas",
  title: "Formulas",
  order: 62,
  group: "Cost",
  about: "work, span, bytes moved and made as formulas in sizes; what is free",
  make: ({ model, link }) => new AnsweredPane(model, new Formulas(link)),
};
