// The tuning trees: code versions under named thresholds, and which of them runs for given sizes.
import { sized } from "../arithmetic";
import * as client from "../client";
import { arrange, h, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link } from "../link";
import type { Model, Text } from "../model";
import { Keyed, NumberField } from "../number_field";
import { evaluate, namesIn } from "../polynomial";
import { placeName } from "../spans";
import { AskingPane } from "./asking";
import { forced, thresholdChoice, type ChangeOptions } from "./threshold";
import type { Forest, LessonAnswer, Polynomial, Span, TreeNode } from "../types";
import type { PaneKind } from "./pane";

const FIRST = 100;

export class TuningPane extends AskingPane {
  readonly element = h("div", { class: "scroll tuning" });
  protected readonly place = h("div", {});
  private readonly fresh: Fresh;
  private readonly fields = h("div", { class: "symbols" });
  private readonly trees = h("div", {});
  private forest: Forest[] = [];
  private readonly sizes = sized();
  private readonly named = new Keyed<HTMLElement>();

  constructor(
    model: Model,
    private readonly link: Link,
    private readonly options: ChangeOptions,
  ) {
    super(model, "Versions are listed");
    this.fresh = new Fresh(model, this.place);
    this.element.append(this.fresh.element);
    model.sizes.on((by) => by === this || this.refresh(true));
  }

  suppose({ sizes }: Pick<LessonAnswer, "sizes">): void {
    Object.assign(this.sizes, sizes);
  }

  protected async ask(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, client.ask("tuning", {}, of));
    if (!answer) return;
    this.forest = answer.trees;
    replace(
      this.place,
      h(
        "p",
        { class: "quiet" },
        this.forest.length
          ? "The program has several versions. A threshold on the amount of parallel work selects one."
          : "The program has only one version of its code.",
      ),
      this.fields,
      this.trees,
    );
    this.inputs();
    this.draw();
  }

  private inputs(): void {
    const names = [...new Set(namesIn(this.forest.map((fun) => fun.trees.map(amounts))))];
    Object.assign(this.sizes, this.model.sizes.of(names));
    arrange(
      this.fields,
      ...this.named.of(
        names,
        (name) => name,
        (name) => {
          const field = new NumberField((this.sizes[name] ??= FIRST), { id: `tuning-${name}` });
          field.take(this.sizes[name], (value) => {
            this.sizes[name] = value;
            this.model.sizes.choose(name, value, this);
            this.draw();
          });
          return h("span", { class: "symbol" }, h("label", { for: field.input.id }, h("code", {}, name)), field.input);
        },
      ),
    );
  }

  private draw(): void {
    replace(
      this.trees,
      ...this.forest.map((fun) =>
        h(
          "div",
          {},
          h("h2", {}, fun.function),
          h("ul", { class: "tree" }, ...fun.trees.map((tree) => this.node(tree, true))),
        ),
      ),
    );
  }

  private node(tree: TreeNode, runs: boolean): HTMLElement {
    const place = tree.spans[0];
    const children = (nodes: readonly TreeNode[] | undefined, live: boolean) =>
      nodes?.length ? h("ul", {}, ...nodes.map((child) => this.node(child, live))) : null;
    if (tree.kind === "branch") return this.branch(tree, runs);
    if (tree.kind === "kernel") {
      const space = (tree.space ?? []).map(([index, bound]) => `${index} < ${bound}`).join(", ");
      return h(
        "li",
        { class: runs ? "runs" : "idle" },
        h(
          "p",
          {},
          h("strong", {}, `V${tree.number} `),
          h("code", {}, `${tree.operator} (${space})`),
          ` at ${tree.level} level, makes `,
          h("code", {}, (tree.results ?? []).join(", ")),
          tree.loops ? `, with ${tree.loops} sequential ${tree.loops === 1 ? "loop" : "loops"} in each thread` : "",
          runs ? h("span", { class: "badge" }, "runs") : null,
          this.placed(place),
        ),
      );
    }
    const head = tree.kind === "loop" ? `loop, ${tree.times} times` : `if ${tree.condition}`;
    return h(
      "li",
      {},
      h("p", {}, head, this.placed(place)),
      children(tree.body ?? tree.then, runs),
      children(tree.orelse, runs),
    );
  }

  private branch(tree: TreeNode, runs: boolean): HTMLElement {
    const amount = tree.work ? evaluate(tree.work, this.sizes) : null;
    const by = forced(this.model, tree.threshold ?? "");
    const enough = by ? by === "first" : amount === null ? null : amount >= (tree.default ?? 0);
    const side = (title: string, nodes: readonly TreeNode[] | undefined, live: boolean) =>
      h(
        "li",
        { class: live ? "runs" : "idle" },
        h("p", { class: "tree-label" }, title),
        h("ul", {}, ...(nodes ?? []).map((child) => this.node(child, live))),
      );
    return h(
      "li",
      {},
      h(
        "p",
        {},
        h("code", {}, tree.amount ?? ""),
        " ≥ ",
        h("code", {}, tree.threshold ?? ""),
        ` (${tree.default})`,
        tree.also ? [" and ", h("code", {}, tree.also)].at(1) : null,
        amount === null || by
          ? null
          : h("span", { class: "quiet" }, ` here ${amount}: ${enough ? "enough" : "not enough"}`),
        tree.threshold ? thresholdChoice(this.model, this.options, tree) : null,
        this.placed(tree.spans[0]),
      ),
      h(
        "ul",
        {},
        side("enough:", tree.then, runs && enough !== false),
        side("not enough:", tree.orelse, runs && enough !== true),
      ),
    );
  }

  private placed(place: Span | undefined): HTMLElement | null {
    if (!place) return null;
    const choose = () => this.link.choose({ spans: [place], origin: "versions", line: -1 });
    return h("button", { class: "link place", onclick: choose }, placeName(place));
  }
}

function amounts(node: TreeNode): Polynomial[] {
  const inside = [...(node.then ?? []), ...(node.orelse ?? []), ...(node.body ?? [])];
  return [...(node.work ? [node.work] : []), ...inside.flatMap(amounts)];
}

export const pane: PaneKind = {
  id: "versions",
  title: "Versions",
  order: 65,
  group: "Cost",
  about: "thresholds: which version of the code runs for which sizes, tuning, force one",
  make: ({ model, link, options }) => new TuningPane(model, link, options),
};
