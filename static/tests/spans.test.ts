// Places in the source: in addresses, in each other, in texts of any script.
import { expect, test } from "vitest";
import { contains, excerpt, hashOf, innermost, linesFor, placeIn, placeName, placeOf, units } from "../src/spans";
import type { Line, Span } from "../src/types";

test.each<Span>([
  [1, 1, 1, 2],
  [3, 7, 12, 1],
  [1, 1, 2, 1, "lib/a b#%:ü.fut"],
  [999_999, 999_999, 999_999, 999_999],
])("the address of %j leads there", (...span) => expect(placeIn(hashOf(span as unknown as Span))).toEqual(span));

test.each(["", "#", "#3", "#1.2-3", "#1.2-3.4x", "#1.2-3.4:%E0%A4%A", "#-1.2-3.4", "#1234567.1-2.2", "1.2-3.4"])(
  "%j is no place",
  (hash) => expect(placeIn(hash)).toBeNull(),
);

test("a place holds itself and what is inside, in its own file alone", () => {
  const outer: Span = [2, 3, 4, 1];
  expect(contains(outer, outer)).toBe(true);
  expect(contains(outer, [3, 1, 3, 99])).toBe(true);
  expect(contains(outer, [2, 2, 3, 1])).toBe(false);
  expect(contains(outer, [3, 1, 4, 2])).toBe(false);
  expect(contains(outer, [3, 1, 3, 9, "other.fut"])).toBe(false);
});

test("of several places the innermost holds a point", () => {
  const [all, some, other]: Span[] = [
    [1, 1, 9, 1],
    [2, 1, 2, 9],
    [2, 1, 2, 9, "a.fut"],
  ];
  expect(innermost([all!, some!, other!], "", 2, 4)).toBe(some);
  expect(innermost([all!, some!, other!], "", 5, 4)).toBe(all);
  expect(innermost([all!, some!, other!], "a.fut", 2, 4)).toBe(other);
  expect(innermost([all!], "", 9, 2)).toBeNull();
});

test("columns count characters, also those of two units", () => {
  const text = 'let s = "𝕏𝕐" in s';
  expect(units(text, 11)).toBe(13);
  expect(units("abc", 9)).toBe(3);
  const place = placeOf(`\n${text}`, "in s")!;
  expect(place).toEqual([2, 14, 2, 18]);
  expect(excerpt(`\n${text}`, place)).toBe("in s");
  expect(placeOf("a", "b")).toBeNull();
  expect(placeOf("a", "")).toBeNull();
});

test("an excerpt is one line of at most so many characters", () => {
  expect(excerpt("map f\n  xs\n", [1, 1, 2, 5])).toBe("map f xs");
  expect(excerpt("x".repeat(100), [1, 1, 1, 101], 10)).toBe(`${"x".repeat(9)}…`);
  expect(excerpt("x", [7, 1, 7, 2])).toBe("");
});

test("a place is named by its lines and its file", () => {
  expect(placeName([3, 1, 3, 2])).toBe("line 3");
  expect(placeName([3, 1, 5, 2])).toBe("lines 3 to 5");
  expect(placeName([3, 1, 3, 2, "a.fut"])).toBe("line 3 of \u2068a.fut\u2069");
});

test("lines from a place are strong, those around it weak where there are no others", () => {
  const line = (...src: Span[]): Line => ({ text: "x", src, node: 0 });
  const lines = [line([1, 1, 9, 1]), line([2, 1, 2, 5]), line([3, 1, 3, 2], [2, 1, 2, 3]), line()];
  expect(linesFor(lines, [2, 1, 2, 9])).toEqual({ strong: [1], weak: [2] });
  expect(linesFor(lines, [5, 1, 5, 2])).toEqual({ strong: [], weak: [0] });
});
