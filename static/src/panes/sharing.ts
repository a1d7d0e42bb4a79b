// Which blocks can share memory: the interference graph of each body, with its colours.
import * as client from "../client";
import { bytes, h, onWidth, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link } from "../link";
import { drawGraph, graphTables, type SizeOf } from "../memory/interference";
import { ChosenValues, SymbolFields } from "../memory/symbols";
import type { Model, Text } from "../model";
import { unnumbered } from "../numbers";
import { evaluate, namesIn, plainNames } from "../polynomial";
import type { Interference, Span } from "../types";

const STAGE = "expanded";
const FIRST = 100;

export class Sharing {
  readonly element = h("div", { class: "sharing" });
  readonly fresh: Fresh;
  private readonly fields = new SymbolFields();
  private readonly body = h("div", {});
  private readonly typed: ChosenValues;
  private values: Record<string, number> = {};
  private graphs: Interference[] = [];
  private called: Record<string, string> = {};
  private table = false;

  constructor(
    model: Model,
    private readonly link: Link,
  ) {
    this.typed = new ChosenValues(model.sizes);
    this.fresh = new Fresh(model, this.element);
    this.body.addEventListener("mouseover", (event) => this.point(event.target as Element));
    this.body.addEventListener("mouseleave", () => this.point(null));
    onWidth(this.element, () => this.graphs.length && this.draw());
  }

  async show(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, client.ask("interference", { stage: STAGE }, of));
    if (!answer) return;
    this.graphs = withoutNumbers(answer.functions.flatMap((fun) => fun.bodies));
    this.called = Object.assign({}, ...answer.functions.map((fun) => fun.names)) as Record<string, string>;
    if (!this.graphs.length) {
      return replace(
        this.element,
        h("p", { class: "empty" }, "This program needs no memory blocks, so there is nothing to share."),
      );
    }
    replace(this.element, this.fields.element, this.body);
    this.inputs();
    this.draw();
  }

  private inputs(): void {
    const names = [...new Set(namesIn(this.graphs))];
    const plain = plainNames(names, this.called);
    this.values = {
      ...Object.fromEntries(names.map((name) => [name, FIRST])),
      ...this.typed.of(names, this.called),
    };
    this.fields.show(
      names.map((name) => ({ name, label: plain(name), value: this.values[name]! })),
      (name, value) => {
        this.typed.set(names, this.called, name, value);
        this.values[name] = value;
        this.draw();
      },
    );
  }

  private draw(): void {
    const size: SizeOf = (poly) => evaluate(poly, this.values);
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
    const width = Math.max(260, this.element.clientWidth);
    replace(
      this.body,
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": "How sharing is shown" },
        choice("Drawing", false),
        choice("Table", true),
      ),
      ...this.graphs.map((graph, k) =>
        h(
          "section",
          { "data-graph": k },
          h(
            "h2",
            {},
            "In ",
            h("code", {}, graph.where.replaceAll("`", "")),
            h("span", { class: "quiet" }, said(graph, size)),
          ),
          this.table
            ? h(
                "div",
                { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `Blocks of ${graph.where}` },
                ...graphTables(graph, size, (node) => this.choose(graph.nodes[node]?.src)),
              )
            : h(
                "div",
                { class: "drawing", tabindex: 0, role: "region", "aria-label": `Interference graph of ${graph.where}` },
                drawGraph(graph, width - 4, size),
              ),
        ),
      ),
      this.table
        ? null
        : h(
            "p",
            { class: "quiet" },
            "Each circle is a memory block; a line joins two that are live at once. " +
              "Blocks with the same number are never live at once, and share memory.",
          ),
    );
  }

  private point(target: Element | null): void {
    const section = target?.closest<HTMLElement>("[data-graph]");
    const node = target?.closest<SVGElement>("[data-node]")?.dataset.node;
    for (const edge of this.body.querySelectorAll<SVGElement>(".edge")) {
      const here = edge.closest("[data-graph]") === section;
      edge.classList.toggle(
        "pointed",
        here && node !== undefined && (edge.dataset.a === node || edge.dataset.b === node),
      );
    }
    const src = node === undefined ? undefined : this.graphs[Number(section?.dataset.graph)]?.nodes[Number(node)]?.src;
    this.link.hover(src?.length ? { spans: src, origin: "memory", line: -1 } : null);
  }

  private choose(src: Span[] | undefined): void {
    if (src?.length) this.link.choose({ spans: src, origin: "memory", line: -1 });
  }
}

/** Names of blocks without the numbers that tell apart nothing. */
function withoutNumbers(graphs: readonly Interference[]): Interference[] {
  const shown = unnumbered(graphs.flatMap(({ nodes }) => nodes.map(({ name }) => name)));
  return graphs.map((graph) => ({
    ...graph,
    points: graph.points.map((point) => ({ ...point, label: shown(point.label) })),
    nodes: graph.nodes.map((node) => ({ ...node, name: shown(node.name) })),
  }));
}

function said({ nodes, colours }: Interference, size: SizeOf): string {
  const saved = colours.reduce((sum, colour) => sum + (size(colour.saved) ?? 0), 0);
  const few = colours.length < nodes.length;
  const shares = few
    ? ` in the memory of ${colours.length}, ${bytes(saved)} saved`
    : ", none of which can share memory";
  return ` ${nodes.length} ${nodes.length === 1 ? "block" : "blocks"}${shares}`;
}
