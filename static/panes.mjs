// Finds the page's panes: the files of src/panes that export a `pane`. The modules panes:all and panes:kinds are
// made of them, so that a new pane is one file.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "src/panes");
const EXPORTED = /^export const pane\b/m;
const DECLARED = new RegExp(
  [
    /^export const pane: PaneKind = \{\s*/,
    /id: "(\w+)",\s*title: "([^"]+)",\s*order: (\d+),\s*group: "(\w+)",\s*about:\s*"([^"]+)",/,
    /(?:\s*keeps: "(\w+)",)?(?:\s*answers: (\[[^\]]*\]),)?/,
  ]
    .map(({ source }) => source)
    .join(""),
  "m",
);

/** All panes, in the order of their tabs. */
export function panes(folder = FOLDER) {
  const found = readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }))
    .filter(({ text }) => EXPORTED.test(text))
    .map(({ file, text }) => {
      const [, id, title, order, group, about, keeps = "", answers = "[]"] = DECLARED.exec(text) ?? [];
      if (!id) throw new Error(`${file}: a pane begins with its id, title, order, group and about`);
      return { file, id, title, order: Number(order), group, about, keeps, answers: JSON.parse(answers) };
    })
    .sort((a, b) => a.order - b.order);
  for (const field of ["id", "order"]) {
    const twice = found.find((one, k) => found.findIndex((other) => other[field] === one[field]) < k);
    if (twice) throw new Error(`${twice.file}: another pane has the ${field} ${twice[field]}`);
  }
  return found;
}

/** A module's text, by its name. */
const MODULES = {
  "panes:all": (all) =>
    [
      ...all.map(({ file }, k) => `import { pane as p${k} } from "./${file}";`),
      `export const PANES = [${all.map((_, k) => `p${k}`).join(", ")}];`,
    ].join("\n"),
  "panes:kinds": (all) => `export const KINDS = ${JSON.stringify(all.map(({ file: _, order: __, ...kind }) => kind))};`,
};

/** The plugin of esbuild that resolves both modules. */
export const registry = (folder = FOLDER) => ({
  name: "panes",
  setup(build) {
    build.onResolve({ filter: /^panes:/ }, ({ path }) => ({ path, namespace: "panes" }));
    build.onLoad({ filter: /.*/, namespace: "panes" }, ({ path }) => ({
      contents: MODULES[path](panes(folder)),
      resolveDir: folder,
    }));
  },
});
