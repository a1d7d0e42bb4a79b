// One question: do two LMADs ever share a cell? The answer, both sets on one grid, and the proof.
import * as client from "../client";
import { arrange, debounce, h, onWidth, replace } from "../dom";
import type { Link } from "../link";
import { SymbolFields } from "../memory/symbols";
import { messageElement } from "../messages";
import { namesIn } from "../polynomial";
import { Sizes } from "../sizes";
import type { Proved } from "../kept";
import type { Cells, CellsOfLmadsAnswer } from "../types";
import { FactBook } from "./facts";
import {
  acrossOf,
  ALL_COLUMNS,
  cellsOfTerm,
  columnsFor,
  drawSets,
  isExact,
  rowsOf,
  setsTable,
  WINDOW,
  type Sets,
} from "./grid";
import { legend, verdict } from "./legend";
import { countSteps, stepTree } from "./steps";
import { ThreeWays } from "./three_ways";
import { WindowSlider } from "./window";
import { inequality, type Assumptions } from "./words";

export interface Question {
  names: readonly [string, string];
  lmads: readonly [Cells, Cells];
  assumptions: Assumptions;
  proved: Proved;
  /** Its subject: chosen values are kept for other questions with the same subject. */
  about: string;
  /** The block that the cells are of, if it has a name. */
  block?: string;
}

export class PairView {
  readonly element = h("div", { class: "pair" });
  private readonly fields = new SymbolFields(-1000);
  private readonly picture = h("div", { class: "picture" });
  private readonly tools = h("div", { class: "pair-tools" });
  private readonly told = h("div", {});
  private readonly proof = h("div", { class: "proof" });
  private readonly ways = new ThreeWays();
  private question: Question | null = null;
  private facts: FactBook | null = null;
  /** Those that are drawn, and those that were typed, by what they were typed for. */
  private values: Record<string, number> = {};
  private readonly typed = new Map<string, Record<string, number>>();
  private readonly reload = debounce(100, () => void this.load());
  private found: CellsOfLmadsAnswer | null = null;
  private columns = 0;
  private from = { rows: 0, across: 0 };
  private table = false;
  private wanted = 0;

  /**
   * `valued` is told the values that are drawn. Of a program's attempt (`link`) more is said above the pair, and the
   * picture comes first, so that it is in sight; to who types the answer does.
   */
  constructor(
    private readonly link: Link | null = null,
    private readonly valued?: (values: Record<string, number>) => void,
    private readonly sizes = new Sizes(),
    /** True if a name is a size of the program, which all panes share. */
    private readonly isSize: (name: string) => boolean = () => false,
  ) {
    this.sizes.on((by) => by === this || this.reload());
    this.told.addEventListener("mouseover", (event) => this.light(termOf(event.target)));
    this.told.addEventListener("mouseleave", () => this.light(null));
    this.told.addEventListener("focusin", (event) => this.light(termOf(event.target)));
    this.told.addEventListener("focusout", () => this.light(null));
    onWidth(this.picture, () => this.draw());
  }

  /** Ask nothing more and show nothing. */
  clear(): void {
    this.wanted += 1;
    this.question = null;
    for (const part of [this.element, this.picture, this.tools, this.told, this.proof]) replace(part);
  }

  /** `next`: what stands behind the answer. */
  async show(question: Question, ...next: (HTMLElement | null)[]): Promise<void> {
    this.question = question;
    this.facts = new FactBook(question.proved, this.link);
    this.columns = 0;
    this.from = { rows: 0, across: 0 };
    this.found = null;
    const answer = verdict(question.proved, question.names);
    const seen = this.link ? [this.picture, answer] : [answer, this.picture];
    arrange(
      this.element,
      ...seen,
      ...next.flatMap((part) => part ?? []),
      this.tools,
      this.fields.element,
      this.told,
      this.proof,
      this.ways.element,
    );
    this.ways.of(...question.lmads, question.assumptions);
    // The picture and the proof of the last question stay until these are there: nothing jumps.
    await this.load();
  }

  private async load(): Promise<void> {
    const { question } = this;
    const mine = ++this.wanted;
    if (!question) return;
    const chosen = this.sizes.of(namesIn(question.lmads).filter(this.isSize));
    const values = { ...question.proved.witness?.values, ...chosen, ...this.typed.get(question.about) };
    const answer = await client.ask("cells", { assumptions: question.assumptions, lmads: [...question.lmads], values });
    if (mine !== this.wanted) return;
    if (!answer.ok) {
      replace(this.proof);
      replace(this.told);
      replace(this.tools);
      return replace(this.picture, messageElement(answer.error));
    }
    this.found = answer;
    this.values = answer.values;
    this.valued?.(answer.values);
    this.ways.follow(answer.values);
    this.inputs(answer, question);
    this.draw();
    this.steps(question);
  }

  /** Make the fields of a question; typed values belong to it, also while the next one is unanswered. */
  private inputs({ symbols, values }: CellsOfLmadsAnswer, { about }: Question): void {
    const typed = this.typed.get(about) ?? {};
    this.typed.set(about, typed);
    this.fields.show(
      symbols.map((name) => ({ name, label: name, value: typed[name] ?? values[name]! })),
      (name, value) => {
        if (this.isSize(name)) this.sizes.choose(name, value, this);
        else typed[name] = value;
        this.reload();
      },
    );
  }

  private draw(): void {
    const { question, found } = this;
    if (!question || !found) return;
    const [a, b] = found.lmads;
    if (!a || !b) return;
    const given: Sets = { names: question.names, sets: [a, b], shared: found.shared };
    const exact = given.sets.every(isExact);
    const partial = question.names.filter((_, k) => !given.sets[k]!.complete);
    const columns = this.columns || columnsFor(given.sets, Object.values(found.values));
    replace(
      this.picture,
      found.broken.length
        ? h(
            "p",
            { class: "broken" },
            "These values do not satisfy ",
            ...found.broken.slice(0, 3).flatMap((claim, k) => [k ? ", " : "", h("code", {}, inequality(claim))]),
            ": the answer says nothing about them.",
          )
        : null,
      ...(!exact
        ? [
            h(
              "p",
              { class: "empty" },
              "Cells whose numbers have more than 53 bits are not shown: choose smaller values.",
            ),
          ]
        : this.table
          ? [
              h(
                "div",
                { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Both sets as a table" },
                setsTable(given),
              ),
            ]
          : !a.points.length && !b.points.length
            ? [h("p", { class: "empty" }, "Both sets are empty for these values.")]
            : this.drawing(given, columns, question.proved)),
    );
    this.control(columns);
    replace(
      this.told,
      this.table || !exact
        ? null
        : h(
            "p",
            { class: "quiet" },
            "Each square is a cell of ",
            question.block ? h("code", {}, question.block) : "the block",
            "; the row's first cell is at the left, the distance from it above.",
          ),
      legend(question.lmads, question.names, found),
      !partial.length || !exact
        ? null
        : h("p", { class: "quiet" }, `Of ${partial.join(" and ")} only the first cells are shown.`),
    );
  }

  /** The rows and columns that are seen, and sliders to the others. */
  private drawing(given: Sets, columns: number, { witness }: Proved): HTMLElement[] {
    const here =
      witness && Object.entries(witness.values).every(([name, value]) => (this.values[name] ?? value) === value)
        ? witness.cell
        : null;
    const all = rowsOf(given.sets, columns);
    const view = h("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": "Both sets in the block" });
    const paint = (): void => {
      down.of(all.length);
      const rows = all.slice(down.from, down.from + WINDOW);
      const wide = acrossOf(given.sets, columns, rows);
      sideways.of(columns > ALL_COLUMNS ? wide.length : 0);
      const across = columns > ALL_COLUMNS ? wide.slice(sideways.from, sideways.from + WINDOW) : wide;
      replace(view, drawSets(given, { columns, rows, across }, Math.max(260, this.picture.clientWidth), here));
    };
    const down = new WindowSlider("rows", this.from.rows, (from) => {
      this.from.rows = from;
      paint();
    });
    const sideways = new WindowSlider("columns", this.from.across, (from) => {
      this.from.across = from;
      paint();
    });
    paint();
    return [view, down.element, sideways.element];
  }

  private control(columns: number): void {
    const width = h("input", {
      type: "number",
      min: 1,
      max: 1_000_000,
      value: columns,
      "aria-label": "Cells in a row",
    });
    width.addEventListener("change", () => {
      if (!(width.valueAsNumber >= 1)) return;
      this.columns = Math.min(1_000_000, width.valueAsNumber);
      this.draw();
    });
    const choice = (name: string, table: boolean) =>
      h(
        "button",
        {
          "aria-pressed": String(this.table === table),
          onclick: () => {
            this.table = table;
            this.draw();
          },
        },
        name,
      );
    const focused = [...this.tools.querySelectorAll("button, input")].indexOf(document.activeElement!);
    replace(
      this.tools,
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": "How the sets are shown" },
        choice("Drawing", false),
        choice("Table", true),
      ),
      this.table ? null : h("label", { class: "symbol" }, "cells in a row ", width),
    );
    this.tools.querySelectorAll<HTMLElement>("button, input")[focused]?.focus();
  }

  private steps(question: Question): void {
    const { facts } = this;
    const { proved } = question;
    if (!facts) return;
    const size = countSteps(proved.steps);
    const before = [...this.proof.querySelectorAll("details")].map((part) => part.open);
    replace(
      this.proof,
      size
        ? h(
            "h2",
            {},
            "Proof",
            h("span", { class: "quiet" }, `${size} ${size === 1 ? "step" : "steps"}, for all values`),
            certificate(question),
          )
        : null,
      size ? stepTree(proved.steps, this.values, facts) : null,
      facts.element(size > 0),
    );
    // Other values leave the tree as its reader had it.
    const after = [...this.proof.querySelectorAll("details")];
    if (before.length === after.length) for (const [k, part] of after.entries()) part.open = before[k]!;
  }

  private light(term: HTMLElement | null): void {
    const { found } = this;
    const set = term ? found?.lmads[Number(term.dataset.set)] : undefined;
    const lit = set && term ? cellsOfTerm(set, Number(term.dataset.dimension)) : new Set<number>();
    for (const cell of this.picture.querySelectorAll<SVGElement>(".set-cell")) {
      cell.classList.toggle("pointed", lit.has(Number(cell.dataset.cell)));
    }
  }
}

/** The proof to take along: what is claimed, what is assumed, and every step with its sums of facts. */
function certificate({ lmads: [a, b], proved }: Question): HTMLElement {
  const text = JSON.stringify(
    { a, b, facts: proved.facts, verdict: proved.verdict, checked: proved.checked, steps: proved.steps },
    null,
    1,
  );
  return h(
    "a",
    {
      class: "certificate",
      download: "certificate.json",
      href: `data:application/json;charset=utf-8,${encodeURIComponent(text)}`,
    },
    "certificate",
  );
}

const termOf = (target: EventTarget | null): HTMLElement | null => (target as Element).closest<HTMLElement>(".term");
