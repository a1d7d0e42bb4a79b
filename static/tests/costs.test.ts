// Costs of places: which are about a selection, and what stands beside each line.
import { expect, test } from "vitest";
import { costsAt, distinct, lineCosts, saidOf } from "../src/costs";
import type { SourceCost, Span } from "../src/types";

const cost = (says: string, src: Span, bytes = 0, kind: SourceCost["kind"] = "copied"): SourceCost => ({
  kind,
  src: [src],
  says,
  short: says,
  because: "",
  bytes,
  pane: "proof",
  attempt: null,
  rule: "",
  fix: null,
});

const ALL = [
  cost("whole", [1, 1, 3, 9], 800),
  cost("part", [2, 3, 2, 7], 400),
  cost("checked", [2, 5, 2, 6], 0, "checked"),
  cost("saved", [5, 1, 5, 9], 100, "built"),
  cost("elsewhere", [2, 1, 2, 2, "lib.fut"], 90),
];
const said = (found: readonly SourceCost[]): string[] => found.map(({ says }) => says);

test("what lies in a selection comes first, then what is around it", () => {
  expect(said(costsAt(ALL, [2, 3, 2, 7]))).toEqual(["part", "checked", "whole"]);
  expect(said(costsAt(ALL, [1, 1, 9, 1]))).toEqual(["whole", "part", "checked", "saved"]);
  expect(said(costsAt(ALL, [9, 1, 9, 2]))).toEqual([]);
});

test("each line of a file has its worst, and a share of the worst line's bytes", () => {
  const lines = lineCosts(ALL, "");
  expect(lines.map(({ line, level }) => [line, level])).toEqual([
    [1, 4],
    [2, 2],
    [5, 0],
  ]);
  expect(said(lines.map((one) => one.cost))).toEqual(["whole", "part", "saved"]);
  expect(lineCosts(ALL, "lib.fut").map(({ line }) => line)).toEqual([2]);
  expect(lineCosts([], "")).toEqual([]);
});

test("what says the same of a line is told once", () => {
  const same = [cost("copied", [2, 1, 2, 3]), cost("copied", [2, 5, 2, 7]), cost("copied", [3, 1, 3, 2])];
  expect(distinct(same)).toEqual([same[0], same[2]]);
});

test("of what is put together the parts that are made elsewhere are left out", () => {
  const part = (made: Span, says = "400 B"): SourceCost => ({ ...cost(says, [4, 3, 4, 60]), made: [made] });
  const all = [part([4, 3, 4, 15]), part([4, 19, 4, 31]), part([1, 1, 1, 9], "made before")];
  expect(said(costsAt(all, [4, 19, 4, 31]))).toEqual(["400 B", "made before"]);
  expect(costsAt(all, [4, 19, 4, 31])[0]).toBe(all[1]);
  expect(costsAt(all, [4, 20, 4, 22])[0]).toBe(all[1]);
  expect(distinct(costsAt(all, [4, 3, 4, 60])).map(saidOf)).toEqual(["400 B, 2 times", "made before"]);
  expect(saidOf({ ...all[0]!, kind: "unknown", times: 3 })).toBe("400 B");
});
