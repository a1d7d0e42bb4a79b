// Sizes of the whole page: chosen once, told to all but who chose.
import { expect, test } from "vitest";
import { ChosenValues } from "../src/memory/symbols";
import { Sizes } from "../src/sizes";

test("what one pane chooses all have, by its author's name", () => {
  const sizes = new Sizes();
  const [lanes, cells] = [new ChosenValues(sizes), new ChosenValues(sizes)];
  lanes.suppose({ n: 64, m: 8 });
  expect(lanes.of(["n_12", "i_3"], { n_12: "n", i_3: "i" })).toEqual({ n_12: 64 });
  lanes.set(["n_12"], { n_12: "n" }, "n_12", 20);
  expect(lanes.of(["n_40"], { n_40: "n" })).toEqual({ n_40: 20 });
  expect(cells.of(["n_7", "m"], { n_7: "n" })).toEqual({ n_7: 20 });
  expect(sizes.of(["n", "m"])).toEqual({ n: 20 });
});

test("a choice is told once, and not where it is the same", () => {
  const sizes = new Sizes();
  const heard: object[] = [];
  sizes.on((by) => heard.push(by));
  const me = {};
  sizes.choose("n", 3, me);
  sizes.choose("n", 3, me);
  expect(heard).toEqual([me]);
});

test.each([
  [
    { n: 3, m: 0 },
    { n: 3, m: 0 },
  ],
  [{ n: -1, m: "4", k: 2.5, l: Number.NaN, o: null, p: 7 }, { p: 7 }],
  [undefined, {}],
  [null, {}],
  ["n", {}],
  [[1, 2], { 0: 1, 1: 2 }],
])("of what was kept, %j, the sizes are taken", (kept, now) => {
  const sizes = new Sizes();
  sizes.choose("old", 1, {});
  sizes.restore(kept);
  expect(sizes.now).toEqual(now);
});

test("a lesson's sizes hold until others are chosen, and the bar's names are told once", () => {
  const sizes = new Sizes();
  let heard = 0;
  sizes.onOffer(() => (heard += 1));
  sizes.suppose({ n: 64, m: 8 });
  sizes.choose("n", 3, {});
  expect(sizes.wanted).toEqual({ n: 3, m: 8 });
  sizes.offer(["n", "m"]);
  sizes.offer(["m", "n"]);
  expect([heard, sizes.isOffered("n"), sizes.isOffered("k")]).toEqual([1, true, false]);
});
