// What the tests of the program take: median and spread, against the measurement before or another back end.
import * as client from "../client";
import { announce, grouped, h, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import type { AnyAsked, Bench } from "../kept";
import { sameText, type Model, type Text } from "../model";
import { noTests } from "./tests";
import { inShort } from "./foretold";
import type { EntryTime, Measurement, TestCase } from "../types";
import type { PaneKind, Share } from "./pane";

/** Times of a test on a back end, before and now; `error`: why they are not known. */
interface Row {
  name: string;
  request: Bench["request"];
  now: Measurement | null;
  before: Measurement | null;
  error: string;
  foretold: EntryTime | null;
}

export class BenchPane {
  readonly element = h("div", { class: "scroll" });
  private readonly button = h("button", { class: "primary" }, "Measure");
  private readonly place = h("div", {});
  private readonly fresh: Fresh;
  private rows: Row[] = [];
  private of: Text | null = null;
  private stopping: AbortController | null = null;

  /** `backends`: those that are chosen to run on and measured. */
  constructor(
    private readonly model: Model,
    private readonly backends: () => string[],
  ) {
    this.fresh = new Fresh(model, this.place);
    this.element.append(h("div", { class: "trials-top" }, this.button), this.fresh.element);
    this.button.addEventListener("click", () => (this.stopping ? this.stopping.abort() : void this.run()));
    this.draw();
  }

  readonly share: Share = {
    asked: () => {
      if (!this.of || !sameText(this.of, this.model.now)) return [];
      return this.rows.filter(({ now }) => now).map(({ request }) => ({ op: "bench", request }));
    },
    restore: (asked) => this.restore(asked),
  };

  private restore(kept: readonly AnyAsked[]): void {
    this.stopping?.abort();
    this.rows = kept.flatMap((one) =>
      one.op === "bench" && one.answer?.ok
        ? [
            {
              name: nameOf(one.answer.case),
              request: one.request,
              now: one.answer.measured,
              before: null,
              error: "",
              foretold: null,
            },
          ]
        : [],
    );
    this.of = this.rows.length ? this.model.now : null;
    this.fresh.made(this.of, this.rows);
    this.draw();
  }

  private async run(): Promise<void> {
    const mine = (this.stopping = new AbortController());
    this.button.textContent = "Stop";
    const of = this.model.now;
    const listed = await client.ask("tests", {}, of);
    const before = new Map(this.rows.map((row) => [keyOf(row), row.now ?? row.before]));
    const found: Row[] = [];
    if (!listed.ok)
      found.push({
        name: "",
        request: { case: 0 },
        now: null,
        before: null,
        error: listed.error.message,
        foretold: null,
      });
    else
      for (const one of listed.cases.filter(({ kind }) => kind === "run")) {
        for (const backend of this.backends()) {
          if (mine.signal.aborted) break;
          const row: Row = {
            name: nameOf(one),
            request: { case: one.number, backend },
            now: null,
            before: null,
            error: "",
            foretold: null,
          };
          const answer = await client.post("bench", { ...of, ...row.request }, mine.signal);
          if (mine.signal.aborted) break;
          row.before = before.get(keyOf(row)) ?? null;
          if (answer.ok) row.now = answer.measured;
          else row.error = answer.error.message;
          row.foretold = await this.foretold(found, row, of);
          found.push(row);
          this.fill(found, of);
        }
      }
    this.stopping = null;
    this.button.textContent = "Measure";
    if (found.length || !mine.signal.aborted) this.fill(found, of);
    announce(mine.signal.aborted ? "Stopped." : `${found.length} measured.`);
  }

  /** Return the test's predicted time on a GPU, which is the same for all back ends. */
  private async foretold(found: readonly Row[], { name, request }: Row, of: Text): Promise<EntryTime | null> {
    const known = found.find((one) => one.name === name && one.request.case === request.case);
    if (known) return known.foretold;
    const answer = await client.post("foretell", { ...of, case: request.case });
    return answer.ok ? answer.foretold : null;
  }

  private fill(rows: readonly Row[], of: Text): void {
    this.rows = [...rows];
    this.of = of;
    this.fresh.made(of, this.rows);
    this.draw();
  }

  private draw(): void {
    if (!this.rows.length && this.of) return replace(this.place, ...noTests());
    if (!this.rows.length) {
      return replace(
        this.place,
        h(
          "p",
          { class: "quiet" },
          "Measures the tests that have an input, until the interval of the median is narrow.",
        ),
      );
    }
    const measured = this.rows.flatMap((row) => (row.now ? [{ ...row, now: row.now, other: this.otherOf(row) }] : []));
    const failed = this.rows.filter(({ now }) => !now);
    replace(
      this.place,
      measured.length ? table(measured) : null,
      failed.length
        ? h(
            "section",
            { "aria-label": "Not measured" },
            h("h2", {}, "Not measured"),
            h(
              "ul",
              { class: "remarks" },
              ...failed.map(({ name, error }) =>
                h(
                  "li",
                  { class: "remark" },
                  h("div", {}, name ? h("strong", {}, name) : null, h("p", {}, ...quoted(error))),
                ),
              ),
            ),
          )
        : null,
    );
  }

  /** Return the measurement of the same test on another back end. */
  private otherOf({ name, request }: Row): Measurement | null {
    return (
      this.rows.find(
        (one) => one.name === name && one.request.case === request.case && one.request.backend !== request.backend,
      )?.now ?? null
    );
  }
}

type Measured = Row & { now: Measurement; other: Measurement | null };
const COLUMNS: readonly [string, (row: Measured) => string | HTMLElement][] = [
  ["On", ({ request: { backend = "c" } }) => backend],
  ["Median", ({ now }) => time(now.median)],
  ["95 % interval", ({ now }) => time(now.low, now.high)],
  ["Spread", ({ now }) => `${(100 * now.spread).toFixed(1)} %`],
  ["Runs", ({ now }) => grouped(now.runs)],
];

/** Those that were measured: each below the name of its test, and below it what it is compared with. */
function table(rows: readonly Measured[]): HTMLElement {
  const names = [...new Set(rows.map(({ name }) => name))];
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Measurements" },
    h(
      "table",
      { class: "cells-table measured" },
      h("thead", {}, h("tr", {}, ...COLUMNS.map(([head]) => h("th", { scope: "col" }, head)))),
      ...names.map((name) =>
        h(
          "tbody",
          {},
          h("tr", {}, h("th", { scope: "rowgroup", colspan: COLUMNS.length }, name)),
          ...rows
            .filter((row) => row.name === name)
            .flatMap((row) => [h("tr", {}, ...COLUMNS.map(([, cell]) => h("td", {}, cell(row)))), beside(row)]),
          onGpu(rows.find((row) => row.name === name)!),
        ),
      ),
    ),
  );
}

/** Show the predicted time of a test on a GPU. */
function onGpu({ foretold }: Measured): HTMLElement | null {
  if (!foretold) return null;
  return h("tr", { class: "foretold" }, h("td", { colspan: COLUMNS.length }, "foretold: ", inShort(foretold)));
}

/** Compare with earlier measurements and other back ends. */
function beside({ now, before, other }: Measured): HTMLElement | null {
  const said = [before && `before: ${compared(now, before)}`, other && `elsewhere: ${compared(now, other)}`].filter(
    Boolean,
  );
  return said.length ? h("tr", { class: "compared" }, h("td", { colspan: COLUMNS.length }, said.join("; "))) : null;
}

/** Milliseconds, one or from one to another, in the unit of the last: 1.87 µs, 1.83–1.92 µs. */
function time(...all: [number, ...number[]]): string {
  const high = all.at(-1)!;
  const [by, unit] = high >= 1000 ? [0.001, "s"] : high >= 0.1 ? [1, "ms"] : [1000, "µs"];
  return `${all.map((ms) => Number((ms * by).toPrecision(3))).join("–")} ${unit}`;
}

const nameOf = ({ entry, name }: TestCase): string => [entry, name].filter(Boolean).join(", ");
const keyOf = ({ name, request }: Row): string => JSON.stringify([name, request.backend ?? "c"]);

/** Describe how two measurements compare; where their intervals overlap, as equal. */
function compared(now: Measurement, other: Measurement): string {
  if (now.low <= other.high && other.low <= now.high) return `${time(other.median)}: the same, or nearly`;
  const times = other.median / Math.max(now.median, 1e-6);
  return `${time(other.median)}: ${times >= 1 ? `${times.toFixed(2)}x as fast` : `${(1 / times).toFixed(2)}x as slow`}`;
}

export const pane: PaneKind = {
  id: "bench",
  title: "Bench",
  order: 130,
  group: "Run",
  about: "measurements: median, spread, time of each test, speed",
  answers: ["bench"],
  make: ({ model, run }) => new BenchPane(model, () => run.measured()),
};
