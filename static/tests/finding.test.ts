// The search of the palette: names first, then what things are about.
import { expect, test } from "vitest";
import { found } from "../src/finding";

const ALL = [
  { group: "action", name: "Share", about: "link embed offline file cite BibTeX" },
  { group: "details", name: "Warps", about: "what accesses cost: coalescing, sectors, banks" },
  { group: "details", name: "Versions", about: "thresholds between versions of the code" },
  { group: "stage", name: "Fused", about: "Producers joined with their consumers." },
  { group: "example", name: "A file of costs" },
];
const names = (text: string): string[] => found(ALL, text).map(({ name }) => name);

test("by meaning, too", () => {
  expect(names("threshold")).toEqual(["Versions"]);
  expect(names("EMBED")).toEqual(["Share"]);
  expect(names("details cost")).toEqual(["Warps"]);
});

test("names come before what things are about, and beginnings before the rest", () => {
  expect(names("cost")).toEqual(["A file of costs", "Warps"]);
  expect(names("file")).toEqual(["A file of costs", "Share"]);
  expect(names("f")[0]).toBe("Fused");
});

test("without words all are found, in their order, and of wrong ones none", () => {
  expect(names(" ")).toEqual(ALL.map(({ name }) => name));
  expect(names("cost nothing")).toEqual([]);
});
