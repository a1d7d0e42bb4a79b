// What a question's answer is, in words; and its two sets by their terms.
import { h, quoted } from "../dom";
import { pretty } from "../polynomial";
import type { Proved } from "../kept";
import type { Cells, CellSet, CellsOfLmadsAnswer } from "../types";
import { isExact, swatch } from "./grid";
import { inequality, inWords } from "./words";

const MARK = { disjoint: "✓", overlap: "✗", unknown: "?" } as const;
const TONE = { disjoint: "good", overlap: "bad", unknown: "open" } as const;

type Pair<T> = readonly [T, T];

export const sentence = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const counted = (count: number): string => `${count} ${count === 1 ? "cell" : "cells"}`;

/** The answer: a sentence, and what stands behind it. */
export function verdict(proved: Proved, [a, b]: Pair<string>): HTMLElement {
  const text = {
    disjoint: `${sentence(a)} and ${b} never share a cell, for any values.`,
    overlap: `${sentence(a)} and ${b} share a cell.`,
    unknown: `The prover could not decide if ${a} and ${b} share a cell.`,
  }[proved.verdict];
  return h(
    "div",
    { class: `pair-verdict ${TONE[proved.verdict]}`, role: "status" },
    h("p", {}, h("span", { class: "pair-mark", "aria-hidden": "true" }, MARK[proved.verdict]), h("strong", {}, text)),
    proved.verdict === "disjoint" && proved.checked
      ? h("p", { class: "quiet" }, "Proved, and confirmed by an independent checker.")
      : null,
    ...witness(proved),
    ...missing(proved),
  );
}

function witness({ witness: found }: Proved): HTMLElement[] {
  if (!found) return [];
  const values = Object.entries(found.values).map(([name, value]) => `${name} = ${value}`);
  return [
    h(
      "p",
      {},
      "Witness: cell ",
      h("code", {}, found.cell),
      ...(values.length ? [" for ", h("code", {}, values.join(", "))] : []),
      ".",
    ),
  ];
}

function missing(proved: Proved): HTMLElement[] {
  if (proved.verdict !== "unknown") return [];
  if (!proved.missing) return [h("p", {}, ...quoted(proved.reason))];
  return [
    h("p", {}, "It is not proved that ", ...quoted(inWords(proved.missing)), ", so the compiler rewrites nothing."),
    h("p", { class: "missing" }, h("code", {}, inequality(proved.missing))),
  ];
}

/** Each set with its pattern, its formula by terms, and how many cells it has here. */
export function legend(lmads: Pair<Cells>, names: Pair<string>, found: CellsOfLmadsAnswer): HTMLElement {
  const row = (which: 0 | 1) => {
    const { offset, dims } = lmads[which];
    const set = found.lmads[which]!;
    const exact = isExact(set);
    const term = (dimension: number, text: string, means: string) =>
      h(
        "button",
        {
          class: "term",
          "data-set": which,
          "data-dimension": dimension,
          title: means,
          "aria-label": `${text}: ${means}`,
        },
        text,
      );
    return h(
      "li",
      {},
      swatch(which ? "b" : "a"),
      h(
        "div",
        {},
        h("strong", {}, sentence(names[which])),
        exact ? h("span", { class: "quiet" }, ` ${counted(set.count)} here`) : null,
        h(
          "p",
          { class: "terms" },
          term(-1, pretty(offset), exact ? `begins at cell ${set.offset}` : "where it begins"),
          ...dims.flatMap(([size, stride], k) => [
            " + ",
            term(
              k,
              `(${pretty(size)} : ${pretty(stride)})`,
              exact
                ? `${set.dims[k]?.[0]} steps of ${counted(set.dims[k]?.[1] ?? 0)}`
                : "number of steps and cells per step",
            ),
          ]),
        ),
        exact ? h("p", { class: "quiet" }, inNumbers(set)) : null,
      ),
    );
  };
  return h(
    "ul",
    { class: "legend" },
    row(0),
    row(1),
    found.shared.length
      ? h(
          "li",
          {},
          swatch("both"),
          h(
            "div",
            {},
            h("strong", {}, "In both"),
            h("span", { class: "quiet" }, ` ${counted(found.shared.length)} here`),
          ),
        )
      : null,
  );
}

/** `here from cell 10: 9 steps of 44, 2 of 24, 2 of 1`. */
function inNumbers({ offset, dims, count }: CellSet): string {
  if (!count) return "here no cell: a size is not positive";
  const steps = dims.map(([size, stride], k) => `${size} ${k ? "" : "steps "}of ${stride}`).join(", ");
  return `here from cell ${offset}${steps ? `: ${steps}` : ""}`;
}
