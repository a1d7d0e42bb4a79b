// The program as a graph: any stage of statements, or what fusion made of which, and why not where not.
import * as client from "../client";
import { fillSlowly, h, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import { drawing, MOST_DRAWN, table, type Called, type Marks } from "../graph";
import type { Graphed } from "../kept";
import type { Link } from "../link";
import { messageElement } from "../messages";
import { sameText, type Model, type Text } from "../model";
import { Pictured } from "../pictures";
import { plainNames } from "../polynomial";
import type { FlowBody, FlowFunction, FusionAttempt } from "../types";
import { isLarge, Zoom } from "../zoom";
import { AskingPane } from "./asking";
import type { Keep, PaneKind, Share } from "./pane";

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
  private readonly pictured: Pictured;
  private shown: (() => void) | null = null;
  /** The stage that is to be drawn, which a list of stages to come may have. */
  private wanted = FUSION;
  private seenOf: Text | null = null;
  /** The answer in the link that is shown. */
  private held: Graphed[] = [];

  constructor(
    model: Model,
    private readonly link: Link,
    changed: () => void,
  ) {
    super(model, "Graphs are made");
    this.fresh = new Fresh(model, this.place);
    this.pictured = new Pictured(link, this.place, "graph");
    this.stage.addEventListener("change", () => {
      this.wanted = this.stage.value;
      this.refresh(true);
      changed();
    });
    this.tabular.addEventListener("change", () => {
      this.shown?.();
      changed();
    });
    this.element.append(
      h("div", { class: "filters" }, this.stage, h("label", { class: "check" }, this.tabular, "as a table")),
      this.fresh.element,
    );
  }

  readonly keep: Keep = {
    now: () => this.drawn,
    as: (kept) => {
      if (kept !== undefined) this.drawAs(kept as DrawnGraph | null);
    },
  };

  /** The graph that is drawn; null for the initial one. */
  private get drawn(): DrawnGraph | null {
    const drawn = { stage: this.wanted, table: this.tabular.checked };
    return drawn.stage || drawn.table ? drawn : null;
  }

  private drawAs(drawn: DrawnGraph | null): void {
    const { stage, table } = drawn ?? { stage: FUSION, table: false };
    if (stage === this.wanted && table === this.tabular.checked) return;
    this.wanted = stage;
    this.tabular.checked = table;
    this.stages();
    this.refresh(true);
  }

  readonly share: Share = {
    asked: () =>
      this.seenOf && sameText(this.seenOf, this.model.now)
        ? [this.wanted === FUSION ? { op: "fusion", request: {} } : { op: "dataflow", request: { stage: this.wanted } }]
        : [],
    restore: (kept) => {
      this.held = kept.filter(
        (one): one is Graphed => (one.op === "fusion" || one.op === "dataflow") && one.answer?.ok === true,
      );
      this.seenOf = null;
    },
  };

  private get own(): Graphed | undefined {
    return this.model.frozen
      ? this.held.find((one) => (one.op === "fusion" ? this.wanted === FUSION : one.request.stage === this.wanted))
      : undefined;
  }

  protected override get kept(): boolean {
    return this.own !== undefined;
  }

  protected async ask(of: Text): Promise<void> {
    this.stages();
    const { own, wanted } = this;
    if (wanted === FUSION) {
      const answer = await this.fresh.answer(
        of,
        own?.op === "fusion" ? Promise.resolve(own.answer!) : client.ask("fusion", {}, of),
      );
      if (answer) this.see(of, () => this.fusion(answer.before, answer.after, answer.attempts, answer.names));
    } else {
      const answer = await this.fresh.answer(
        of,
        own?.op === "dataflow" ? Promise.resolve(own.answer!) : client.ask("dataflow", { stage: wanted }, of),
      );
      if (answer) this.see(of, () => replace(this.place, ...this.functions(answer.functions, "", NOTHING)));
    }
  }

  private see(of: Text, show: () => void): void {
    this.seenOf = of;
    this.shown = show;
    show();
  }

  private stages(): void {
    const choices: [string, string][] = [[FUSION, "Fusion, before and after"]];
    let printed = "";
    for (const { id, title, kind } of this.model.manifest) {
      if (kind === "imp" || kind === "kernels") printed = title;
      if (kind === "text") choices.push([id, `${title}, printed from ${printed}`]);
      else if (kind === "ir" || title === printed) choices.push([id, title]);
    }
    replace(
      this.stage,
      ...choices.map(([id, title]) => h("option", { value: id, selected: id === this.wanted }, title)),
    );
    this.wanted = this.stage.value;
  }

  private fusion(
    before: FlowFunction[],
    after: FlowFunction[],
    attempts: FusionAttempt[],
    called: Record<string, string>,
  ): void {
    const whole = wholes(attempts);
    const of = new Map<string, FusionAttempt[]>();
    for (const one of attempts) for (const name of new Set(one.producer)) of.set(name, [...(of.get(name) ?? []), one]);
    const marks: Marks = (array, target) =>
      of
        .get(array)
        ?.find(({ reader }) => reader.some((name) => target.some((other) => whole(name) === whole(other)))) ?? null;
    const done = attempts.filter(({ kind }) => kind === "applied").length;
    const plainly = labels(before);
    const names = (some: string[]): string => plainly(some) ?? some.map((name) => called[name] ?? name).join(", ");
    replace(
      this.place,
      h(
        "p",
        { class: "quiet", role: "status" },
        attempts.length ? `Fusions done: ${done} of ${attempts.length} tried.` : "Nothing could be fused.",
      ),
      ...this.functions(before, "Before, in ", marks),
      ...this.functions(after, "After, in ", NOTHING),
      attempts.length
        ? h(
            "div",
            { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Tried fusions" },
            h(
              "table",
              { class: "cells-table" },
              h("caption", {}, "Attempts, in order"),
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  ...["Producer", "Reader", "Rule", "Done", "Why"].map((one) => h("th", { scope: "col" }, one)),
                ),
              ),
              fillSlowly(h("tbody", {}), attempts, (one) =>
                h(
                  "tr",
                  { class: one.kind },
                  h("td", {}, names(one.producer)),
                  h("td", {}, names(one.reader)),
                  h("td", {}, h("a", { href: `/rules/${one.rule}`, target: "_blank" }, h("code", {}, one.rule))),
                  h("td", {}, one.kind === "applied" ? "yes" : "no"),
                  h("td", { class: "inside" }, ...quoted(`${one.because} ${one.hint}`)),
                ),
              ),
            ),
          )
        : null,
    );
  }

  private bodies(fun: FlowFunction, title: string, marks: Marks, open: boolean): HTMLElement[] {
    const called = plainNames(Object.keys(fun.names), fun.names);
    const inner = new Set(fun.bodies.flatMap(({ nodes }) => nodes.flatMap(({ bodies }) => bodies ?? [])));
    const draw = (body: FlowBody): HTMLElement[] => this.body(fun, body, named(body, title), called, marks);
    return fun.bodies.flatMap((body, k) => {
      if (inner.has(k)) return [];
      if (open) return [h("section", {}, h("h2", {}, named(body, title)), ...draw(body))];
      return [folded(named(body, title), () => draw(body))];
    });
  }

  /** All functions; of several that of the chosen entry point is open, and the others are drawn when they are. */
  private functions(all: readonly FlowFunction[], title: string, marks: Marks): HTMLElement[] {
    const { entry } = this.model;
    const first = Math.max(
      0,
      all.findIndex(({ name }) => name === entry),
    );
    return all.flatMap((fun, k) => this.bodies(fun, title, marks, k === first));
  }

  /** A body as a drawing or table; those of its statements are below it, closed. */
  private body(fun: FlowFunction, body: FlowBody, title: string, called: Called, marks: Marks): HTMLElement[] {
    const imperative =
      this.model.manifest.find(({ id }) => id === this.wanted)?.kind !== "ir" && this.wanted !== FUSION;
    const inner = new Map(
      body.nodes.map(
        ({ bodies, kernel, label }, node) =>
          [
            node,
            kernel === undefined
              ? (bodies ?? []).map((k) =>
                  folded(named(fun.bodies[k]!, ""), (title) => this.body(fun, fun.bodies[k]!, title, called, marks)),
                )
              : [folded(label, (title) => this.kernel(kernel, title))],
          ] as const,
      ),
    );
    const choose = (node: number): void => {
      const { src } = body.nodes[node]!;
      const opened = inner.get(node)!;
      for (const one of opened) one.open = true;
      opened[0]?.scrollIntoView({ block: "nearest" });
      if (src.length) this.link.choose({ spans: src, origin: "graph", line: -1 });
    };
    const inside = this.tabular.checked
      ? table(body, `Statements of ${title}`, called, choose)
      : h("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": title });
    if (!this.tabular.checked) {
      inside.addEventListener("click", ({ target }) => {
        const node = (target as Element).closest<SVGElement>("[data-node]")?.dataset.node;
        if (node !== undefined) choose(Number(node));
      });
      void drawing(body, title, called, marks, this.pictured, imperative ? "blocks and scalars" : "arrays").then(
        (picture) => {
          replace(inside, picture);
          const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
          if (isLarge(width!, height!, inside)) inside.before(new Zoom(inside, picture, width!, height!).tools);
          this.pictured.light();
        },
      );
    }
    const left = body.nodes.length - MOST_DRAWN;
    const count = `${body.scalars} ${body.scalars === 1 ? "statement" : "statements"}`;
    const [has, is] = body.scalars === 1 ? ["has", "is"] : ["have", "are"];
    return [
      inside,
      h(
        "p",
        { class: "quiet" },
        [
          left > 0 && !this.tabular.checked
            ? `The first ${MOST_DRAWN} of ${body.nodes.length} statements are drawn; the table has more.`
            : "",
          !body.scalars
            ? ""
            : imperative
              ? `${count} that hand${body.scalars === 1 ? "s" : ""} on nothing ${is} left out.`
              : `${count} ${has} nothing to do with arrays, and ${is} left out.`,
        ]
          .filter(Boolean)
          .join(" "),
      ),
      ...[...inner.values()].flat(),
    ];
  }

  /** The bodies of a kernel of a large program, which are asked for one by one. */
  private async kernel(kernel: string, title: string): Promise<HTMLElement[]> {
    if (this.own) return [h("p", { class: "quiet" }, "For a program of this size a link stores no graphs of kernels.")];
    const answer = await client.ask("dataflow", { stage: this.wanted, kernel }, this.seenOf!);
    if ("error" in answer) return [messageElement(answer.error)];
    const [fun] = answer.functions;
    return fun?.bodies.length
      ? this.body(fun, fun.bodies[0]!, title, plainNames(Object.keys(fun.names), fun.names), NOTHING)
      : [];
  }
}

/** Return a section whose contents are made when it is opened. */
function folded(title: string, inside: (title: string) => HTMLElement[] | Promise<HTMLElement[]>): HTMLDetailsElement {
  const place = h("div", {});
  const element = h("details", {}, h("summary", {}, h("code", {}, title)), place);
  let made = false;
  element.addEventListener("toggle", () => {
    if (!element.open || made) return;
    made = true;
    void Promise.resolve(inside(title)).then((found) => replace(place, ...found));
  });
  return element;
}

const named = ({ where }: FlowBody, title: string): string => `${title}${where.replaceAll("`", "")}`;

/** The same for all names that were fused into one statement: what read an array may be a part of a reader by now. */
function wholes(attempts: FusionAttempt[]): (name: string) => string {
  const into = new Map<string, string>();
  const whole = (name: string): string => {
    let at = name;
    while (into.has(at)) at = into.get(at)!;
    return at;
  };
  for (const { kind, producer, reader } of attempts) {
    if (kind === "applied")
      for (const name of [...producer, ...reader.slice(1)])
        if (whole(name) !== whole(reader[0]!)) into.set(whole(name), whole(reader[0]!));
  }
  return whole;
}

/** Return a function from names to the label of the first statement that binds one of them. */
function labels(graphs: FlowFunction[]): (some: string[]) => string | null {
  const nodes = graphs.flatMap(({ bodies }) => bodies.flatMap((body) => body.nodes));
  const first = new Map<string, number>();
  for (const [k, node] of nodes.entries()) for (const name of node.names) if (!first.has(name)) first.set(name, k);
  return (some) => nodes[Math.min(...some.map((name) => first.get(name) ?? Infinity))]?.label ?? null;
}

export const pane: PaneKind = {
  id: "graph",
  title: "Graph",
  order: 44,
  group: "Why",
  about: "which statement passes what to which: data flow, fusion before and after",
  keeps: "graph",
  answers: ["fusion", "dataflow"],
  make: ({ model, link, changed }) => new GraphPane(model, link, changed),
};
