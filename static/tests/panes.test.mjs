// A new pane is one file: in the page and among the tabs of the first view.
import { build } from "esbuild";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { panes, registry } from "../panes.mjs";

const STATIC = join(dirname(fileURLToPath(import.meta.url)), "..");
const NEW = `// How many tests the program has.
import { replace } from "../dom";
import { AnsweredPane } from "./asking";
import type { PaneKind } from "./pane";

const counted = {
  what: "Tests are counted",
  ask: "tests",
  draw: ({ cases }, place) => replace(place, \`There are \${cases.length} tests.\`),
} as const;

export const pane: PaneKind = {
  id: "counted",
  title: "Count of tests",
  order: 45,
  group: "Run",
  about: "how many tests there are",
  make: ({ model }) => new AnsweredPane(model, counted),
};
`;

function copied(files) {
  const folder = mkdtempSync(join(tmpdir(), "panes-"));
  cpSync(join(STATIC, "src"), join(folder, "src"), { recursive: true });
  symlinkSync(join(STATIC, "..", "node_modules"), join(folder, "node_modules"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "src/panes", name), text);
  return folder;
}

test("a pane is added by one file", async () => {
  const folder = copied({ "counted.ts": NEW });
  const made = await build({
    entryPoints: ["main", "first"].map((name) => join(folder, `src/${name}.ts`)),
    outdir: join(folder, "dist"),
    bundle: true,
    write: false,
    splitting: true,
    format: "esm",
    loader: { ".css": "empty" },
    plugins: [registry(join(folder, "src/panes"))],
  });
  rmSync(folder, { recursive: true });
  const late = made.outputFiles.filter(({ path }) => /\blate-\w+\.js$/.test(path));
  const early = made.outputFiles.filter((one) => !late.includes(one)).map(({ text }) => text);
  expect(late.map(({ text }) => text).join()).toContain("Tests are counted");
  expect(early.join()).toContain("Count of tests");
  expect(early.join()).not.toContain("Tests are counted");
});

test.each([
  ["its id, title, order, group and about", NEW.replace('id: "counted",', "")],
  ["another pane has the id memory", NEW.replace('"counted"', '"memory"')],
  ["another pane has the order 50", NEW.replace("45", "50")],
])("the page is not built where %s", (said, text) => {
  const folder = mkdtempSync(join(tmpdir(), "panes-"));
  cpSync(join(STATIC, "src/panes"), folder, { recursive: true });
  writeFileSync(join(folder, "counted.ts"), text);
  expect(() => panes(folder)).toThrow(said);
  rmSync(folder, { recursive: true });
});
