// A proof as a tree: every step with what it leaves to show, its intervals, and the facts it uses.
import { h } from "../dom";
import { evaluate, inOrder, numberOf, pretty, sentence } from "../polynomial";
import type { Need, Step } from "../types";
import type { FactBook } from "./facts";
import { intervals, nameOf, termOf } from "./intervals";
import { inequality } from "./words";

const TITLES: Record<string, string> = {
  absurd: "Contradiction",
  apart: "Apart",
  tidy: "Tidy up",
  flip: "Turn round",
  join: "Join",
  pivot: "Divide",
  split: "Either or",
  relax: "Loosen",
  line: "It follows",
  case: "Case",
};

type Values = Readonly<Record<string, number>>;

/** The tree, the first levels open; intervals have their values beside them. */
export function stepTree(steps: readonly Step[], values: Values, facts: FactBook): HTMLElement {
  return h("ul", { class: "proof-tree" }, ...steps.map((step) => item(step, values, facts, 0)));
}

export function countSteps(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => sum + 1 + countSteps(step.parts), 0);
}

function item(step: Step, values: Values, facts: FactBook, depth: number): HTMLElement {
  return h(
    "li",
    {},
    h(
      "details",
      { open: depth < 3 },
      h("summary", {}, h("strong", {}, TITLES[step.rule] ?? step.rule), " ", sentence(step.says)),
      h(
        "div",
        { class: "proof-step" },
        sum(step, values),
        step.needs.length ? h("p", { class: "quiet" }, "because") : null,
        step.needs.length
          ? h(
              "ul",
              { class: "needs" },
              ...step.needs.map((need) =>
                h(
                  "li",
                  {},
                  h("code", {}, inequality(need.claim)),
                  ...facts.references(need),
                  h("span", { class: "identity" }, " by ", h("code", {}, identity(need))),
                ),
              ),
            )
          : null,
        step.parts.length
          ? h("ul", { class: "proof-tree" }, ...step.parts.map((part) => item(part, values, facts, depth + 1)))
          : null,
      ),
    ),
  );
}

/** `2·n - 1 = 2·(n - 1) + 1`: the inequality as a sum of products of facts. */
function identity({ claim, scale, sum: products }: Need): string {
  const terms = products.map(({ coefficient, factors }) =>
    [
      ...(coefficient !== 1 || !factors.length ? [String(coefficient)] : []),
      ...factors.map((factor) =>
        factor.length === 1 && factor[0]!.length === 2 && factor[0]![0] === 1
          ? inOrder(factor)
          : `(${inOrder(factor)})`,
      ),
    ].join("·"),
  );
  return (
    `${scale === 1 ? inOrder(claim) : `${scale}·(${inOrder(claim)})`} ` +
    `= ${terms.join(" + ").replaceAll("+ -", "- ") || "0"}`
  );
}

/** `0 = offset + stride·x + ..`, and the interval of each unknown, in numbers and drawn. */
function sum(step: Step, values: Values): HTMLElement {
  const terms = step.dims.map(([stride], k) => termOf(stride, k));
  const shown = [...(!step.offset.length && terms.length ? [] : [pretty(step.offset)]), ...terms]
    .join(" + ")
    .replaceAll("+ -", "- ");
  const offset = evaluate(step.offset, values);
  return h(
    "div",
    { class: "proof-sum" },
    h(
      "p",
      {},
      "to show: never ",
      h("code", {}, `${shown} = 0`),
      offset === null || numberOf(step.offset) !== null
        ? null
        : h("span", { class: "here" }, `, which begins at ${offset} here`),
    ),
    step.dims.length
      ? h(
          "ul",
          { class: "intervals" },
          ...step.dims.map(([stride, low, high], k) => {
            const [from, to, by] = [low, high, stride].map((text) => evaluate(text, values));
            return h(
              "li",
              {},
              h("code", {}, `${pretty(low)} ≤ ${nameOf(k)} ≤ ${pretty(high)}`),
              from === null || to === null || by === null
                ? null
                : h(
                    "span",
                    { class: "here" },
                    ` here ${from} to ${to}, ${by} ${Math.abs(by!) === 1 ? "cell" : "cells"} apart`,
                  ),
            );
          }),
        )
      : null,
    intervals(step, values),
  );
}
