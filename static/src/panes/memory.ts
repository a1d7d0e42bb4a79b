// Where an array lies: its cells in its block, by index and by thread, as picture and as table.
import { areExact } from "../arithmetic";
import * as client from "../client";
import { debounce, h, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link } from "../link";
import { asTable, byCell, byIndex, columnsFor, type Colouring, type Grid } from "../memory/draw";
import { formula } from "../memory/formula";
import { ChosenValues, possible, proposed, SymbolFields } from "../memory/symbols";
import { threadName, touchesOf, type Touches } from "../memory/threads";
import type { Model, Text } from "../model";
import { unnumbered } from "../numbers";
import { inOrder, namesIn, numberOf, plainNames, renamed, shapeText } from "../polynomial";
import { contains } from "../spans";
import { Lanes } from "./lanes";
import { Sharing } from "./sharing";
import { Sums } from "./sums";
import { AskingPane } from "./asking";
import type { ArrayInfo, BlockInfo, Cell, CellsAnswer, LessonAnswer, MemoryFunction, Span, StageInfo } from "../types";
import type { Keep, PaneKind, Share } from "./pane";

const MOST_CELLS = 2048;

const MODES = { blocks: "All blocks", array: "One array", sharing: "Sharing", sums: "Sums" };
type Mode = keyof typeof MODES;

export interface Drawn {
  mode: Mode;
  stage: string;
  object: string;
}

interface Chosen {
  fun: MemoryFunction;
  array: ArrayInfo;
}

export class MemoryPane extends AskingPane {
  readonly element: HTMLElement;
  private readonly stage = h("select", { "aria-label": "Memory stage" });
  private readonly array = h("select", { "aria-label": "Array" });
  private readonly sizes = new SymbolFields();
  private readonly picture = h("div", { class: "picture" });
  private readonly modes = h("div", {
    class: "segmented first others-at-hand",
    role: "group",
    "aria-label": "What is drawn",
  });
  private readonly one = h("div", {});
  private readonly lanes: Lanes;
  private readonly sharing: Sharing;
  private readonly sums: Sums;
  private mode: Mode = "blocks";
  private functions: MemoryFunction[] = [];
  /** Takes numbers out of their arrays' and blocks' names. */
  private shown = (text: string): string => text;
  /** The array that is shown, by its name in the source. */
  private base = "";
  private cells: Cell[] = [];
  private complete = true;
  private touches: Touches[] = [];
  /** The kernel that is drawn, by its label, and the thread whose cells are marked. */
  private by = "";
  private thread = 0;
  private readonly typed: ChosenValues;
  private readonly reload = debounce(100, () => void this.loadCells(true));
  /** The function and the array whose fields there are. */
  private fielded = "";
  private values: Record<string, number> = {};
  private colouring: Colouring = "index";
  private table = false;
  private at: number[] = [];
  /** True if the arrays of another stage or text are awaited: until then nothing is asked about these. */
  private listing = false;
  /** The text of the lists of stages and arrays. */
  private of: Text = { source: "", options: {} };
  private readonly fresh: Fresh;
  /** An array to show as soon as it is there, by its author's name. */
  private wish: { stage: string; base: string } | null = null;

  constructor(
    model: Model,
    private readonly link: Link,
  ) {
    super(model, "Pictures of memory are drawn");
    this.typed = new ChosenValues(model.sizes);
    this.fresh = new Fresh(model, this.one);
    // What was chosen here is drawn already, and elsewhere in this pane when it is turned to.
    model.sizes.on((by) => by instanceof ChosenValues || this.refresh(true));
    this.lanes = new Lanes(model, link);
    this.sharing = new Sharing(model, link);
    this.sums = new Sums(model, link);
    this.element = h(
      "div",
      { class: "scroll memory" },
      this.modes,
      this.fresh.element,
      this.lanes.fresh.element,
      this.sharing.fresh.element,
      this.sums.fresh.element,
    );
    this.one.append(
      h("div", { class: "memory-head" }, h("label", {}, "at ", this.stage), h("label", {}, "array ", this.array)),
      this.sizes.element,
      this.picture,
    );
    this.choose(this.mode);
    this.stage.addEventListener("change", () => void this.load(this.stage.value));
    this.array.addEventListener("change", () => {
      const array = this.chosen()?.array;
      if (!array) return;
      if (array.src.length) this.link.choose({ spans: array.src, origin: "memory", line: -1 });
      this.pick(array);
    });
    model.on("entry", () => this.followEntry());
    link.on(
      (selection, chosen) => chosen && selection && selection.origin !== "memory" && this.follow(selection.spans[0]),
    );
    this.picture.addEventListener("mouseover", (event) =>
      this.mark((event.target as Element).closest<SVGElement>(".cell")?.dataset.key ?? ""),
    );
    this.picture.addEventListener("mouseleave", () => this.mark(""));
  }

  /** Show an array at a stage, or all blocks. */
  look(stage: string, base: string): void {
    this.wish = base ? { stage, base } : null;
    this.choose(base ? "array" : "blocks");
  }

  /** Draw the array of a lesson, or all blocks, with its sizes until others are typed. */
  suppose({ object, sizes }: Pick<LessonAnswer, "object" | "sizes">): void {
    this.typed.suppose(object ? sizes : {});
    this.lanes.suppose(object ? {} : sizes);
  }

  get share(): Share {
    return this.sums;
  }

  readonly keep: Keep = {
    now: () => this.drawn,
    linked: () => (this.mode === "sums" && this.sums.asked().length ? this.drawn : undefined),
    as: (kept) => {
      if (kept && JSON.stringify(kept) !== JSON.stringify(this.drawn)) this.drawAs(kept as Drawn);
    },
  };

  /** The settings of the drawing, from which another page can draw the same. */
  private get drawn(): Drawn {
    const one = this.mode === "array";
    return { mode: this.mode, stage: one ? this.stage.value : "", object: one ? this.base : "" };
  }

  private drawAs({ mode, stage, object }: Drawn): void {
    if (mode === "array") this.look(stage, object);
    else if (mode in MODES) this.choose(mode);
  }

  protected override get kept(): boolean {
    return this.mode === "sums" ? this.sums.kept : this.mode === "blocks" && Boolean(this.model.frozen?.lifetimes);
  }

  protected get place(): HTMLElement {
    return { blocks: this.lanes.element, array: this.picture, sharing: this.sharing.element, sums: this.sums.element }[
      this.mode
    ];
  }

  protected ask(of: Text): Promise<void> {
    if (this.mode === "blocks") return this.lanes.show(this.stages(), of);
    if (this.mode === "sums") return this.sums.show(of);
    return this.mode === "sharing" ? this.sharing.show(of) : this.load(this.wish?.stage ?? this.stage.value);
  }

  /** All blocks over the program, one array's cells, or which blocks share memory. */
  private choose(mode: Mode): void {
    this.mode = mode;
    replace(
      this.modes,
      ...Object.entries(MODES).map(([one, name]) =>
        h(
          "button",
          {
            "aria-pressed": String(mode === one),
            onclick: () => this.choose(one as Mode),
          },
          name,
        ),
      ),
    );
    this.fresh.element.hidden = mode !== "array";
    this.lanes.fresh.element.hidden = mode !== "blocks";
    this.sharing.fresh.element.hidden = mode !== "sharing";
    this.sums.fresh.element.hidden = mode !== "sums";
    this.refresh(true);
  }

  /** Stages that say where arrays lie. */
  private stages(): StageInfo[] {
    return this.model.present().filter((info) => info.memory);
  }

  private async load(wish: string): Promise<void> {
    const stages = this.stages();
    const stage = stages.find(({ id }) => id === wish)?.id ?? stages[0]?.id;
    replace(this.stage, ...stages.map(({ id, title }) => h("option", { value: id, selected: id === stage }, title)));
    const of = this.model.made ?? this.model.now;
    if (!stage) {
      this.fresh.made(of);
      return this.nothing("This program has no stage with memory.");
    }
    this.listing = true;
    const answer = await this.fresh.answer(of, client.ask("memory", { stage }, of), this.picture);
    if (!answer) return;
    this.listing = false;
    this.of = of;
    this.functions = answer.functions;
    this.shown = unnumbered(this.functions.flatMap((fun) => [...fun.blocks, ...fun.arrays].map(({ name }) => name)));
    this.choices();
    await this.loadCells();
  }

  private nothing(why: string): void {
    this.functions = [];
    this.sizes.show([], () => undefined);
    replace(this.array);
    replace(this.picture, h("p", { class: "empty" }, why));
  }

  private chosen(): Chosen | null {
    for (const fun of this.functions) {
      const array = fun.arrays.find((candidate) => candidate.name === this.array.value);
      if (array) return { fun, array };
    }
    return null;
  }

  /** Fill the list of arrays; the one that was chosen stays, by name or by what its author called it. */
  private choices(): void {
    const { entry } = this.model;
    this.functions.sort((a, b) => Number(b.name === entry) - Number(a.name === entry));
    const all = this.functions.flatMap((fun) => fun.arrays);
    const before = this.array.value;
    const wished = all.find((array) => array.base === this.wish?.base);
    this.wish = null;
    const kept =
      wished ??
      all.find((array) => array.name === before) ??
      all.find((array) => before !== "" && array.base === this.base);
    const chosen = kept ?? preferred(this.functions);
    replace(
      this.array,
      ...this.functions.map((fun) =>
        h(
          "optgroup",
          { label: fun.name },
          ...fun.arrays.map((array) =>
            h(
              "option",
              { value: array.name, selected: array === chosen },
              `${this.shown(array.name)}: ${shapeText(this.told({ fun, array }).shape)}${array.prim}`,
            ),
          ),
        ),
      ),
    );
    if (chosen) this.array.value = chosen.name;
    this.base = chosen?.base ?? "";
    if (!all.length) this.nothing("This program has no arrays at this stage.");
  }

  /** Another function is chosen to run: show an array of it. */
  private followEntry(): void {
    const fun = this.functions.find(({ name }) => name === this.model.entry);
    const array = fun && preferred([fun]);
    if (!array || this.chosen()?.fun === fun) return;
    this.array.value = array.name;
    this.choices();
    void this.loadCells();
  }

  private async loadCells(typed = false): Promise<void> {
    const chosen = this.chosen();
    if (!chosen || this.listing || this.mode !== "array") return;
    const { fun, array } = chosen;
    const guess = proposed(array, fun);
    this.values = { ...guess, ...this.typed.of(Object.keys(guess), fun.names) };
    // What was chosen for another program may not do for this one.
    if (!typed && !possible(this.values, array)) this.values = guess;
    // Fields of another array would take what is typed now for their own.
    const place = JSON.stringify([fun.name, array.base]);
    if (this.fielded !== place) {
      this.fielded = place;
      this.touches = [];
    }
    this.fields(chosen);
    const found = await this.fresh.answer(this.of, this.cellsOf(chosen), this.picture);
    if (!found) return;
    this.cells = found.cells;
    this.complete = found.complete;
    this.touches = found.touches;
    this.fields(chosen);
    this.draw(chosen);
  }

  /** An array's cells, and who touches them. */
  private async cellsOf({ fun, array }: Chosen): Promise<client.Answer<CellsAnswer & { touches: Touches[] }>> {
    const [of, stage, values] = [this.of, this.stage.value, { ...this.values }];
    // With the name of an array its cells are told.
    const answer = (await client.ask("memory", { stage, array: array.name, values }, of)) as client.Answer<CellsAnswer>;
    return answer.ok ? { ...answer, touches: await touchesOf(of, stage, fun, array, values) } : answer;
  }

  private fields({ fun, array }: Chosen): void {
    const names = [...new Set([...array.symbols, ...this.touches.flatMap(({ symbols }) => symbols)])];
    const plain = plainNames(names, fun.names);
    const order = (name: string) => array.shape.findIndex((size) => namesIn(size).includes(name)) >>> 0;
    const valued = names
      .sort((a, b) => order(a) - order(b))
      .map((name) => ({ name, label: plain(name), value: this.values[name]! }));
    this.sizes.show(valued, (name, value) => {
      this.typed.set(Object.keys(this.values), fun.names, name, value);
      this.values[name] = value;
      this.reload();
    });
  }

  /** An array in names as the program's author wrote them. */
  private told({ fun, array }: Chosen): ArrayInfo {
    return { ...renamed(array, inWords(fun)), name: this.shown(array.name), block: this.shown(array.block) };
  }

  private draw(chosen: Chosen): void {
    const { fun, array } = chosen;
    const told = this.told(chosen);
    const block = fun.blocks.find((candidate) => candidate.name === array.block);
    replace(
      this.picture,
      formula(told),
      h("p", { class: "quiet" }, this.shown(about(array, fun, block && renamed(block, inWords(fun))))),
      ...(this.cells.length ? this.drawings(told) : [h("p", { class: "empty" }, "It has no elements at these sizes.")]),
    );
  }

  private redraw(): void {
    const chosen = this.chosen();
    if (chosen) this.draw(chosen);
  }

  private drawings(array: ArrayInfo): HTMLElement[] {
    const { cells } = this;
    const colouring = this.touches.length ? this.colouring : "index";
    const tools = this.tools(this.touches.length > 0, colouring);
    const touches =
      colouring === "thread" ? (this.touches.find(({ label }) => label === this.by) ?? this.touches[0] ?? null) : null;
    const threads = touches
      ? [this.access(touches), ...touches.notes.map((note) => h("p", { class: "quiet" }, this.shown(note)))]
      : [];
    if (!areExact(cells.map(({ cell }) => cell))) {
      return [
        tools,
        h("p", { class: "empty" }, "Cells whose numbers have more than 53 bits are not shown: choose smaller sizes."),
      ];
    }
    if (this.table) {
      return [
        tools,
        ...threads,
        h(
          "div",
          { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Cells as a table" },
          asTable(cells, this.complete, array.name, touches),
        ),
      ];
    }
    const used = Math.max(...cells.map((cell) => cell.cell), ...(touches?.by.keys() ?? [])) + 1;
    if (cells.length > MOST_CELLS || used > MOST_CELLS) {
      return [
        tools,
        h(
          "p",
          { class: "empty" },
          `More than ${MOST_CELLS.toLocaleString("en")} cells are ` +
            `too many to draw: choose smaller sizes, or the table.`,
        ),
      ];
    }
    const shape = (cells[0]?.index ?? []).map((_, k) => Math.max(...cells.map((cell) => cell.index[k] ?? 0)) + 1);
    const grid: Grid = { cells, shape, size: used, columns: columnsFor(cells, shape, used), colouring, touches };
    const fixed = shape.slice(0, -2).map((most, k) => Math.min(this.at[k] ?? 0, most - 1));
    const figure = (title: string, note: string, picture: SVGElement) =>
      h("figure", {}, h("h2", {}, title, h("span", { class: "quiet" }, note)), scrolled(title, picture));
    const inCells = touches ? "the thread of each cell, or how many threads it has" : "the index in each cell";
    return [
      tools,
      ...threads,
      ...this.planes(shape, fixed),
      h(
        "div",
        { class: "figures" },
        figure("By index", "the cell of each element", byIndex(grid, array.name, fixed)),
        figure(array.block, inCells, byCell(grid, array.block)),
      ),
      ...(touches ? [this.picked(touches)] : []),
    ];
  }

  /** Return the choice of a kernel and of its reads or writes. */
  private access(touches: Touches): HTMLElement {
    const select = h(
      "select",
      { "aria-label": "Access" },
      ...this.touches.map((one) => h("option", { value: one.label, selected: one === touches }, this.shown(one.label))),
    );
    select.addEventListener("change", () => {
      this.by = select.value;
      this.thread = 0;
      this.redraw();
    });
    return h("p", { class: "access" }, select);
  }

  /** One thread, whose cells are marked in the pictures. */
  private picked(touches: Touches): HTMLElement {
    const said = h("p", { class: "quiet", "aria-live": "polite" });
    const mark = (): void => {
      const cells = [...touches.by]
        .filter(([, threads]) => threads.includes(this.thread))
        .map(([cell]) => cell)
        .sort((a, b) => a - b);
      const listed =
        cells.length > 24 ? `${cells.slice(0, 24).join(", ")}, … and ${cells.length - 24} more` : cells.join(", ");
      said.textContent =
        `${threadName(touches, this.thread)} ${touches.verb} ` +
        `${cells.length === 1 ? "cell" : "cells"} ${listed || "of other blocks only"}.`;
      for (const one of this.picture.querySelectorAll<SVGElement>(".cell")) {
        one.classList.toggle("of-thread", cells.includes(Number(one.dataset.cell)));
      }
    };
    const last = Math.max(0, touches.points.length - 1);
    this.thread = Math.min(this.thread, last);
    const field = h("input", { type: "range", min: 0, max: last, value: this.thread, "aria-label": "Thread" });
    field.addEventListener("input", () => {
      this.thread = field.valueAsNumber;
      mark();
    });
    requestAnimationFrame(mark);
    return h("div", {}, h("label", { class: "symbol" }, `t0 to t${last}, marked: `, field), said);
  }

  /** Return the buttons of the picture; a choice by thread applies again as soon as there are threads. */
  private tools(threaded: boolean, drawn: Colouring): HTMLElement {
    const choice = (colouring: Colouring, name: string, disabled: boolean) =>
      h(
        "button",
        {
          "aria-pressed": String(drawn === colouring && !this.table),
          disabled,
          title: disabled ? "No kernel at this stage is known to touch this array" : undefined,
          onclick: () => this.change(colouring, false),
        },
        name,
      );
    return h(
      "div",
      { class: "segmented", role: "group", "aria-label": "Picture" },
      choice("index", "By index", false),
      choice("thread", "By thread", !threaded),
      h(
        "button",
        { "aria-pressed": String(this.table), onclick: () => this.change(this.colouring, !this.table) },
        "Table",
      ),
    );
  }

  private change(colouring: Colouring, table: boolean): void {
    this.colouring = colouring;
    this.table = table;
    this.redraw();
  }

  /** Sliders for the outer indices of an array of more than two dimensions. */
  private planes(shape: readonly number[], fixed: readonly number[]): HTMLElement[] {
    return fixed.map((value, k) => {
      const slider = h("input", { type: "range", min: 0, max: shape[k]! - 1, value, "aria-label": `Index ${k}` });
      slider.addEventListener("change", () => {
        this.at[k] = slider.valueAsNumber;
        this.redraw();
      });
      return h("label", { class: "symbol" }, `index ${k} = ${value}`, slider);
    });
  }

  private mark(key: string): void {
    for (const cell of this.picture.querySelectorAll<SVGElement>(".cell")) {
      cell.classList.toggle("pointed", key !== "" && cell.dataset.key === key);
    }
  }

  /** Show the array that a chosen place makes, if there is one. */
  private follow(place: Span | undefined): void {
    if (!place || !this.visible) return;
    const all = this.functions.flatMap((fun) => fun.arrays);
    const found = all.find((array) => array.src[0] && contains(place, array.src[0]));
    if (found && found.name !== this.array.value) this.pick(found);
  }

  /** Show another array of those that are listed. */
  private pick(array: ArrayInfo): void {
    this.array.value = array.name;
    this.base = array.base;
    this.at = [];
    void this.loadCells();
  }
}

/** Return a function to the source's names of sizes of a function's arrays and blocks. */
function inWords({ arrays, blocks, names }: MemoryFunction): (name: string) => string {
  return plainNames(new Set([...arrays.flatMap(({ symbols }) => symbols), ...namesIn(blocks)]), names);
}

/** A picture that may be wider than the pane. */
function scrolled(label: string, picture: SVGElement): HTMLElement {
  return h("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": label }, picture);
}

/** The array of the first function that tells most: one that is not row by row, or one that a kernel makes. */
function preferred(functions: readonly MemoryFunction[]): ArrayInfo | undefined {
  const own = functions.filter((fun) => fun.arrays.length).slice(0, 1);
  const all = own.flatMap((fun) => fun.arrays);
  const made = own.flatMap((fun) => fun.kernels.map((kernel) => kernel.name));
  const strided = all.filter((array) => array.shape.length > 1 && numberOf(array.lmad.dims.at(-1)?.[1] ?? []) !== 1);
  const kernels = all.filter((array) => made.includes(array.name));
  const from = strided.length ? strided : kernels.length ? kernels : all;
  const most = Math.max(0, ...from.map((array) => array.shape.length));
  return from.find((array) => array.shape.length === most);
}

function about(array: ArrayInfo, fun: MemoryFunction, block: BlockInfo | undefined): string {
  const others = fun.arrays
    .filter((other) => other.block === array.block && other !== array)
    .map((other) => other.name);
  const space = {
    device: "main memory",
    shared: "the shared memory of a thread block",
    private: "a thread's own memory",
  };
  const where = block ? ` in ${space[block.space as keyof typeof space] ?? block.space}` : "";
  const size = block?.count ? `holds ${inOrder(block.count)} ${block.prim}${where}` : `lies${where || " in memory"}`;
  const origin =
    { parameter: ", and is the caller's", carried: ", and is handed from round to round", alloc: "" }[
      block?.kind ?? "alloc"
    ] ?? "";
  const shared = others.length
    ? ` It also holds ${others.slice(0, 4).join(", ")}${others.length > 4 ? ` and ${others.length - 4} more` : ""}.`
    : "";
  return `The block ${size}${origin}.${shared}`;
}

export const pane: PaneKind = {
  id: "memory",
  title: "Memory",
  order: 10,
  group: "Memory",
  about: "where arrays lie: blocks, cells, index functions, bytes at the peak, lifetimes, sharing, sum types",
  keeps: "drawn",
  answers: ["sums"],
  make: ({ model, link }) => new MemoryPane(model, link),
};
