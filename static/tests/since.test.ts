// What is new since the stage before, as marks of lines and in words.
import { expect, test } from "vitest";
import { inWords, since } from "../src/since";
import type { Line } from "../src/types";

const lines = (...texts: string[]): Line[] => texts.map((text) => ({ text, src: [], node: 0 }));

test.each([
  [["a", "b", "c"], ["a", "d", "c"], [1], [1], "1 new line, 1 gone since Types."],
  [["a_1", "b"], ["a_7", "b"], [], [], "The same lines as Types."],
  [["a", "b"], ["b"], [], [0], "No new line, 1 gone since Types."],
  [["a"], ["a", "b", "c"], [1, 2], [], "2 new lines, none gone since Types."],
  [["a", "b", "c"], ["a"], [], [1], "No new line, 2 gone since Types."],
])("%j to %j", (before, now, added, gone, says) => {
  const found = since(lines(...before), lines(...now));
  expect([...found.added]).toEqual(added);
  expect([...found.gone]).toEqual(gone);
  expect(inWords(found, "Types")).toBe(says);
});
