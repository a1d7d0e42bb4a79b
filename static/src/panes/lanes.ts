// All blocks of a program over its statements, before and after arrays are built in place.
import * as client from "../client";
import type { Answer } from "../client";
import { bytes, debounce, h, onWidth, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link, Selection } from "../link";
import { drawLanes, lanesTables } from "../memory/lanes";
import { ChosenValues, SymbolFields } from "../memory/symbols";
import type { Model, Text } from "../model";
import { unnumbered } from "../numbers";
import { Pictured } from "../pictures";
import { plainNames } from "../polynomial";
import type { KeptLifetimes } from "../kept";
import type { LifeFunction, StageInfo } from "../types";

const BESIDE = 696; // as in lanes.css

interface Of {
  info: StageInfo;
  fun: LifeFunction;
}

export class Lanes {
  readonly element = h("div", { class: "lanes-view" });
  readonly fresh: Fresh;
  private readonly tools = h("div", {
    class: "segmented others-at-hand",
    role: "group",
    "aria-label": "How lifetimes are shown",
  });
  private readonly typed: ChosenValues;
  /** Values chosen by the user, and those that the server proposed for other names. */
  private values: Record<string, number> = {};
  private used: Record<string, number> = {};
  /** For each function the places of its size fields and its drawing. */
  private readonly parts = new Map<string, { section: HTMLElement; fields: SymbolFields; body: HTMLElement }>();
  private shown: Of[] = [];
  private table = false;
  private readonly width: () => number;
  private readonly pictured: Pictured;
  private again = (): void => undefined;
  private readonly reload = debounce(120, () => this.again());

  constructor(
    private readonly model: Model,
    private readonly link: Link,
  ) {
    this.typed = new ChosenValues(model.sizes);
    this.fresh = new Fresh(model, this.element);
    this.pictured = new Pictured(link, this.element, "memory");
    this.element.addEventListener("mouseover", (event) => this.point(event.target as Element));
    this.element.addEventListener("mouseleave", () => link.hover(null));
    this.element.addEventListener("click", (event) => {
      const place = this.placeOf(event.target as Element);
      if (place && (event.target as Element).closest("svg")) link.choose(place);
    });
    this.width = onWidth(this.element, () => this.shown.length && this.draw());
    model.on("entry", () => this.shown.length && this.arrange());
    model.sizes.onOffer(() => {
      if (!model.frozen?.lifetimes) for (const name of this.parts.keys()) this.inputs(name);
    });
  }

  /** Draw with these sizes until others are typed. */
  suppose(sizes: Record<string, number>): void {
    this.typed.suppose(sizes);
  }

  /** Draw these stages of a program, of which the first is what the others are compared with. */
  async show(stages: readonly StageInfo[], of: Text): Promise<void> {
    this.again = () => void this.show(stages, of);
    const kept = this.model.frozen?.lifetimes;
    if (kept) return this.showKept(kept, of);
    const found = await this.fresh.answer(of, this.ask(stages, of));
    if (!found) return;
    this.used = found.values;
    this.lay(found.lives);
    // Only now is it known what this program's stages call the names that have a value.
    const asked = JSON.stringify(this.values);
    this.values = Object.assign(
      {},
      ...[...this.parts.keys()].map((name) => {
        const { names, called } = this.symbols(name);
        return this.typed.of(names, called);
      }),
    );
    if (JSON.stringify(this.values) !== asked) return this.show(stages, of);
    for (const name of this.parts.keys()) this.inputs(name);
    this.draw();
  }

  private async ask(
    stages: readonly StageInfo[],
    of: Text,
  ): Promise<Answer<{ lives: Of[]; values: Record<string, number> }>> {
    const answers = await Promise.all(
      stages.map((info) => client.ask("lifetimes", { stage: info.id, values: this.values }, of)),
    );
    const lives: Of[] = [];
    const values: Record<string, number> = {};
    for (const [k, answer] of answers.entries()) {
      if (!answer.ok) return answer;
      lives.push(...answer.functions.map((fun) => ({ info: stages[k]!, fun })));
      Object.assign(values, answer.values);
    }
    return { lives, values };
  }

  /** Show the answer of a permalink, for the sizes that it was made with. */
  private showKept(kept: readonly KeptLifetimes[], of: Text): void {
    this.fresh.made(of, kept);
    this.lay(
      kept.flatMap((one): Of[] => {
        const info = this.model.info(one.stage);
        return info ? one.functions.map((fun) => ({ info, fun })) : [];
      }),
    );
    const values = Object.assign({}, ...kept.map((one) => one.values)) as Record<string, number>;
    for (const [name, { fields }] of this.parts) {
      const { names, plain } = this.symbols(name);
      fields.show([], () => undefined);
      replace(
        fields.element,
        h(
          "p",
          { class: "quiet" },
          names.length
            ? `As stored in this link, for ${names.map((symbol) => `${plain(symbol)} = ${values[symbol]}`).join(", ")}.`
            : "As stored in this link.",
        ),
      );
    }
    this.draw();
  }

  /** A part of the page for each function that has blocks at some stage. */
  private lay(found: readonly Of[]): void {
    const names = [...new Set(found.filter(({ fun }) => fun.blocks.length).map(({ fun }) => fun.name))];
    this.shown = names.flatMap((name) =>
      withoutNumbers(found.filter(({ fun }) => fun.name === name)).filter(
        (of, k, all) => !k || !sameLives(of.fun, all[k - 1]!.fun),
      ),
    );
    for (const name of this.parts.keys()) if (!names.includes(name)) this.parts.delete(name);
    for (const name of names) {
      if (this.parts.has(name)) continue;
      const [fields, body] = [new SymbolFields(), h("div", {})];
      const section = h(
        "section",
        { class: "lanes-function", "aria-label": `Memory of ${name}` },
        h("h2", {}, h("code", {}, name)),
        fields.element,
        body,
      );
      this.parts.set(name, { section, fields, body });
    }
    this.arrange();
  }

  /** The function that is chosen to run comes first. */
  private arrange(): void {
    const sections = [...this.parts]
      .sort(([a], [b]) => Number(b === this.model.entry) - Number(a === this.model.entry))
      .map(([, part]) => part.section);
    if (!sections.length)
      return replace(
        this.element,
        h("p", { class: "empty" }, "This program needs no memory blocks: it has no arrays."),
      );
    replace(
      this.element,
      this.tools,
      ...sections,
      h(
        "p",
        { class: "quiet", hidden: this.table },
        "Each lane is a memory block, each bar an array from the statement that creates it to the last that uses it; " +
          "a hatched bar lies in this block or in another. Darker columns are inside loops and branches. " +
          "A kernel is one statement.",
      ),
    );
  }

  private of(name: string): Of[] {
    return this.shown.filter(({ fun }) => fun.name === name);
  }

  private symbols(name: string): {
    names: string[];
    called: Record<string, string>;
    plain: (symbol: string) => string;
  } {
    const names = [...new Set(this.of(name).flatMap(({ fun }) => fun.symbols))];
    const called = Object.assign({}, ...this.of(name).map(({ fun }) => fun.names)) as Record<string, string>;
    return { names, called, plain: plainNames(names, called) };
  }

  private inputs(name: string): void {
    const { fields } = this.parts.get(name)!;
    const { names, called, plain } = this.symbols(name);
    // What the page has a field for needs none here.
    const own = names.filter((symbol) => !this.model.sizes.isOffered(plain(symbol)));
    const valued = own.map((symbol) => ({
      name: symbol,
      label: plain(symbol),
      value: this.values[symbol] ?? this.used[symbol]!,
    }));
    fields.show(valued, (symbol, value) => {
      this.typed.set(names, called, symbol, value);
      this.values[symbol] = value;
      this.reload();
    });
  }

  private draw(): void {
    const turn = (): void => {
      this.table = !this.table;
      this.arrange();
      this.draw();
    };
    replace(this.tools, h("button", { "aria-pressed": String(this.table), onclick: turn }, "Table"));
    const width = Math.max(260, this.width());
    for (const [name, { body }] of this.parts) {
      const own = this.of(name);
      const most = Math.max(0, ...own.map(({ fun }) => fun.peak?.bytes ?? 0));
      // Beside each other where there is room.
      const drawWidth = (width >= BESIDE && own.length > 1 ? width / 2 - 12 : width) - 4;
      replace(
        body,
        summary(own),
        h(
          "div",
          { class: "lanes-stages" },
          ...own.map((of, k) =>
            h(
              "section",
              { "data-stage": this.shown.indexOf(of) },
              h(
                "h3",
                {},
                of.info.title,
                h(
                  "span",
                  { class: "quiet" },
                  ` ${of.fun.blocks.length} ${of.fun.blocks.length === 1 ? "block" : "blocks"}, ` +
                    `at most ${bytes(of.fun.peak?.bytes ?? 0)} at once`,
                ),
              ),
              this.table
                ? h(
                    "div",
                    {
                      class: "table-scroll",
                      tabindex: 0,
                      role: "region",
                      "aria-label": `Lifetimes of ${name} at ${of.info.title}`,
                    },
                    ...lanesTables(of.fun, this.pictured, (at) => this.choose(of, at)),
                  )
                : h(
                    "div",
                    {
                      class: "drawing",
                      tabindex: 0,
                      role: "region",
                      "aria-label": `Lanes of ${name} at ${of.info.title}`,
                    },
                    drawLanes(of.fun, this.pictured, drawWidth, most, own[k + 1]),
                  ),
            ),
          ),
        ),
      );
    }
    this.pictured.light();
  }

  private point(target: Element): void {
    this.link.hover(this.placeOf(target));
  }

  /** Where the array, or the statement, under the mouse comes from. */
  private placeOf(target: Element): Selection | null {
    const of = this.shown[Number(target.closest<HTMLElement>("[data-stage]")?.dataset.stage ?? -1)];
    const array = target.closest<SVGElement>("[data-array]")?.dataset.array;
    const at = target.closest<SVGElement>("[data-point]")?.dataset.point;
    const src = array
      ? of?.fun.arrays.find((one) => one.name === array)?.src
      : at
        ? of?.fun.points[Number(at)]?.src
        : undefined;
    return src?.length ? { spans: src, origin: "memory", line: -1 } : null;
  }

  private choose(of: Of, at: number): void {
    const src = of.fun.points[at]?.src;
    if (src?.length) this.link.choose({ spans: src, origin: "memory", line: -1 });
  }
}

/** Names of blocks and arrays without the numbers that tell apart nothing, at any of these stages. */
function withoutNumbers(own: readonly Of[]): Of[] {
  const shown = unnumbered(own.flatMap(({ fun }) => [...fun.blocks, ...fun.arrays].map(({ name }) => name)));
  return own.map((of) => ({
    ...of,
    fun: {
      ...of.fun,
      points: of.fun.points.map((point) => ({ ...point, label: shown(point.label) })),
      blocks: of.fun.blocks.map((block) => ({ ...block, name: shown(block.name) })),
      arrays: of.fun.arrays.map((array) => ({
        ...array,
        name: shown(array.name),
        block: shown(array.block),
        blocks: array.blocks.map(shown),
      })),
    },
  }));
}

/** Before and after in numbers. */
function summary(own: readonly Of[]): HTMLElement {
  const numbers = ({ fun }: Of) => {
    const made = fun.blocks.filter((block) => block.kind === "alloc");
    return [made.length, made.reduce((sum, block) => sum + (block.size ?? 0), 0), fun.peak?.bytes ?? 0];
  };
  const [first] = own;
  const start = first ? numbers(first) : [];
  const row = (of: Of) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, of.info.title),
      ...numbers(of).map((amount, k) => {
        const shown = (one: number): string => (k ? bytes(one) : String(one));
        const less = start[k]! - amount;
        return h("td", {}, shown(amount), less > 0 ? h("span", { class: "less" }, ` −${shown(less)}`) : null);
      }),
    );
  return h(
    "table",
    { class: "cells-table before-after" },
    h("caption", { class: "visually-hidden" }, "Before and after"),
    h(
      "thead",
      {},
      h("tr", {}, ...["Stage", "Blocks", "Made", "At the peak"].map((name) => h("th", { scope: "col" }, name))),
    ),
    h("tbody", {}, ...own.map(row)),
  );
}

/** True if nothing changed from one stage to the next. */
function sameLives(one: LifeFunction, other: LifeFunction): boolean {
  const told = ({ points, blocks, live }: LifeFunction) =>
    JSON.stringify([points.map(({ label }) => label), blocks.map(({ name, bytes: size }) => [name, size]), live]);
  return told(one) === told(other);
}
