// A proof as a tree: every step with what it leaves to show, the facts it uses, and its intervals.
import { evaluate } from "../arithmetic";
import { h } from "../dom";
import { tidy } from "../memory/formula";
import type { Proved, Step } from "../types";
import { inequality } from "./words";

const TITLES: Record<string, string> = {
  absurd: "Contradiction", apart: "Apart", tidy: "Tidy up", flip: "Turn round", join: "Join", pivot: "Divide",
  split: "Either or", relax: "Loosen", case: "Case",
};

type Values = Readonly<Record<string, number>>;

/** The tree, the first levels open; intervals have their values beside them. */
export function stepTree(steps: readonly Step[], values: Values): HTMLElement {
  return h("ul", { class: "proof-tree" }, ...steps.map((step) => item(step, values, 0)));
}

function item(step: Step, values: Values, depth: number): HTMLElement {
  return h("li", {},
    h("details", { open: depth < 3 },
      h("summary", {}, h("strong", {}, TITLES[step.rule] ?? step.rule), " ", code(step.says)),
      h("div", { class: "proof-step" },
        sum(step, values),
        step.needs.length ? h("p", { class: "quiet" }, "because") : null,
        step.needs.length ? h("ul", { class: "needs" }, ...step.needs.map((need) => h("li", {},
          h("code", {}, inequality(need.claim)), h("span", { class: "identity" }, " by ", h("code", {}, tidy(need.text)))))) : null,
        step.parts.length ? h("ul", { class: "proof-tree" }, ...step.parts.map((part) => item(part, values, depth + 1))) : null)));
}

/** A step's sentence; polynomials in it are set as the others are. */
function code(says: string): string {
  return tidy(says);
}

const NAMES = ["x", "y", "z", "u", "v", "w"];
const nameOf = (k: number): string => NAMES[k] ?? `x${k}`;

/** `0 = offset + stride·x + ..`, and the interval of each unknown. */
function sum(step: Step, values: Values): HTMLElement {
  const terms = step.dims.map(([stride], k) =>
    stride === "1" ? nameOf(k) : / /.test(stride) ? `(${tidy(stride)})·${nameOf(k)}` : `${tidy(stride)}·${nameOf(k)}`);
  const offset = evaluate(step.offset, values);
  return h("div", { class: "proof-sum" },
    h("p", {}, "to show: never ", h("code", {}, `${[tidy(step.offset), ...terms].join(" + ")} = 0`),
      offset === null || /^-?\d+$/.test(step.offset) ? null : h("span", { class: "here" }, `, which begins at ${offset} here`)),
    step.dims.length ? h("ul", { class: "intervals" }, ...step.dims.map(([stride, low, high], k) => {
      const [from, to, by] = [low, high, stride].map((text) => evaluate(text, values));
      return h("li", {}, h("code", {}, `${tidy(low)} ≤ ${nameOf(k)} ≤ ${tidy(high)}`),
        from === null || to === null || by === null ? null
          : h("span", { class: "here" }, ` here ${from} to ${to}, ${by} ${Math.abs(by!) === 1 ? "cell" : "cells"} apart`));
    })) : null);
}

/** All assumptions in words; those that some step needs come first and are marked. */
export function factList(proved: Proved): HTMLElement | null {
  const facts = [...new Set(proved.facts)];
  if (!facts.length) return null;
  const used = new Set<string>();
  const walk = (step: Step): void => {
    for (const need of step.needs) for (const { factors } of need.sum) for (const factor of factors) used.add(`${factor} >= 0`);
    step.parts.forEach(walk);
  };
  proved.steps.forEach(walk);
  const sorted = [...facts.filter((fact) => used.has(fact)), ...facts.filter((fact) => !used.has(fact))];
  const count = facts.filter((fact) => used.has(fact)).length;
  return h("details", { class: "facts-used", open: facts.length <= 8 },
    h("summary", {}, h("strong", {}, "Facts "), proved.steps.length ? `${count} of ${facts.length} used` : `${facts.length} known here`),
    h("ul", {}, ...sorted.map((fact) => h("li", { class: used.has(fact) ? "used" : "" },
      h("span", { class: "fact-mark", "aria-hidden": "true" }, used.has(fact) ? "✓" : ""), h("code", {}, inequality(fact)),
      used.has(fact) ? h("span", { class: "visually-hidden" }, " used") : null))));
}
