// What a run took: the middle of repeated runs and how far they are apart, and compilation by itself.
import { h, milliseconds, s } from "../dom";
import type { RunAnswer } from "../kept";

/** As `milliseconds`, also where it is short: 4.2 µs. */
export const exactly = (ms: number): string =>
  ms < 0.1 ? `${Number((ms * 1000).toPrecision(2))} µs` : milliseconds(ms);

/** Below it a part of the sorted numbers lies. */
export function quantile(sorted: readonly number[], part: number): number {
  const at = part * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low]! + (at - low) * ((sorted[low + 1] ?? sorted[low]!) - sorted[low]!);
}

export interface Spread {
  least: number;
  low: number;
  median: number;
  high: number;
  most: number;
}

export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((a, b) => a - b);
  return {
    least: sorted[0]!,
    low: quantile(sorted, 0.25),
    median: quantile(sorted, 0.5),
    high: quantile(sorted, 0.75),
    most: sorted.at(-1)!,
  };
}

export function timesOf({ ms, times, compile_ms }: RunAnswer): [string, string | HTMLElement][] {
  const many = times && times.length > 3;
  const facts: [string, string | HTMLElement][] = [];
  if (many) {
    const { least, low, median, high, most } = spreadOf(times);
    facts.push(
      [`Median of ${times.length} runs`, h("span", {}, exactly(median), dots(times))],
      ["Middle half", `${exactly(low)} to ${exactly(high)}`],
      ["All", `${exactly(least)} to ${exactly(most)}`],
    );
  } else {
    facts.push(["Time", milliseconds(ms)]);
  }
  if (compile_ms !== undefined) facts.push(["Compiling", milliseconds(compile_ms)]);
  return facts;
}

const [WIDTH, HEIGHT] = [90, 14];

/** Each run as a stroke between the quickest and the slowest. */
function dots(times: readonly number[]): SVGElement {
  const { least, most, median } = spreadOf(times);
  const x = (time: number) => (3 + (most > least ? (time - least) / (most - least) : 0.5) * (WIDTH - 6)).toFixed(1);
  return s(
    "svg",
    {
      width: WIDTH,
      height: HEIGHT,
      class: "strokes",
      role: "img",
      "aria-label": `Each run: ${times.map(exactly).join(", ")}`,
    },
    ...times.map((time) => s("line", { x1: x(time), x2: x(time), y1: 4, y2: HEIGHT - 1, stroke: "currentColor" })),
    s("line", { x1: x(median), x2: x(median), y1: 0, y2: HEIGHT, stroke: "var(--accent)", "stroke-width": 2.5 }),
  );
}
