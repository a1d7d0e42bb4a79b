// One question: do two LMADs ever share a cell? The answer, both sets on one grid, and the proof.
import * as client from "../client";
import { debounce, h, quoted, replace } from "../dom";
import { readLmad, tidy } from "../memory/formula";
import { symbolField } from "../memory/symbols";
import { messageElement } from "../problems";
import type { Assumptions, CellSets, Proved } from "../types";
import { cellsOfTerm, columnsFor, drawSets, setsTable, sizeFor, swatch, type Sets } from "./grid";
import { factList, stepTree } from "./steps";
import { inequality, inWords } from "./words";

export interface Question {
  names: readonly [string, string];
  lmads: readonly [string, string];
  assumptions: Assumptions;
  proved: Proved;
}

const MARK = { disjoint: "✓", overlap: "✗", unknown: "?" } as const;
const TONE = { disjoint: "good", overlap: "bad", unknown: "open" } as const;

export class PairView {
  readonly element = h("div", { class: "pair" });
  private readonly fields = h("div", { class: "symbols" });
  private readonly picture = h("div", { class: "picture" });
  private readonly proof = h("div", { class: "proof" });
  private question: Question | null = null;
  private values: Record<string, number> = {};
  private found: CellSets | null = null;
  private columns = 0;
  private table = false;
  private wanted = 0;

  constructor() {
    this.picture.addEventListener("mouseover", (event) => this.light(termOf(event.target)));
    this.picture.addEventListener("mouseleave", () => this.light(null));
    this.picture.addEventListener("focusin", (event) => this.light(termOf(event.target)));
    this.picture.addEventListener("focusout", () => this.light(null));
  }

  /** Ask nothing more and show nothing. */
  clear(): void {
    this.wanted += 1;
    this.question = null;
    replace(this.element);
  }

  async show(question: Question): Promise<void> {
    this.question = question;
    this.columns = 0;
    this.found = null;
    this.fields.dataset["for"] = "";
    replace(this.element, this.verdict(question), this.fields, this.picture, this.proof);
    replace(this.picture);
    replace(this.proof);
    await this.load(question.proved.witness?.values ?? {});
  }

  private async load(values: Record<string, number>): Promise<void> {
    const { question } = this;
    const mine = ++this.wanted;
    if (!question) return;
    const answer = await client.cellSets(question.assumptions, [...question.lmads], values);
    if (mine !== this.wanted) return;
    if (!answer.ok) return replace(this.picture, messageElement(answer.error));
    this.found = answer;
    this.values = answer.values;
    this.inputs(answer);
    this.draw();
    this.steps(question);
  }

  private verdict({ proved, names }: Question): HTMLElement {
    const [a, b] = names;
    const { verdict, witness, missing } = proved;
    const text = verdict === "disjoint"
      ? `${sentence(a)} and ${b} never share a cell, whatever the values.`
      : verdict === "overlap" ? `${sentence(a)} and ${b} share a cell.`
        : `It is not decided whether ${a} and ${b} share a cell.`;
    return h("div", { class: `pair-verdict ${TONE[verdict]}`, role: "status" },
      h("p", {}, h("span", { class: "pair-mark", "aria-hidden": "true" }, MARK[verdict]), h("strong", {}, text)),
      verdict === "disjoint" && proved.checked ? h("p", { class: "quiet" }, "Proved, and accepted by an independent checker.") : null,
      witness ? h("p", {}, "Witness: cell ", h("code", {}, witness.cell), ...(Object.keys(witness.values).length
        ? [" for ", h("code", {}, Object.entries(witness.values).map(([name, value]) => `${name} = ${value}`).join(", "))] : []), ".") : null,
      verdict === "unknown" && missing
        ? h("p", {}, "It was not shown that ", ...quoted(inWords(missing)), ". With that, the proof would go through; without it, nothing is rewritten.")
        : verdict === "unknown" ? h("p", {}, proved.reason) : null);
  }

  private inputs({ symbols }: CellSets): void {
    const signature = symbols.join();
    if (this.fields.dataset["for"] === signature) return;
    this.fields.dataset["for"] = signature;
    const reload = debounce(100, () => void this.load(this.values));
    replace(this.fields, ...symbols.map((name) => symbolField(name, this.values[name]!, (value) => {
      this.values = { ...this.values, [name]: value };
      reload();
    }, -1000)));
  }

  private draw(): void {
    const { question, found } = this;
    if (!question || !found) return;
    const [a, b] = found.lmads;
    if (!a || !b) return;
    const given: Sets = { names: question.names, sets: [a, b], shared: found.shared };
    const columns = this.columns || columnsFor(given.sets, Object.values(found.values));
    const size = sizeFor(given.sets, columns);
    const witness = question.proved.witness;
    const here = witness && Object.entries(witness.values).every(([name, value]) => (this.values[name] ?? value) === value) ? witness.cell : null;
    replace(this.picture,
      found.broken.length ? h("p", { class: "broken" }, "These values do not meet ",
        ...found.broken.slice(0, 3).flatMap((claim, k) => [k ? ", " : "", h("code", {}, inequality(claim))]),
        ": the answer says nothing about them.") : null,
      this.legend(question, found), this.tools(columns),
      this.table ? h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Both sets as a table" }, setsTable(given))
        : !a.points.length && !b.points.length ? h("p", { class: "empty" }, "Both sets are empty for these values.")
          : size ? h("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": "Both sets in the block" },
            drawSets(given, size, Math.max(260, this.element.clientWidth), here))
            : h("p", { class: "empty" }, "The two sets are too far apart or too large to draw: choose smaller values, or the table."),
      a.complete && b.complete ? null : h("p", { class: "quiet" }, "Of the larger set only the first cells are shown."));
  }

  /** Each set with its pattern, its formula by terms, and how many cells it has here. */
  private legend(question: Question, found: CellSets): HTMLElement {
    const row = (which: 0 | 1) => {
      const { offset, dims } = readLmad(question.lmads[which]);
      const set = found.lmads[which]!;
      const term = (dimension: number, text: string, means: string) => h("button", {
        class: "term", "data-set": which, "data-dimension": dimension, title: means, "aria-label": `${text}: ${means}`,
      }, text);
      const name = question.names[which];
      return h("li", {}, swatch(which ? "b" : "a"),
        h("div", {}, h("strong", {}, sentence(name)), h("span", { class: "quiet" }, ` ${set.count} ${set.count === 1 ? "cell" : "cells"} here`),
          h("p", { class: "terms" },
            term(-1, tidy(offset), `begins at cell ${set.offset}`),
            ...dims.flatMap(({ size, stride }, k) => [" + ",
              term(k, `(${tidy(size)} : ${tidy(stride)})`, `${set.dims[k]?.[0]} steps of ${set.dims[k]?.[1]} cells`)]))));
    };
    return h("ul", { class: "legend" }, row(0), row(1),
      found.shared.length ? h("li", {}, swatch("both"), h("div", {}, h("strong", {}, "In both"),
        h("span", { class: "quiet" }, ` ${found.shared.length} ${found.shared.length === 1 ? "cell" : "cells"} here`))) : null);
  }

  private tools(columns: number): HTMLElement {
    const width = h("input", { type: "number", min: 1, max: 200, value: columns, "aria-label": "Cells in a row" });
    width.addEventListener("change", () => {
      if (!(width.valueAsNumber >= 1)) return;
      this.columns = Math.min(200, width.valueAsNumber);
      this.draw();
    });
    const choice = (name: string, table: boolean) => h("button", {
      "aria-pressed": String(this.table === table),
      onclick: () => {
        this.table = table;
        this.draw();
      },
    }, name);
    return h("div", { class: "pair-tools" },
      h("div", { class: "segmented", role: "group", "aria-label": "How the sets are shown" }, choice("Drawing", false), choice("Table", true)),
      this.table ? null : h("label", { class: "symbol" }, "cells in a row ", width));
  }

  private steps({ proved }: Question): void {
    const size = proved.steps.length ? countSteps(proved.steps) : 0;
    const before = [...this.proof.querySelectorAll("details")].map((part) => part.open);
    replace(this.proof,
      proved.steps.length ? h("h2", {}, "Proof", h("span", { class: "quiet" }, `${size} ${size === 1 ? "step" : "steps"}, for all values`)) : null,
      proved.steps.length ? stepTree(proved.steps, this.values) : null,
      factList(proved));
    // Other values leave the tree as its reader had it.
    const after = [...this.proof.querySelectorAll("details")];
    if (before.length === after.length) after.forEach((part, k) => (part.open = before[k]!));
  }

  private light(term: HTMLElement | null): void {
    const { found } = this;
    const set = term ? found?.lmads[Number(term.dataset["set"])] : undefined;
    const lit = set && term ? cellsOfTerm(set, Number(term.dataset["dimension"])) : new Set<number>();
    for (const cell of this.picture.querySelectorAll<SVGElement>(".set-cell")) {
      cell.classList.toggle("pointed", lit.has(Number(cell.dataset["cell"])));
    }
  }
}

const termOf = (target: EventTarget | null): HTMLElement | null => (target as Element).closest<HTMLElement>(".term");

const sentence = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

function countSteps(steps: Proved["steps"]): number {
  return steps.reduce((sum, step) => sum + 1 + countSteps(step.parts), 0);
}
