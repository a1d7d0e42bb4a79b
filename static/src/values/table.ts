// Any array as a table whose rows are made as they are scrolled to.
import { h, replace } from "../dom";
import type { Source } from "./source";
import { elements, type Cut, type Values } from "./values";

const ROW = 22; // pixels, as in the style sheet
const PAGE = 128; // rows of one request
const COLUMNS = 40; // at once
const TALLEST = 8_000_000; // pixels that browsers scroll exactly

export class Table {
  readonly element: HTMLElement;
  private readonly scroller = h("div", {
    class: "table-scroll",
    tabindex: 0,
    role: "group",
    "aria-label": "Rows; scroll for more",
  });
  private readonly space = h("div", { class: "table-space" });
  private readonly body = h("tbody");
  private readonly table = h("table", { class: "numbers" });
  private readonly message = h("p", { class: "quiet" });
  private readonly pages = new Map<number, Promise<Values>>();
  private readonly rows: number;
  /** Dimensions before the last two have one index each. */
  private readonly outer: number[];
  private from = 0;
  private drawn = "";

  /** `row`: the first one, from where a table of such a result was left; `left` is told where it is left. */
  constructor(
    private readonly source: Source,
    row: number,
    private readonly left: (row: number) => void,
  ) {
    const { shape } = source;
    this.outer = shape.slice(0, -2).map(() => 0);
    this.rows = shape.length > 1 ? shape.at(-2)! : (shape[0] ?? 1);
    const fields = this.outer.map((_, k) =>
      this.field(`[${"ijklm"[k] ?? k}]`, shape[k]! - 1, (value) => (this.outer[k] = value)),
    );
    if (this.columns > COLUMNS)
      fields.push(
        this.field("from column", this.columns - 1, (value) => (this.from = Math.min(value, this.columns - COLUMNS))),
      );
    this.scroller.append(this.space, this.table);
    this.element = h(
      "div",
      { class: "table-view" },
      fields.length ? h("p", { class: "row" }, ...fields) : "",
      this.scroller,
      this.message,
    );
    if (!elements(shape)) replace(this.element, h("p", { class: "quiet" }, "It has no elements."));
    this.space.style.height = `${Math.min(TALLEST, (this.rows + 1) * ROW)}px`;
    this.scroller.style.height = `${Math.min(11, this.rows + 1) * ROW + 16}px`;
    this.scroller.addEventListener("scroll", () => void this.draw());
    requestAnimationFrame(() => {
      this.scroller.scrollTop = this.perPixel ? Math.min(row, this.rows) / this.perPixel : 0;
      void this.draw();
    });
  }

  private get columns(): number {
    return this.source.shape.length > 1 ? this.source.shape.at(-1)! : 1;
  }

  /** Rows that are seen whole, below the head. */
  private get whole(): number {
    return Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
  }

  /** Rows of a pixel of the bar. */
  private get perPixel(): number {
    return Math.max(0, this.rows - this.whole) / Math.max(1, this.scroller.scrollHeight - this.scroller.clientHeight);
  }

  private field(name: string, most: number, change: (value: number) => void): HTMLElement {
    const input = h("input", { type: "number", min: 0, max: most, value: 0, "aria-label": name });
    input.addEventListener("input", () => {
      if (!Number.isSafeInteger(input.valueAsNumber) || input.valueAsNumber < 0 || input.valueAsNumber > most) return;
      change(input.valueAsNumber);
      this.pages.clear();
      void this.draw();
    });
    return h("label", { class: "run-size" }, name, input, h("span", { class: "quiet" }, `to ${most}`));
  }

  private page(number: number): Promise<Values> {
    const known = this.pages.get(number);
    if (known) return known;
    const rows: Cut = [number * PAGE, (number + 1) * PAGE, 1];
    const cuts: Cut[] = [
      ...this.outer.map((at): Cut => [at, at + 1, 1]),
      ...(this.source.shape.length ? [rows] : []),
      ...(this.source.shape.length > 1 ? [[this.from, this.from + COLUMNS, 1] as Cut] : []),
    ];
    const made = this.source.part(cuts);
    this.pages.set(number, made);
    return made;
  }

  private async draw(): Promise<void> {
    const first = Math.max(0, Math.min(this.rows - 1, Math.round(this.scroller.scrollTop * this.perPixel)));
    this.left(first);
    const last = Math.min(this.rows, first + this.whole);
    const wanted = [first, last, this.from, ...this.outer].join();
    if (wanted === this.drawn) return;
    this.drawn = wanted;
    const numbers = [...new Set([first, last - 1].map((row) => Math.floor(row / PAGE)))];
    let found: Values[];
    try {
      found = await Promise.all(numbers.map((number) => this.page(number)));
    } catch (error) {
      this.message.textContent = (error as Error).message;
      return;
    }
    if (wanted !== this.drawn) return;
    const width = Math.min(COLUMNS, this.columns);
    const row = (at: number) => {
      const values = found[numbers.indexOf(Math.floor(at / PAGE))]!;
      return h(
        "tr",
        { "aria-rowindex": at + 2 },
        h("th", { scope: "row" }, at),
        ...Array.from({ length: width }, (_, k) => h("td", {}, values.text((at % PAGE) * width + k))),
      );
    };
    const heads =
      this.source.shape.length > 1
        ? Array.from({ length: width }, (_, k) => String(this.from + k))
        : [this.source.prim];
    replace(
      this.table,
      h(
        "thead",
        {},
        h("tr", { "aria-rowindex": 1 }, h("td", {}), ...heads.map((name) => h("th", { scope: "col" }, name))),
      ),
      this.body,
    );
    this.table.setAttribute("aria-rowcount", String(this.rows + 1));
    replace(this.body, ...Array.from({ length: last - first }, (_, k) => row(first + k)));
    const lowest = this.scroller.scrollHeight - this.table.offsetHeight;
    this.table.style.top = `${Math.max(0, Math.min(this.scroller.scrollTop, lowest))}px`;
  }
}
