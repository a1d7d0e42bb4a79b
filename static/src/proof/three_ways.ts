// A pair asked of three: the thesis' NOOVERLAP, step by step, this prover, and Z3.
import * as client from "../client";
import { h, replace, s } from "../dom";
import { messageElement } from "../messages";
import { evaluate, pretty, sentence } from "../polynomial";
import type { ByProver, Cells, NoOverlapAnswer, Polynomial, ProcedureStep, StridedSum } from "../types";
import { inequality, type Assumptions } from "./words";

type Values = Readonly<Record<string, number>>;

/** A step with the cases that it is in, such as `1.2`. */
interface Placed {
  step: ProcedureStep;
  within: string;
}

const TITLES: Record<ProcedureStep["rule"], string> = {
  normalise: "Normalise",
  match: "Match strides",
  distribute: "Distribute the offset",
  split: "Split",
  apart: "Compare",
};
const SIGNS = { disjoint: "✓", overlap: "✗", unknown: "?", absent: "–" } as const;
const TONES = { disjoint: "good", overlap: "bad", unknown: "open", absent: "" } as const;
const BAR = 132;

export class ThreeWays {
  private readonly body = h("div", { class: "three-ways-body" });
  readonly element = h(
    "details",
    { class: "three-ways" },
    h("summary", {}, "As the thesis proves it, and Z3"),
    this.body,
  );
  private question: { a: Cells; b: Cells; assumptions: Assumptions } | null = null;
  private answered: NoOverlapAnswer | null = null;
  private values: Values = {};
  private at = 0;
  private wanted = 0;

  constructor() {
    this.element.addEventListener("toggle", () => void this.load());
  }

  /** Another question: it is asked when this is open. */
  of(a: Cells, b: Cells, assumptions: Assumptions): void {
    this.question = { a, b, assumptions };
    this.answered = null;
    this.at = 0;
    this.wanted += 1;
    void this.load();
  }

  /** Other values of the names, which intervals are drawn for. */
  follow(values: Values): void {
    this.values = values;
    if (this.answered) this.draw(this.answered);
  }

  private async load(): Promise<void> {
    const { question } = this;
    if (!this.element.open || !question || this.answered) return;
    const mine = ++this.wanted;
    replace(this.body, h("p", { class: "quiet", role: "status" }, "Asking all three; Z3 has three seconds."));
    const answer = await client.post("no_overlap", { ...question, a: { ...question.a }, b: { ...question.b } });
    if (mine !== this.wanted) return;
    if (!answer.ok) return replace(this.body, messageElement(answer.error));
    this.answered = answer;
    this.draw(answer);
  }

  private draw(answer: NoOverlapAnswer): void {
    const { thesis, ours, z3 } = answer;
    const steps = flat(thesis.steps);
    this.at = Math.min(this.at, steps.length - 1);
    const here = steps[this.at]!;
    const by: ByProver = {
      verdict: thesis.disjoint ? "disjoint" : "unknown",
      because: sentence(thesis.because),
      ms: thesis.ms,
    };
    const focused = [...this.body.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    replace(
      this.body,
      h(
        "table",
        { class: "three-ways-answers" },
        h(
          "thead",
          {},
          h("tr", {}, ...["By", "Answer", "Time", "Because"].map((name) => h("th", { scope: "col" }, name))),
        ),
        h("tbody", {}, row("NOOVERLAP", by), row("Stridescope", ours), row("Z3, of the pair as it is", z3)),
      ),
      h(
        "div",
        { class: "three-ways-steps" },
        h("button", { disabled: this.at === 0, onclick: () => this.go(-1) }, "Back"),
        h("button", { disabled: this.at === steps.length - 1, onclick: () => this.go(1) }, "Next"),
        h(
          "span",
          { role: "status" },
          `Step ${this.at + 1} of ${steps.length}${here.within ? `, case ${here.within}` : ""}`,
        ),
      ),
      h("h3", {}, TITLES[here.step.rule], here.step.failed && here.step.rule !== "split" ? ": it ends here" : ""),
      h("p", {}, sentence(here.step.says)),
      sums(here.step, this.values),
      claims("since", here.step.shown),
      claims("not shown", here.step.missing),
    );
    // A button that has come to its end cannot have the focus: the other one takes it.
    const buttons = [...this.body.querySelectorAll("button")];
    if (focused >= 0) (buttons[focused]?.disabled ? buttons.find((one) => !one.disabled) : buttons[focused])?.focus();
  }

  private go(by: number): void {
    this.at += by;
    if (this.answered) this.draw(this.answered);
  }
}

/** All steps in order, those of cases behind the split that makes them. */
function flat(steps: readonly ProcedureStep[], within = ""): Placed[] {
  return steps.flatMap((step) => [
    { step, within },
    ...step.parts.flatMap((part, k) => flat(part, within ? `${within}.${k + 1}` : String(k + 1))),
  ]);
}

const row = (name: string, { verdict, because, ms }: ByProver): HTMLElement =>
  h(
    "tr",
    {},
    h("th", { scope: "row" }, name),
    h("td", { class: TONES[verdict] }, h("span", { "aria-hidden": "true" }, `${SIGNS[verdict]} `), verdict),
    h("td", {}, verdict === "absent" ? "–" : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`),
    h("td", {}, because),
  );

/** Both sets, a row for each stride: the intervals as formulas, and drawn for the values. */
function sums({ a, b }: ProcedureStep, values: Values): HTMLElement {
  const strides = [...a.intervals, ...b.intervals].map(([stride]) => stride!);
  const rows = strides.filter((one, k) => strides.findIndex((other) => same(one, other)) === k);
  const offsets = a.offset.length || b.offset.length;
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Both sets as sums of intervals" },
    h(
      "table",
      { class: "three-ways-sums" },
      h(
        "thead",
        {},
        h("tr", {}, ...["stride", "first", "second", "here"].map((name) => h("th", { scope: "col" }, name))),
      ),
      h(
        "tbody",
        {},
        offsets
          ? h(
              "tr",
              {},
              h("th", { scope: "row" }, "offset"),
              cell(pretty(a.offset)),
              cell(pretty(b.offset)),
              h("td", {}),
            )
          : null,
        ...rows.map((stride) => {
          const both = [of(a, stride), of(b, stride)];
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, h("code", {}, pretty(stride))),
            ...both.map((one) => cell(one ? `[${pretty(one[1]!)}, ${pretty(one[2]!)}]` : "")),
            h("td", {}, bars(both, values)),
          );
        }),
      ),
    ),
  );
}

const cell = (text: string): HTMLElement => h("td", {}, text ? h("code", {}, text) : null);
const same = (one: Polynomial, other: Polynomial): boolean => JSON.stringify(one) === JSON.stringify(other);
const of = (sum: StridedSum, stride: Polynomial): Polynomial[] | undefined =>
  sum.intervals.find(([other]) => same(other!, stride));

/** The intervals of one stride below each other, as they are for the values. */
function bars(both: readonly (Polynomial[] | undefined)[], values: Values): SVGElement | null {
  const ends = both.map((one) => one?.slice(1).map((end) => evaluate(end, values)));
  const known = ends.flatMap((pair) => pair ?? []).filter((end) => end !== null);
  if (!known.length || ends.some((pair) => pair?.includes(null))) return null;
  const [low, high] = [Math.min(0, ...known), Math.max(1, ...known)];
  const x = (value: number): number => 4 + ((value - low) / (high - low)) * (BAR - 8);
  const told = ends.map((pair) => (!pair ? "none" : pair[0]! > pair[1]! ? "empty" : `${pair[0]} to ${pair[1]}`));
  return s(
    "svg",
    { viewBox: `0 0 ${BAR} 20`, width: BAR, height: 20, role: "img", "aria-label": told.join("; ") },
    s("title", {}, told.join("; ")),
    ...ends.flatMap((pair, k) =>
      pair && pair[0]! <= pair[1]!
        ? [
            s("line", {
              class: `interval ${k ? "in-second" : "in-first"}`,
              x1: x(pair[0]!) - 2,
              x2: x(pair[1]!) + 2,
              y1: 6 + 8 * k,
              y2: 6 + 8 * k,
            }),
          ]
        : [],
    ),
  );
}

const claims = (name: string, some: readonly Polynomial[]): HTMLElement | null =>
  some.length
    ? h(
        "div",
        {},
        h("p", { class: "quiet" }, name),
        h("ul", { class: "needs" }, ...some.map((one) => h("li", {}, h("code", {}, inequality(one))))),
      )
    : null;
