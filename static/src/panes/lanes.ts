// All blocks of a program over its statements, before and after arrays are built in place.
import { namesIn } from "../arithmetic";
import * as client from "../client";
import { bytes, debounce, h, onWidth, replace } from "../dom";
import type { Link, Selection } from "../link";
import { drawLanes, lanesTables } from "../memory/lanes";
import { symbolField } from "../memory/symbols";
import type { Model } from "../model";
import { messageElement } from "../problems";
import { plainNames } from "../proof/names";
import type { KeptLifetimes, LifeFunction, StageInfo } from "../types";

const FIRST = 100; // for sizes of arguments
const OTHER = 10; // for other names: as in app/kept.py
const BESIDE = 696; // as in lanes.css

interface Of {
  info: StageInfo;
  fun: LifeFunction;
}

export class Lanes {
  readonly element = h("div", { class: "lanes-view" });
  private readonly fields = h("div", { class: "symbols" });
  private readonly body = h("div", {});
  private readonly values: Record<string, number> = {};
  private shown: Of[] = [];
  private fun = "";
  private table = false;
  private wanted = 0;

  constructor(private readonly model: Model, private readonly link: Link) {
    this.body.addEventListener("mouseover", (event) => this.point(event.target as Element));
    this.body.addEventListener("mouseleave", () => link.hover(null));
    this.body.addEventListener("click", (event) => {
      const place = this.placeOf(event.target as Element);
      if (place && (event.target as Element).closest("svg")) link.choose(place);
    });
    onWidth(this.element, () => this.shown.length && this.draw());
  }

  /** Draw these stages, of which the first is what the others are compared with. */
  async show(stages: readonly StageInfo[]): Promise<void> {
    const mine = ++this.wanted;
    const kept = this.model.frozen?.lifetimes;
    if (kept) return this.showKept(kept);
    const { source, options } = this.model;
    const ask = async (): Promise<Of[] | null> => {
      const answers = await Promise.all(stages.map((info) => client.lifetimes(source, options, info.id, this.values)));
      if (mine !== this.wanted) return null;
      const failed = answers.find((answer) => !answer.ok);
      if (failed && !failed.ok) {
        replace(this.element, messageElement(failed.error));
        return null;
      }
      return answers.flatMap((answer, k) => answer.ok ? this.chosen(answer.functions).map((fun) => ({ info: stages[k]!, fun })) : []);
    };
    let found = await ask();
    if (!found) return;
    const missing = found.flatMap(({ fun }) => fun.symbols).filter((name) => this.values[name] === undefined);
    const sizes = new Set(found.flatMap(({ fun }) => fun.blocks).filter((block) => block.kind === "parameter").flatMap((block) => namesIn(block.bytes)));
    for (const name of missing) this.values[name] = sizes.has(name) ? FIRST : OTHER;
    if (missing.length) found = await ask();
    if (!found) return;
    this.shown = found.filter((of, k) => !k || !sameLives(of.fun, found![k - 1]!.fun));
    if (!this.element.contains(this.body)) replace(this.element, this.fields, this.body);
    this.inputs(stages);
    this.draw();
  }

  /** What a permalink holds: for the sizes that it was made with. */
  private showKept(kept: readonly KeptLifetimes[]): void {
    const found = kept.flatMap((one): Of[] => {
      const info = this.model.info(one.stage);
      return info ? this.chosen(one.functions).map((fun) => ({ info, fun })) : [];
    });
    this.shown = found.filter((of, k) => !k || !sameLives(of.fun, found[k - 1]!.fun));
    const values = Object.assign({}, ...kept.map((one) => one.values)) as Record<string, number>;
    const plain = plainNames(Object.keys(values).join(" "));
    this.fields.dataset["for"] = "kept";
    replace(this.fields, h("p", { class: "quiet" }, Object.keys(values).length
      ? `As this link keeps it, for ${Object.entries(values).map(([name, value]) => `${plain.get(name) ?? name} = ${value}`).join(", ")}.`
      : "As this link keeps it."));
    replace(this.element, this.fields, this.body);
    this.draw();
  }

  /** One entry point's function; the one with the most blocks. */
  private chosen(functions: readonly LifeFunction[]): LifeFunction[] {
    const one = functions.find((fun) => fun.name === this.fun) ?? [...functions].sort((a, b) => b.blocks.length - a.blocks.length)[0];
    return one ? [one] : [];
  }

  private inputs(stages: readonly StageInfo[]): void {
    const names = [...new Set(this.shown.flatMap(({ fun }) => fun.symbols))];
    if (this.fields.dataset["for"] === names.join()) return;
    this.fields.dataset["for"] = names.join();
    const reload = debounce(120, () => void this.show(stages));
    const plain = plainNames(names.join(" "));
    replace(this.fields, ...names.map((name) => symbolField(name, this.values[name]!, (value) => {
      this.values[name] = value;
      reload();
    }, 0, plain.get(name))));
  }

  private draw(): void {
    const most = Math.max(0, ...this.shown.map(({ fun }) => fun.peak?.bytes ?? 0));
    const width = Math.max(260, this.element.clientWidth);
    const choice = (name: string, table: boolean) => h("button", {
      "aria-pressed": String(this.table === table),
      onclick: () => {
        this.table = table;
        this.draw();
      },
    }, name);
    if (!this.shown.some(({ fun }) => fun.blocks.length)) {
      return replace(this.body, h("p", { class: "empty" }, "This program needs no memory blocks: it has no arrays."));
    }
    replace(this.body, this.summary(),
      h("div", { class: "segmented", role: "group", "aria-label": "How lifetimes are shown" }, choice("Drawing", false), choice("Table", true)),
      h("div", { class: "lanes-stages" }, ...this.shown.map((of, k) => h("section", { "data-stage": k },
        h("h2", {}, of.info.title, h("span", { class: "quiet" }, ` ${of.fun.blocks.length} blocks, at most ${bytes(of.fun.peak?.bytes ?? 0)} at once`)),
        this.table
          ? h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `Lifetimes at ${of.info.title}` },
            ...lanesTables(of.fun, (at) => this.choose(of, at)))
          : h("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": `Lanes at ${of.info.title}` }, drawLanes(of.fun, this.widthOf(width), most, this.shown[k + 1]))))),
      this.table ? null : h("p", { class: "quiet" },
        "Each lane is a block, each bar an array from the statement that makes it to the last that uses it; a hatched bar lies in this block or in another. Darker columns are inside of loops and branches. A kernel is one statement."));
  }

  /** Beside each other where there is room, else below. */
  private widthOf(width: number): number {
    return (width >= BESIDE && this.shown.length > 1 ? width / 2 - 12 : width) - 4;
  }

  /** Before and after in numbers. */
  private summary(): HTMLElement {
    const [first] = this.shown;
    const numbers = ({ fun }: Of) => {
      const made = fun.blocks.filter((block) => block.kind === "alloc");
      return [made.length, made.reduce((sum, block) => sum + (block.size ?? 0), 0), fun.peak?.bytes ?? 0];
    };
    const start = first ? numbers(first) : [];
    const row = (of: Of) => h("tr", {}, h("th", { scope: "row" }, of.info.title), ...numbers(of).map((amount, k) => {
      const shown = (one: number): string => k ? bytes(one) : String(one);
      const less = start[k]! - amount;
      return h("td", {}, shown(amount), less > 0 ? h("span", { class: "less" }, ` −${shown(less)}`) : null);
    }));
    return h("table", { class: "cells-table before-after" }, h("caption", { class: "visually-hidden" }, "Before and after"),
      h("thead", {}, h("tr", {}, ...["Stage", "Blocks", "Made", "At the peak"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...this.shown.map(row)));
  }

  private point(target: Element): void {
    this.link.hover(this.placeOf(target));
  }

  /** Where the array, or the statement, under the mouse comes from. */
  private placeOf(target: Element): Selection | null {
    const of = this.shown[Number(target.closest<HTMLElement>("[data-stage]")?.dataset["stage"] ?? -1)];
    const array = target.closest<SVGElement>("[data-array]")?.dataset["array"];
    const at = target.closest<SVGElement>("[data-point]")?.dataset["point"];
    const src = array ? of?.fun.arrays.find((one) => one.name === array)?.src : at ? of?.fun.points[Number(at)]?.src : undefined;
    return src?.length ? { spans: src, origin: "memory", line: -1 } : null;
  }

  private choose(of: Of, at: number): void {
    const src = of.fun.points[at]?.src;
    if (src?.length) this.link.choose({ spans: src, origin: "memory", line: -1 });
  }
}

/** Whether nothing changed from one stage to the next. */
function sameLives(one: LifeFunction, other: LifeFunction): boolean {
  const told = ({ points, blocks, live }: LifeFunction) =>
    JSON.stringify([points.map(({ label }) => label), blocks.map(({ name, bytes: size }) => [name, size]), live]);
  return told(one) === told(other);
}
