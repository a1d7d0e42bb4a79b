// The shape of the page's code: who imports whom, and that lines fit on a screen.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { panes } from "../panes.mjs";

const STATIC = normalize(join(dirname(fileURLToPath(import.meta.url)), ".."));
const SOURCES = join(STATIC, "src");
const LONGEST = 120;
const IMPORTS = /^(?:import|export)\s[^;]*?from\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;

const under = (folder, ending) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => ending.test(path));

const files = under(SOURCES, /(?<!\.d)\.ts$/);
const named = (path) => relative(SOURCES, path).replace(/\.ts$/, "");

/** Which files each one imports, also for types alone. */
function imports() {
  return new Map(
    files.map((path) => {
      const found = [...readFileSync(path, "utf8").matchAll(IMPORTS)].map(([, still, late]) => still ?? late);
      return [named(path), found.map((to) => named(normalize(join(dirname(path), `${to}.ts`))))];
    }),
  );
}

/** Files each of which imports the next, and the last the first; [] if there are none. */
function circle(graph) {
  const done = new Set();
  const search = (name, path) => {
    if (path.includes(name)) return path.slice(path.indexOf(name));
    if (done.has(name)) return [];
    done.add(name);
    for (const next of graph.get(name) ?? []) {
      const found = search(next, [...path, name]);
      if (found.length) return found;
    }
    return [];
  };
  for (const name of graph.keys()) {
    const found = search(name, []);
    if (found.length) return found;
  }
  return [];
}

test("a circle of imports is found", () => {
  const graph = [
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", []],
    ["d", ["e"]],
    ["e", ["b"]],
  ];
  expect(circle(new Map(graph))).toEqual(["b", "d", "e"]);
  expect(circle(new Map([...graph, ["e", ["c"]]]))).toEqual([]);
});

test("no file imports itself through others, not for types either", () => {
  const graph = imports();
  expect([...graph.values()].flat().filter((name) => !graph.has(name))).toEqual([]);
  expect(circle(graph)).toEqual([]);
});

test("lines fit on a screen", () => {
  const written = [...under(STATIC, /\.(ts|mjs|css)$/)].filter((path) => !relative(STATIC, path).startsWith("dist"));
  const long = written.flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .flatMap((line, k) => (line.length > LONGEST ? [`${relative(STATIC, path)}:${k + 1}`] : [])),
  );
  expect(written.length).toBeGreaterThan(100);
  expect(long).toEqual([]);
});

test("a file says what it is for", () => {
  expect(files.filter((path) => !readFileSync(path, "utf8").startsWith("// ")).map(named)).toEqual([]);
});

test("panes are found where they are written, and no other file knows them by name", () => {
  const found = panes();
  expect(found.map(({ id }) => id).slice(0, 3)).toEqual(["memory", "proof", "selection"]);
  const page = readFileSync(join(SOURCES, "page.ts"), "utf8");
  for (const { file } of found) expect(page).not.toContain(`./panes/${file.replace(/\.ts$/, "")}"`);
});
