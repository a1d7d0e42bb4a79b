// Arrays of two dimensions as pictures: numbers by a scale of colours, or pixels as they are.
import { h, replace, s } from "../dom";
import { elements, type Cut, type Values } from "./values";
import { isWhole, sampled, type Source } from "./source";

export type Paint = "heat" | "rgb" | "argb";
type Colour = readonly [number, number, number];

/** From dark to light, told apart by all eyes and in grey. */
const SCALE: readonly Colour[] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];
const ODD: Record<string, Colour> = { NaN: [150, 150, 150], "+inf": [255, 255, 255], "−inf": [0, 0, 0] };
const MOST = [256, 512]; // rows and columns that are drawn
const ROOM = [240, 480]; // pixels
const LARGEST = 24; // pixels of an element

/** Return the legend's name of a number that is not finite, else "". */
const odd = (value: number): string =>
  Number.isNaN(value) ? "NaN" : value === Infinity ? "+inf" : value === -Infinity ? "−inf" : "";

function scaled(part: number): Colour {
  const at = Math.min(1, Math.max(0, part)) * (SCALE.length - 1);
  const low = Math.min(Math.floor(at), SCALE.length - 2);
  return SCALE[low]!.map((from, k) =>
    Math.round(from + (SCALE[low + 1]![k]! - from) * (at - low)),
  ) as unknown as Colour;
}

/** Where a number is between two others, 0 to 1, also where their distance is no number; 0.5 if they are equal. */
export const part = (value: number, low: number, high: number): number =>
  high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;

/** The places of the least and the largest finite element, and how many are not finite. */
export function range(values: Values): { least: number; largest: number; odd: Map<string, number> } {
  const found = { least: -1, largest: -1, odd: new Map<string, number>() };
  for (let k = 0; k < values.size; k += 1) {
    const name = odd(values.number(k));
    if (name) found.odd.set(name, (found.odd.get(name) ?? 0) + 1);
    else {
      if (found.least < 0 || values.compare(k, found.least) < 0) found.least = k;
      if (found.largest < 0 || values.compare(k, found.largest) > 0) found.largest = k;
    }
  }
  return found;
}

export class Grid {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { class: "cells-canvas", tabindex: 0, role: "img" });
  private readonly readout = h("output", { class: "readout" });
  private readonly caption = h("p", { class: "quiet" });
  private readonly legend = h("div", { class: "legend-row" });
  private readonly rows: number;
  private readonly columns: number;
  /** The visible part: rows and columns, from and to. */
  private seen: [number, number, number, number];
  private cuts: Cut[] = [];
  private values: Values | null = null;
  private scale: { low: number; high: number } | null = null;
  private side = 1;
  private at: [number, number] = [0, 0];
  private turn = 0;

  constructor(
    private readonly source: Source,
    private readonly paint: Paint,
  ) {
    [this.rows = 0, this.columns = 0] = source.shape;
    this.seen = [0, this.rows, 0, this.columns];
    const zoom = (label: string, text: string, by: number) =>
      h("button", { "aria-label": label, title: label, onclick: () => this.zoom(by) }, text);
    this.element = h(
      "div",
      { class: "grid-view" },
      h(
        "div",
        { class: "row" },
        zoom("Larger", "+", 0.5),
        zoom("Smaller", "−", 2),
        h("button", { onclick: () => this.whole() }, "All"),
        this.readout,
      ),
      this.canvas,
      this.legend,
      this.caption,
    );
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("dblclick", () => this.zoom(0.5));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 0.8 : 1.25);
      },
      { passive: false },
    );
    void this.load();
  }

  private async load(): Promise<void> {
    const mine = (this.turn += 1);
    const [top, bottom, left, right] = this.seen;
    const steps = [Math.ceil((bottom - top) / MOST[0]!), Math.ceil((right - left) / MOST[1]!)].map((step) =>
      Math.max(1, step),
    );
    const cuts: Cut[] = [
      [top, bottom, steps[0]!],
      [left, right, steps[1]!],
      ...this.source.shape.slice(2).map((size): Cut => [0, size, 1]),
    ];
    try {
      if (this.paint === "heat" && !this.scale)
        this.measure(await this.source.part(isWhole(this.source.shape) ? undefined : sampled(this.source.shape, MOST)));
      const values = await this.source.part(cuts);
      if (mine !== this.turn) return;
      [this.values, this.cuts] = [values, cuts];
      this.draw();
    } catch (error) {
      replace(this.element, h("p", { class: "problem-text", role: "alert" }, (error as Error).message));
    }
  }

  private measure(all: Values): void {
    const { least, largest, odd: others } = range(all);
    this.scale = { low: least < 0 ? 0 : all.number(least), high: largest < 0 ? 0 : all.number(largest) };
    const bar = s(
      "svg",
      { width: 120, height: 12, class: "scale", "aria-hidden": "true" },
      ...Array.from({ length: 24 }, (_, k) =>
        s("rect", { x: k * 5, y: 0, width: 5, height: 12, fill: css(scaled((k + 0.5) / 24)) }),
      ),
    );
    const same = least >= 0 && all.compare(least, largest) === 0;
    replace(
      this.legend,
      ...(least < 0
        ? []
        : same
          ? [swatch(css(this.colourOf(this.scale.low))), h("code", {}, `all ${all.typed(least)}`)]
          : [h("code", {}, all.typed(least)), bar, h("code", {}, all.typed(largest))]),
      ...[...others].flatMap(([name, count]) => [swatch(css(ODD[name]!)), `${count} ${name}`]),
      isWhole(this.source.shape) ? null : " of the elements shown at first",
    );
  }

  private colourOf(value: number): Colour {
    const { low, high } = this.scale!;
    return ODD[odd(value)] ?? scaled(part(value, low, high));
  }

  private pixel(values: Values, k: number): Colour {
    if (this.paint === "heat") return this.colourOf(values.number(k));
    if (this.paint === "argb") {
      const packed = values.number(k) >>> 0;
      return [(packed >> 16) & 255, (packed >> 8) & 255, packed & 255];
    }
    const channels = this.source.shape[2]!;
    return [0, 1, 2].map((channel) =>
      values.number(k * channels + Math.min(channel, channels - 1)),
    ) as unknown as Colour;
  }

  private draw(): void {
    const values = this.values!;
    const [rows = 0, columns = 0] = values.shape;
    const [down, across] = [this.cuts[0]![2], this.cuts[1]![2]];
    const whole = this.seen[1] - this.seen[0] === this.rows && this.seen[3] - this.seen[2] === this.columns;
    const shown = whole
      ? ""
      : `Rows ${this.seen[0]} to ${this.seen[1] - 1}, columns ${this.seen[2]} to ${this.seen[3] - 1}. `;
    const each =
      down > 1 || across > 1 ? `Every ${ordinal(down)} row and every ${ordinal(across)} column is drawn.` : "";
    this.caption.textContent = rows * columns ? shown + each : "It has no elements.";
    this.canvas.hidden = !(rows * columns);
    if (this.canvas.hidden) return;
    this.canvas.setAttribute(
      "aria-label",
      `${this.paint === "heat" ? "Heat map" : "Image"} of ${this.rows} ` +
        `rows and ${this.columns} columns; arrows move, + and − zoom`,
    );
    this.side = Math.max(1, Math.min(LARGEST, Math.floor(Math.min(ROOM[0]! / rows, ROOM[1]! / columns))));
    const pixels = new ImageData(columns, rows);
    for (let k = 0; k < rows * columns; k += 1) pixels.data.set([...this.pixel(values, k), 255], 4 * k);
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d")!.putImageData(pixels, 0, 0);
    [this.canvas.width, this.canvas.height] = [columns * this.side, rows * this.side];
    const context = this.canvas.getContext("2d")!;
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, this.canvas.width, this.canvas.height);
    if (this.paint === "heat" && this.side >= 6) this.cross(context, values, columns);
    this.outline();
  }

  /** Mark numbers that are not finite with a cross. */
  private cross(context: CanvasRenderingContext2D, values: Values, columns: number): void {
    context.strokeStyle = "#c00";
    for (let k = 0; k < values.size; k += 1) {
      if (!odd(values.number(k))) continue;
      const [x, y] = [(k % columns) * this.side + 1, Math.floor(k / columns) * this.side + 1];
      const end = this.side - 2;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + end, y + end);
      context.moveTo(x + end, y);
      context.lineTo(x, y + end);
      context.stroke();
    }
  }

  /** Say what is at the place that is pointed at. */
  private outline(): void {
    const values = this.values!;
    const [rows = 0, columns = 0] = values.shape;
    const [row, column] = (this.at = [Math.min(this.at[0], rows - 1), Math.min(this.at[1], columns - 1)]);
    const channels = elements(values.shape.slice(2));
    const k = (row * columns + column) * channels;
    const index = `[${this.seen[0] + row * this.cuts[0]![2]}][${this.seen[2] + column * this.cuts[1]![2]}]`;
    const value =
      channels > 1
        ? `[${Array.from({ length: channels }, (_, c) => values.typed(k + c)).join(", ")}]`
        : values.typed(k);
    this.readout.textContent = `${index} = ${value}`;
  }

  private point(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    if (!this.values || !box.width) return;
    const [rows = 0, columns = 0] = this.values.shape;
    const place = (offset: number, length: number, count: number) =>
      Math.min(count - 1, Math.max(0, Math.floor((offset / length) * count)));
    this.at = [place(event.clientY - box.top, box.height, rows), place(event.clientX - box.left, box.width, columns)];
    this.outline();
  }

  private key(event: KeyboardEvent): void {
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[
      event.key
    ] ?? [0, 0];
    if (event.altKey || event.ctrlKey) return;
    if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 0.5 : 2);
    else if (event.key === "0") this.whole();
    else if (!down && !right) return;
    else if (this.values) this.move(down!, right!);
    event.preventDefault();
  }

  private move(down: number, right: number): void {
    const [rows = 0, columns = 0] = this.values!.shape;
    const [row, column] = [this.at[0] + down, this.at[1] + right];
    if (row < 0 || column < 0 || row >= rows || column >= columns)
      return this.pan(down * this.cuts[0]![2], right * this.cuts[1]![2]);
    this.at = [row, column];
    this.outline();
  }

  private pan(down: number, right: number): void {
    const [top, bottom, left, last] = this.seen;
    const by = [within(down, -top, this.rows - bottom), within(right, -left, this.columns - last)];
    if (!by[0] && !by[1]) return;
    this.seen = [top + by[0]!, bottom + by[0]!, left + by[1]!, last + by[1]!];
    void this.load();
  }

  /** See this part of what is seen now, around the place that is pointed at. */
  private zoom(by: number): void {
    if (!this.values) return;
    const [top, bottom, left, right] = this.seen;
    const around = (from: number, to: number, all: number, at: number, step: number): [number, number] => {
      const length = within(Math.round((to - from) * by), Math.min(4, all), all);
      const start = within(Math.round(from + at * step - length / 2), 0, all - length);
      return [start, start + length];
    };
    const rows = around(top, bottom, this.rows, this.at[0], this.cuts[0]![2]);
    const columns = around(left, right, this.columns, this.at[1], this.cuts[1]![2]);
    this.seen = [...rows, ...columns];
    void this.load();
  }

  private whole(): void {
    this.seen = [0, this.rows, 0, this.columns];
    void this.load();
  }
}

const within = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));
const css = ([red, green, blue]: Colour): string => `rgb(${red},${green},${blue})`;
const ordinal = (n: number): string => (n === 1 ? "" : n === 2 ? "second" : n === 3 ? "third" : `${n}th`);
const swatch = (fill: string): SVGElement =>
  s(
    "svg",
    { width: 12, height: 12, class: "swatch", "aria-hidden": "true" },
    s("rect", { width: 12, height: 12, fill, stroke: "currentColor" }),
  );
