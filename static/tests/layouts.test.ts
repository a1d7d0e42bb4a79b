// Layouts: whatever is done with panes, each stands once, and none is narrower than it may be.
import { expect, test } from "vitest";
import {
  completed,
  fitted,
  groupOf,
  layoutIn,
  NARROW,
  panesOf,
  placed,
  PRESETS,
  roomy,
  SOURCE,
  stacked,
  stepped,
  without,
  type Layout,
  type Side,
} from "../src/layouts";
import { numbers } from "./random";

const STAGES = ["stage-1", "stage-2"];
const DETAILS = ["memory", "proof", "graph"];
const ALL = [SOURCE, ...STAGES, ...DETAILS];
const read = (): Layout => PRESETS[0]!.layout(STAGES, DETAILS, 1600);
const sorted = (layout: Layout): string[] => panesOf(layout).sort();

/** What a layout has to be. */
function sound(layout: Layout, ids: readonly string[] = ALL): void {
  expect(sorted(layout)).toEqual([...ids].sort());
  expect(layoutIn(JSON.parse(JSON.stringify(layout)))).not.toBeNull();
}

test("every preset has every pane once, at every width", () => {
  for (const { layout } of PRESETS)
    for (const width of [700, 960, 1366, 1920, 3840]) sound(layout(STAGES, DETAILS, width));
});

test("moves lose no pane", () => {
  const below = numbers(7);
  const sides: Side[] = ["left", "right", "above", "below", "tab"];
  let layout = read();
  for (let k = 0; k < 500; k += 1) {
    const [id, at] = [ALL[below(ALL.length)]!, ALL[below(ALL.length)]!];
    const side = sides[below(5)]!;
    layout = below(2) || side === "tab" ? placed(layout, id, side, at) : stepped(layout, id, side);
    sound(layout);
  }
});

test("a step leads out of a group, into the next one, and out on its other side", () => {
  const out = stepped(read(), "proof", "left");
  expect(groupOf(out, "proof")?.panes).toEqual(["proof"]);
  const into = stepped(out, "proof", "left");
  expect(groupOf(into, "proof")?.panes).toContain("stage-2");
  const through = stepped(into, "proof", "left");
  expect(groupOf(through, "proof")?.panes).toEqual(["proof"]);
});

test("a layout is completed by what is new, and loses what is gone", () => {
  sound(completed([], ALL));
  sound(completed(read(), [...ALL, "stage-3", "warps"]), [...ALL, "stage-3", "warps"]);
  const fewer = completed(read(), [SOURCE, "memory"]);
  sound(fewer, [SOURCE, "memory"]);
  expect(fewer.length).toBe(2);
  const abreast = completed(read(), [...ALL, "program-a"]);
  const at = abreast.findIndex((one) => panesOf([one]).includes(SOURCE));
  expect(panesOf([abreast[at + 1]!])).toEqual(["program-a"]);
  expect(abreast[at]!.size).toBeCloseTo(abreast[at + 1]!.size);
});

test("what is taken out leaves no empty group or column", () => {
  const left = without(read(), (id) => id.startsWith("stage-"));
  sound(left, [SOURCE, ...DETAILS]);
  expect(groupOf(left, "stage-1")).toBeNull();
});

test("columns that would be too narrow get room, or become tabs of their likes", () => {
  for (const width of [400, 700, 960, 1366, 1600]) {
    const shown = fitted(roomy(read(), width), width, 700);
    sound(shown);
    const whole = shown.reduce((sum, { size }) => sum + size, 0);
    for (const { size } of shown)
      expect(Math.round((size / whole) * width)).toBeGreaterThanOrEqual(Math.min(width, NARROW));
  }
});

test("on a phone texts are tabs of one group, stages stand alone, details are tabs", () => {
  const [only] = stacked(read());
  expect(only!.groups.map(({ panes }) => panes)).toEqual([[SOURCE], ["stage-1"], ["stage-2"], DETAILS]);
});

test.each([
  null,
  [],
  {},
  "layout",
  [{ size: 1, groups: [] }],
  [{ size: 0, groups: [{ panes: ["a"], open: "a", size: 1 }] }],
  [{ size: 1, groups: [{ panes: ["a"], open: "b", size: 1 }] }],
  [{ size: 1, groups: [{ panes: ["a", "a"], open: "a", size: 1 }] }],
  [{ size: Number.NaN, groups: [{ panes: ["a"], open: "a", size: 1 }] }],
])("%j is no layout", (kept) => expect(layoutIn(kept)).toBeNull());
