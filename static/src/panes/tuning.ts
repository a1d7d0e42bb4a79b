// The tuning tree: code versions under named thresholds, as nested lists.
import * as client from "../client";
import { debounce, h, replace } from "../dom";
import type { Model } from "../model";
import { messageElement } from "../problems";

type Tree = Record<string, unknown>;

const BRANCHES = ["children", "then", "else", "yes", "no", "enough", "otherwise", "branches", "versions", "tree", "trees", "true", "false", "above", "below"];

export class TuningPane {
  readonly element = h("div", { class: "scroll tuning" });
  private visible = false;
  private seen = -1;

  constructor(private readonly model: Model) {
    const soon = debounce(150, () => void this.refresh());
    model.on("stages", soon);
    model.on("status", soon);
  }

  show(visible: boolean): void {
    this.visible = visible;
    void this.refresh();
  }

  private async refresh(): Promise<void> {
    const { generation, status, stages } = this.model;
    if (!this.visible || status.phase !== "idle" || generation === this.seen || !stages.size) return;
    this.seen = generation;
    const answer = await client.tuning(this.model.source, this.model.options);
    if (this.model.generation !== generation) return;
    if (!answer.ok) return replace(this.element, messageElement(answer.error));
    const { ok: _, ...rest } = answer as Tree;
    const trees = Object.values(rest).flatMap((value) => (Array.isArray(value) ? value : [value])) as Tree[];
    replace(this.element,
      h("p", { class: "quiet" }, trees.length
        ? "Where there is a choice, the program holds several versions; a size against a threshold decides which one runs."
        : "This program has one version of its code: nothing to choose between."),
      ...trees.map((tree) => h("ul", { class: "tree" }, node(tree))));
  }
}

/** One node: what it says of itself, then its branches. */
function node(tree: unknown, label = ""): HTMLElement {
  if (typeof tree !== "object" || tree === null) return h("li", {}, `${label} ${String(tree)}`.trim());
  const record = tree as Tree;
  const facts = Object.entries(record).filter(([name, value]) => !BRANCHES.includes(name) && simple(value));
  const branches = Object.entries(record).filter(([name, value]) => BRANCHES.includes(name) && value !== null && value !== undefined);
  return h("li", {},
    label ? h("span", { class: "tree-label" }, label) : null,
    h("dl", {}, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("code", {}, String(value)))))),
    branches.length ? h("ul", {}, ...branches.flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((child) => node(child)) : [node(value, name)])) : null);
}

function simple(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value) && value !== "";
}
