// The numbers at the end of names: hidden where they tell apart nothing. Amounts as readers are told them.
import { expect, test } from "vitest";
import { bytes, milliseconds } from "../src/dom";
import { Numbers, unnumbered } from "../src/numbers";
import { changes, counted } from "../src/rail";
import { numbers } from "./random";

const NAME = /\b([A-Za-z][\w']*?)(?:_(\d+))?(?![\w'])/g;

test("names with one number are those of the definition", () => {
  const below = numbers(5);
  const one = (all: readonly string[]): string => all[below(all.length)]!;
  for (let k = 0; k < 300; k += 1) {
    const word = (): string => one(["x", "x'", "a_b", "_y", "m2", "3z", "x_1'"]) + one(["", "_1", "_2", "_1_2", "_12"]);
    const words = Array.from({ length: below(8) }, word);
    const lines = [words.join(one([" ", "+", ".", ", "])), "x_3"];
    const seen = new Map<string, Set<string>>();
    for (const [, name, number = ""] of lines.flatMap((line) => [...line.matchAll(NAME)]))
      seen.set(name!, (seen.get(name!) ?? new Set()).add(number));
    const alone = [...seen].filter(([, its]) => its.size === 1 && !its.has("")).map(([name]) => name);
    const found = new Numbers();
    for (const line of lines) found.read(line);
    expect([...found.alone].sort(), lines.join("\n")).toEqual(alone.sort());
  }
});

test("a number stays where two names would be one without it", () => {
  const shown = unnumbered(["let x_1 = y_2", "let x_3 = z"]);
  expect(shown("x_1 + x_3 + y_2 + z")).toBe("x_1 + x_3 + y + z");
});

test.each([
  [0, "0 ms"],
  [0.0004, "0.4 µs"],
  [0.012, "12 µs"],
  [0.1, "0.1 ms"],
  [3.21, "3.2 ms"],
  [99.96, "100 ms"],
  [84.4, "84 ms"],
  [100.4, "100 ms"],
  [999.4, "999 ms"],
  [1000, "1.00 s"],
  [61_234, "61.2 s"],
])("%d milliseconds are %s", (ms, said) => expect(milliseconds(ms)).toBe(said));

test.each([
  [0, "0 B"],
  [-400, "-400 B"],
  [512, "512 B"],
  [1000, "1.00 kB"],
  [38_100_000, "38.1 MB"],
  [2 ** 63, "9.22 EB"],
])("%d bytes are %s", (count, said) => expect(bytes(count)).toBe(said));

test("counts have words of one and many, and changes begin with the largest", () => {
  expect([counted(1, "copy"), counted(2, "copy"), counted(2, "branch"), counted(3, "if"), counted(2, "hist")]).toEqual([
    "1 copy",
    "2 copies",
    "2 branches",
    "3 branches",
    "2 histograms",
  ]);
  expect(changes({ map: 3, copy: 1 }, { map: 1, copy: 1, reduce: 1 })).toEqual(["−2 maps", "+1 reduce"]);
  expect(changes(undefined, { map: 1 })).toEqual([]);
});
