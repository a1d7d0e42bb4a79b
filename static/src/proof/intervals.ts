// A step's sum as intervals on one axis: each unknown's share, and all of it, beside zero.
import { h, s } from "../dom";
import { asFactor, evaluate, numberOf } from "../polynomial";
import type { Polynomial, Step } from "../types";

type Values = Readonly<Record<string, number>>;

interface Share {
  name: string;
  low: number;
  high: number;
}

const NAMES = ["x", "y", "z", "u", "v", "w"];
const ROW = 16;
const LEFT = 44;
const WIDTH = 320;
const LABEL = 84;

export const nameOf = (k: number): string => NAMES[k] ?? `x${k}`;

/** `3·n·x`, for the unknown number `k`. */
export function termOf(stride: Polynomial, k: number): string {
  return numberOf(stride) === 1 ? nameOf(k) : `${asFactor(stride)}·${nameOf(k)}`;
}

/** Return the range of each unknown's contribution; null where something has no value. */
function shares(step: Step, values: Values): Share[] | null {
  const found = step.dims.map(([stride, low, high], k): Share | null => {
    const [by, from, to] = [stride, low, high].map((text) => evaluate(text, values));
    if (by === null || from === null || to === null) return null;
    return { name: nameOf(k), low: Math.min(by! * from!, by! * to!), high: Math.max(by! * from!, by! * to!) };
  });
  return found.every((share) => share !== null) ? found : null;
}

/** The smallest and the largest value of the sum. */
export function rangeOf(step: Step, values: Values): [number, number] | null {
  const offset = evaluate(step.offset, values);
  const parts = shares(step, values);
  if (offset === null || !parts) return null;
  return [
    offset + parts.reduce((sum, { low }) => sum + low, 0),
    offset + parts.reduce((sum, { high }) => sum + high, 0),
  ];
}

/** The drawing, for steps with unknowns and values for all names. */
export function intervals(step: Step, values: Values): HTMLElement | null {
  const offset = evaluate(step.offset, values);
  const parts = shares(step, values);
  const range = rangeOf(step, values);
  if (offset === null || !parts?.length || !range) return null;
  const rows: Share[] = [
    { name: "start", low: offset, high: offset },
    ...parts,
    { name: "sum", low: range[0], high: range[1] },
  ];
  const low = Math.min(0, ...rows.map((row) => row.low));
  const high = Math.max(0, ...rows.map((row) => row.high));
  const x = (value: number): number =>
    LEFT + 8 + ((value - low) / Math.max(1, high - low)) * (WIDTH - LEFT - 8 - LABEL);
  const bottom = rows.length * ROW + 2;
  const apart = range[0] > 0 || range[1] < 0;
  const given = parts.map((part) => `${part.name} gives ${part.low} to ${part.high}`);
  const says = `The sum lies from ${range[0]} to ${range[1]}${apart ? ": never zero" : ""}`;
  return h(
    "div",
    { class: "drawing intervals-drawing", tabindex: 0, role: "group", "aria-label": "The step's sum as intervals" },
    s(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${bottom + 16}`,
        width: WIDTH,
        height: bottom + 16,
        role: "img",
        class: "intervals-axis",
        "aria-label": `${says}, here. ${given.join(", ")}.`,
      },
      s("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: bottom }),
      s("text", { class: "axis", x: x(0), y: bottom + 12, "text-anchor": "middle" }, "0"),
      ...rows.flatMap((row, k) => bar(row, x, k * ROW, row.name === "sum" ? (apart ? "sum apart" : "sum") : "share")),
    ),
  );
}

function bar(row: Share, x: (value: number) => number, y: number, name: string): SVGElement[] {
  const [from, to] = [x(row.low), x(row.high)];
  const middle = y + ROW / 2 + 1;
  const label = row.low === row.high ? `${row.low}` : `${row.low} … ${row.high}`;
  return [
    s("text", { class: "axis", x: LEFT - 4, y: middle + 3, "text-anchor": "end" }, row.name),
    s("line", { class: `interval ${name}`, x1: from - 1.5, x2: to + 1.5, y1: middle, y2: middle }),
    s("text", { class: "axis", x: to + 6, y: middle + 3 }, label),
  ];
}
