// Where an array lies: its cells in its block, by index and by thread, as picture and as table.
import * as client from "../client";
import { debounce, h, replace } from "../dom";
import type { Link } from "../link";
import { asTable, byCell, byIndex, columnsFor, threadNumbers, type Colouring, type Grid } from "../memory/draw";
import { formula, tidy } from "../memory/formula";
import type { Model } from "../model";
import { messageElement } from "../problems";
import { contains } from "../spans";
import type { ArrayInfo, MemoryAnswer, Span } from "../types";

const MOST_CELLS = 2048;

export class MemoryPane {
  readonly element: HTMLElement;
  private readonly stage = h("select", { "aria-label": "Memory stage" });
  private readonly array = h("select", { "aria-label": "Array" });
  private readonly sizes = h("div", { class: "symbols" });
  private readonly picture = h("div", { class: "picture" });
  private answer: MemoryAnswer | null = null;
  private values: Record<string, number> = {};
  private colouring: Colouring = "index";
  private table = false;
  private at: number[] = [];
  private wanted = 0;
  private visible = false;
  private seen = -1;

  constructor(private readonly model: Model, private readonly link: Link) {
    this.element = h("div", { class: "scroll memory" },
      h("div", { class: "memory-head" },
        h("label", {}, "at ", this.stage), h("label", {}, "array ", this.array)),
      this.sizes, this.picture);
    this.stage.addEventListener("change", () => void this.load(""));
    this.array.addEventListener("change", () => {
      this.at = [];
      void this.load(this.array.value);
      const src = this.current()?.src;
      if (src?.length) this.link.choose({ spans: src, origin: "memory", line: -1 });
    });
    const soon = debounce(150, () => this.refresh());
    model.on("stages", soon);
    model.on("status", soon);
    link.on((selection, chosen) => chosen && selection && selection.origin !== "memory" && this.follow(selection.spans[0]));
    this.picture.addEventListener("mouseover", (event) => this.point(event));
    this.picture.addEventListener("mouseleave", () => this.mark(""));
  }

  /** Panes that are not seen ask nothing of the server. */
  show(visible: boolean): void {
    this.visible = visible;
    this.refresh();
  }

  private refresh(): void {
    const { generation, status } = this.model;
    if (!this.visible || status.phase !== "idle" || this.seen === generation || !this.model.stages.size) return;
    this.seen = generation;
    void this.load(this.array.value);
  }

  /** Stages whose text tells memory: those that the manifest shows after the first with blocks. */
  private stages(): { id: string; title: string }[] {
    return this.model.present().filter((info) => info.kind === "ir" && this.hasMemory(info.id));
  }

  private hasMemory(id: string): boolean {
    return this.model.stages.get(id)?.lines.some((line) => /@ ?\w+ ?(->|with|\()|\bmem\b|\balloc\b/.test(line.text)) ?? false;
  }

  private async load(name: string): Promise<void> {
    const mine = ++this.wanted;
    const stages = this.stages();
    const stage = stages.some(({ id }) => id === this.stage.value) ? this.stage.value : (stages[0]?.id ?? "");
    replace(this.stage, ...stages.map(({ id, title }) => h("option", { value: id, selected: id === stage }, title)));
    if (!stage) {
      this.answer = null;
      replace(this.sizes);
      replace(this.picture, h("p", { class: "empty" }, "No stage of this program tells where arrays lie."));
      return;
    }
    const answer = await this.ask(stage, name);
    if (mine !== this.wanted || !answer) return;
    this.answer = answer;
    this.choices(this.current(name)?.name ?? "");
    this.draw();
  }

  /** The arrays, then the cells of the one that was named, or of the first that has a shape. */
  private async ask(stage: string, name: string): Promise<MemoryAnswer | null> {
    const { source, options } = this.model;
    const first = await client.memory(source, options, stage, name || null, this.values);
    const missing = !first.ok && name;
    const answer = missing ? await client.memory(source, options, stage, null, {}) : first;
    if (!answer.ok) return this.fail(answer);
    if (answer.cells) return answer;
    const pick = preferred(answer.arrays);
    if (!pick) return answer;
    const cells = await client.memory(source, options, stage, pick.name, this.values);
    if (!cells.ok) return this.fail(cells);
    this.array.dataset["chosen"] = pick.name;
    return { ...cells, arrays: cells.arrays ?? answer.arrays };
  }

  private fail(answer: { error: Parameters<typeof messageElement>[0] }): null {
    replace(this.picture, messageElement(answer.error));
    return null;
  }

  private current(name = this.array.value): ArrayInfo | undefined {
    const arrays = this.answer?.arrays ?? [];
    return arrays.find((array) => array.name === name) ?? arrays.find((a) => a.name === this.array.dataset["chosen"]) ?? preferred(arrays);
  }

  private choices(chosen: string): void {
    const arrays = this.answer?.arrays ?? [];
    replace(this.array, ...arrays.map((array) => h("option", { value: array.name, selected: array.name === chosen },
      `${array.name}: ${array.shape.map((size) => `[${tidy(size)}]`).join("")}${array.prim}`)));
    const symbols = (this.answer?.symbols ?? []).map((symbol) => (typeof symbol === "string" ? { name: symbol } : symbol));
    const signature = symbols.map(({ name }) => name).join();
    if (this.sizes.dataset["for"] === signature && this.sizes.childElementCount) return;
    this.sizes.dataset["for"] = signature;
    replace(this.sizes, ...symbols.map((symbol) => this.symbol(symbol.name, "value" in symbol ? symbol.value : undefined)));
  }

  private symbol(name: string, given: number | undefined): HTMLElement {
    const value = this.values[name] ?? this.answer?.values?.[name] ?? given ?? 4;
    const number = h("input", { type: "number", min: 0, max: 4096, value, "aria-label": name });
    const slider = h("input", { type: "range", min: 0, max: 16, value, "aria-label": `${name}, slider`, tabindex: -1 });
    const reload = debounce(120, () => void this.load(this.array.value));
    const change = (source: HTMLInputElement, other: HTMLInputElement) => () => {
      if (!Number.isSafeInteger(source.valueAsNumber)) return;
      other.value = source.value;
      this.values[name] = source.valueAsNumber;
      reload();
    };
    number.addEventListener("input", change(number, slider));
    slider.addEventListener("input", change(slider, number));
    return h("label", { class: "symbol" }, h("code", {}, name), slider, number);
  }

  private draw(): void {
    const array = this.current();
    const cells = this.answer?.cells ?? [];
    if (!array) {
      replace(this.picture, h("p", { class: "empty" }, "This program has no arrays at this stage."));
      return;
    }
    const others = (this.answer?.arrays ?? []).filter((other) => other.block === array.block && other !== array).length;
    const block = this.answer?.blocks.find((candidate) => candidate.name === array.block);
    replace(this.picture, formula(array),
      h("p", { class: "quiet" }, block ? `The block holds ${tidy(block.count)} ${block.prim} in ${space(block.space)}. ` : "",
        others ? `${others} other ${others === 1 ? "array lies" : "arrays lie"} in it as well.` : ""),
      ...(cells.length ? this.drawings(array) : [h("p", { class: "empty" }, "It has no elements at these sizes.")]));
  }

  private drawings(array: ArrayInfo): HTMLElement[] {
    const cells = this.answer!.cells!;
    if (cells.length > MOST_CELLS && !this.table) {
      return [this.tools(cells.some((cell) => cell.thread)), h("p", { class: "empty" }, `${cells.length} cells are too many to draw: choose smaller sizes, or the table.`)];
    }
    const tools = this.tools(cells.some((cell) => cell.thread));
    if (this.table) return [tools, h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Cells as a table" }, asTable(cells, array.name))];
    const shape = (cells[0]?.index ?? []).map((_, k) => Math.max(...cells.map((cell) => cell.index[k] ?? 0)) + 1);
    const used = Math.max(...cells.map((cell) => cell.cell)) + 1;
    const count = Number(this.answer!.blocks.find((block) => block.name === array.block)?.count);
    const size = Math.min(MOST_CELLS, Number.isSafeInteger(count) ? Math.max(count, used) : used);
    const grid: Grid = { cells, shape, size, columns: columnsFor(cells, shape, size), colouring: this.colouring };
    const threads = threadNumbers(cells);
    const fixed = shape.slice(0, -2).map((most, k) => Math.min(this.at[k] ?? 0, most - 1));
    return [tools, ...this.planes(shape, fixed),
      h("h3", {}, "By index", h("span", { class: "quiet" }, " each element with its cell")),
      h("div", { class: "drawing" }, byIndex(grid, array.name, fixed, threads) as unknown as Node),
      h("h3", {}, "In memory", h("span", { class: "quiet" }, ` the block ${array.block}, cell by cell`)),
      h("div", { class: "drawing" }, byCell(grid, array.block, threads) as unknown as Node)];
  }

  private tools(threaded: boolean): HTMLElement {
    const choice = (colouring: Colouring, name: string, disabled: boolean) => h("button", {
      "aria-pressed": String(this.colouring === colouring && !this.table), disabled,
      title: disabled ? "No kernel of this stage writes this array by thread" : undefined,
      onclick: () => this.change(colouring, false),
    }, name);
    return h("div", { class: "segmented", role: "group", "aria-label": "Picture" },
      choice("index", "Colour by index", false), choice("thread", "Colour by thread", !threaded),
      h("button", { "aria-pressed": String(this.table), onclick: () => this.change(this.colouring, !this.table) }, "Table"));
  }

  private change(colouring: Colouring, table: boolean): void {
    this.colouring = colouring;
    this.table = table;
    this.draw();
  }

  /** Sliders for the outer indices of an array of more than two dimensions. */
  private planes(shape: readonly number[], fixed: readonly number[]): HTMLElement[] {
    return fixed.map((value, k) => {
      const slider = h("input", { type: "range", min: 0, max: shape[k]! - 1, value, "aria-label": `Index ${k}` });
      slider.addEventListener("change", () => {
        this.at[k] = slider.valueAsNumber;
        this.draw();
      });
      return h("label", { class: "symbol" }, `index ${k} = ${value}`, slider);
    });
  }

  private point(event: Event): void {
    this.mark((event.target as Element).closest<SVGElement>(".cell")?.dataset["key"] ?? "");
  }

  private mark(key: string): void {
    for (const cell of this.picture.querySelectorAll<SVGElement>(".cell")) {
      cell.classList.toggle("pointed", key !== "" && cell.dataset["key"] === key);
    }
  }

  /** Show the array that a chosen place makes, if there is one. */
  private follow(place: Span | undefined): void {
    if (!place || !this.visible) return;
    const found = this.answer?.arrays.find((array) => array.src[0] && contains(place, array.src[0]));
    if (found && found.name !== this.array.value) void this.load(found.name);
  }
}

/** The array that tells most: the last of the most dimensions. */
function preferred(arrays: readonly ArrayInfo[]): ArrayInfo | undefined {
  const most = Math.max(0, ...arrays.map((array) => array.dims.length));
  return arrays.filter((array) => array.dims.length === most).at(-1);
}

function space(name: string): string {
  return { device: "main memory", shared: "a thread block's shared memory", private: "a thread's own memory" }[name] ?? name;
}
