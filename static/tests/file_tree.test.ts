// The tree of a program's files.
import { expect, test } from "vitest";
import { MANY, treeOf, type Folder } from "../src/file_tree";

const shown = ({ folders, files }: Folder): unknown => [
  ...[...folders].map(([name, inside]) => [name, shown(inside)]),
  ...files.map(([name, path]) => `${name} ${path}`),
];

test("files stand in their folders, folders first, each in order", () => {
  const paths = ["main.fut", "lib/b.fut", "lib/github.com/x/y.fut", "a.fut", "lib/a.fut"];
  expect(shown(treeOf(paths))).toEqual([
    ["lib", [["github.com", [["x", ["y.fut lib/github.com/x/y.fut"]]]], "a.fut lib/a.fut", "b.fut lib/b.fut"]],
    "a.fut a.fut",
    "main.fut main.fut",
  ]);
  expect(shown(treeOf([]))).toEqual([]);
});

test("names that objects have are files and folders as others", () => {
  expect(shown(treeOf(["__proto__/constructor", "constructor"]))).toEqual([
    ["__proto__", ["constructor __proto__/constructor"]],
    "constructor constructor",
  ]);
  expect(MANY).toBe(7);
});
