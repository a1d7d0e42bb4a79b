// The differences of texts: they say both, are the fewest, and large ones end in time.
import { expect, test } from "vitest";
import { diff, type Piece } from "../src/diff";
import { numbers } from "./random";

/** How many lines differ. Fails unless the pieces are both texts, each in its order. */
function edits(before: readonly string[], after: readonly string[], pieces: readonly Piece[]): number {
  expect(pieces.filter(({ kind }) => kind !== "added").map((piece) => piece.old)).toEqual([...before.keys()]);
  expect(pieces.filter(({ kind }) => kind !== "removed").map((piece) => piece.new)).toEqual([...after.keys()]);
  for (const { kind, old, new: now } of pieces) {
    if (kind === "same") expect(before[old]).toBe(after[now]);
    else expect([old < 0, now < 0]).toEqual([kind === "added", kind === "removed"]);
  }
  return pieces.filter(({ kind }) => kind !== "same").length;
}

/** The fewest edits, by the table of all prefixes. */
function fewest(before: readonly string[], after: readonly string[]): number {
  let row = Array.from({ length: after.length + 1 }, (_, k) => k);
  for (const [i, line] of before.entries()) {
    const next = [i + 1];
    for (const [j, other] of after.entries()) {
      const best = Math.min(row[j + 1]!, next[j]!) + 1;
      next.push(line === other ? Math.min(best, row[j]!) : best);
    }
    row = next;
  }
  return row.at(-1)!;
}

test("the differences of small texts are the fewest", () => {
  const below = numbers(1);
  for (let k = 0; k < 600; k += 1) {
    const letters = "abcdef".slice(0, 1 + below(6));
    const text = (): string[] => Array.from({ length: below(13) }, () => letters[below(letters.length)]!);
    const [before, after] = [text(), text()];
    expect(edits(before, after, diff(before, after))).toBe(fewest(before, after));
  }
});

test("names are the same whatever their numbers", () => {
  const pieces = diff(["let x_12 = y_3 + 1 ", "in x_12"], ["let x_40 = y_5 + 1", "in x_41"]);
  expect(pieces.map(({ kind }) => kind)).toEqual(["same", "same"]);
  const others = diff(["a 12", "x_1y"], ["a 40", "x_2y"]);
  expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(["removed", "added"]));
});

test("long texts with many differences are still compared", () => {
  const size = 5000;
  const long = Array.from({ length: size }, (_, k) => `line ${k}`);
  const every = (step: number): string[] => long.map((line, k) => (k % step ? line : `new ${k}`));
  const turned = [...long.slice(size / 2), ...long.slice(0, size / 2)];
  const other = long.map((_, k) => `other ${k}`);
  const amounts = [every(10), every(2), turned, other].map((text) => {
    const pieces = diff(long, text);
    return pieces.filter(({ kind }) => kind !== "same").length;
  });
  expect(amounts).toEqual([size / 5, size, size, 2 * size]);
});
