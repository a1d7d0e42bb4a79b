// The program as a graph: any stage of the core language, or what fusion made of which, and why not where not.
import * as client from "../client";
import { h, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import { drawing, MOST_DRAWN, table, type Called, type Marks } from "../graph";
import type { AnyAsked, Graphed } from "../kept";
import type { Link } from "../link";
import { sameText, type Model, type Text } from "../model";
import { plainNames } from "../polynomial";
import type { FlowBody, FlowFunction, FusionAttempt } from "../types";
import { AskingPane } from "./asking";

const FUSION = "";
const NOTHING: Marks = () => null;

export interface DrawnGraph {
  stage: string;
  table: boolean;
}

export class GraphPane extends AskingPane {
  readonly element = h("div", { class: "scroll graphs" });
  protected readonly place = h("div", {});
  private readonly fresh: Fresh;
  private readonly stage = h("select", { "aria-label": "Graph of" });
  private readonly tabular = h("input", { type: "checkbox" });
  private shown: (() => void) | null = null;
  /** The stage that is to be drawn, which a list of stages to come may have. */
  private wanted = FUSION;
  private seenOf: Text | null = null;
  /** What the link that is shown holds. */
  private held: Graphed[] = [];

  constructor(model: Model, private readonly link: Link, changed: () => void) {
    super(model, "Graphs are made");
    this.fresh = new Fresh(model, this.place);
    this.stage.addEventListener("change", () => {
      this.wanted = this.stage.value;
      this.refresh(true);
      changed();
    });
    this.tabular.addEventListener("change", () => {
      this.shown?.();
      changed();
    });
    this.element.append(h("div", { class: "filters" }, this.stage, h("label", { class: "check" }, this.tabular, "as a table")), this.fresh.element);
  }

  /** Which graph is drawn, so that another page, or this one later, can draw the same; null for the one at first. */
  get drawn(): DrawnGraph | null {
    const drawn = { stage: this.wanted, table: this.tabular.checked };
    return drawn.stage || drawn.table ? drawn : null;
  }

  drawAs(drawn: DrawnGraph | null | undefined): void {
    const { stage, table } = drawn ?? { stage: FUSION, table: false };
    if (stage === this.wanted && table === this.tabular.checked) return;
    this.wanted = stage;
    this.tabular.checked = table;
    this.stages();
    this.refresh(true);
  }

  /** What a link keeps, if it is of the program as it is. */
  shared(): Pick<AnyAsked, "op" | "request">[] {
    return this.seenOf && sameText(this.seenOf, this.model.now) ? [this.wanted === FUSION ? { op: "fusion", request: {} } : { op: "dataflow", request: { stage: this.wanted } }] : [];
  }

  /** Show what a link keeps, or nothing of one. */
  restore(kept: readonly AnyAsked[] = []): void {
    this.held = kept.filter((one): one is Graphed => (one.op === "fusion" || one.op === "dataflow") && one.answer?.ok === true);
    this.seenOf = null;
  }

  private get own(): Graphed | undefined {
    return this.model.frozen ? this.held.find((one) => one.op === "fusion" ? this.wanted === FUSION : one.request.stage === this.wanted) : undefined;
  }

  protected override get kept(): boolean {
    return this.own !== undefined;
  }

  protected async ask(of: Text): Promise<void> {
    this.stages();
    const { own, wanted } = this;
    if (wanted === FUSION) {
      const answer = await this.fresh.answer(of, own?.op === "fusion" ? Promise.resolve(own.answer!) : client.ask("fusion", {}, of));
      if (answer) this.see(of, () => this.fusion(answer.before, answer.after, answer.attempts, answer.names));
    } else {
      const answer = await this.fresh.answer(of, own?.op === "dataflow" ? Promise.resolve(own.answer!) : client.ask("dataflow", { stage: wanted }, of));
      if (answer) this.see(of, () => replace(this.place, ...answer.functions.flatMap((fun) => this.bodies(fun, "", NOTHING))));
    }
  }

  private see(of: Text, show: () => void): void {
    this.seenOf = of;
    this.shown = show;
    show();
  }

  private stages(): void {
    const choices: [string, string][] = [[FUSION, "Fusion, before and after"],
      ...this.model.manifest.filter(({ kind }) => kind === "ir").map(({ id, title }): [string, string] => [id, title])];
    replace(this.stage, ...choices.map(([id, title]) => h("option", { value: id, selected: id === this.wanted }, title)));
    this.wanted = this.stage.value;
  }

  private fusion(before: FlowFunction[], after: FlowFunction[], attempts: FusionAttempt[], called: Record<string, string>): void {
    const whole = wholes(attempts);
    const marks: Marks = (array, target) => attempts.find(({ producer, reader }) =>
      producer.includes(array) && reader.some((name) => target.some((other) => whole(name) === whole(other)))) ?? null;
    const done = attempts.filter(({ kind }) => kind === "applied").length;
    const names = (some: string[]): string => plainly(some, before) ?? some.map((name) => called[name] ?? name).join(", ");
    replace(this.place,
      h("p", { class: "quiet", role: "status" }, attempts.length ? `Fusions done: ${done} of ${attempts.length} tried.` : "There was nothing to fuse."),
      ...before.flatMap((fun) => this.bodies(fun, "Before, in ", marks)),
      ...after.flatMap((fun) => this.bodies(fun, "After, in ", NOTHING)),
      attempts.length ? h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Tried fusions" },
        h("table", { class: "cells-table" }, h("caption", {}, "What was tried, in order"),
          h("thead", {}, h("tr", {}, ...["Producer", "Reader", "Rule", "Done", "Why"].map((one) => h("th", { scope: "col" }, one)))),
          h("tbody", {}, ...attempts.map((one) => h("tr", { class: one.kind }, h("td", {}, names(one.producer)), h("td", {}, names(one.reader)),
            h("td", {}, h("a", { href: `/rules/${one.rule}`, target: "_blank" }, h("code", {}, one.rule))), h("td", {}, one.kind === "applied" ? "yes" : "no"),
            h("td", { class: "inside" }, ...quoted(`${one.because} ${one.hint}`))))))) : null);
  }

  private bodies(fun: FlowFunction, title: string, marks: Marks): HTMLElement[] {
    const called = plainNames(Object.keys(fun.names), fun.names);
    return fun.bodies.map((body) => this.body(body, `${title}${body.where.replaceAll("`", "")}`, called, marks));
  }

  private body(body: FlowBody, title: string, called: Called, marks: Marks): HTMLElement {
    const choose = (node: number): void => {
      const { src } = body.nodes[node]!;
      if (src.length) this.link.choose({ spans: src, origin: "graph", line: -1 });
    };
    const inside = this.tabular.checked ? table(body, `Statements of ${title}`, called, choose) : h("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": title });
    if (!this.tabular.checked) {
      inside.addEventListener("click", ({ target }) => {
        const node = (target as Element).closest<SVGElement>("[data-node]")?.dataset["node"];
        if (node !== undefined) choose(Number(node));
      });
      void drawing(body, title, called, marks).then((picture) => replace(inside, picture));
    }
    const left = body.nodes.length - MOST_DRAWN;
    return h("section", {}, h("h2", {}, title), inside,
      h("p", { class: "quiet" }, [
        left > 0 && !this.tabular.checked ? `The first ${MOST_DRAWN} of ${body.nodes.length} statements are drawn; the table has more.` : "",
        body.scalars ? `${body.scalars} ${body.scalars === 1 ? "statement has" : "statements have"} to do with no array, and ${body.scalars === 1 ? "is" : "are"} left out.` : "",
      ].filter(Boolean).join(" ")));
  }
}

/** The same for all names that were fused into one statement: what read an array may be a part of a reader by now. */
function wholes(attempts: FusionAttempt[]): (name: string) => string {
  const into = new Map<string, string>();
  const whole = (name: string): string => {
    let at = name;
    while (into.has(at)) at = into.get(at)!;
    return at;
  };
  for (const { kind, producer, reader } of attempts) {
    if (kind === "applied") for (const name of [...producer, ...reader.slice(1)]) if (whole(name) !== whole(reader[0]!)) into.set(whole(name), whole(reader[0]!));
  }
  return whole;
}

/** Names of statements, as the graph before calls them. */
function plainly(some: string[], graphs: FlowFunction[]): string | null {
  for (const fun of graphs) for (const { nodes } of fun.bodies) for (const node of nodes) {
    if (node.names.some((name) => some.includes(name))) return node.label;
  }
  return null;
}
