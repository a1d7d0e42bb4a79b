// What a first visit loads before anything is clicked.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const STATIC = join(dirname(fileURLToPath(import.meta.url)), "..");
/** Bytes as they are sent; beside them come the page itself and the heads of answers, some 20,000. */
const MOST = 308_000;
const EARLY = /^(?:(?:first|main|boot)\.js|page\.css|chunks\/chunk-\w+\.js)\.br$|^fonts\/.*\.woff2$/;
const IMPORTED = /(?:\bfrom|\bimport)\s*"\.\/(?:chunks\/)?([^"]+)"/g;
const WORKER = /new URL\("([^"]+)",\s*import\.meta\.url\)/g;

test("a first visit loads little, and nothing of what comes later", () => {
  const folder = mkdtempSync(join(tmpdir(), "dist-"));
  execFileSync(process.execPath, [join(STATIC, "build.mjs"), join(folder, "dist")]);
  const made = readdirSync(join(folder, "dist"), { recursive: true });
  const early = made.filter((name) => EARLY.test(name));
  const sizes = early.map((name) => statSync(join(folder, "dist", name)).size);
  const text = (name) => readFileSync(join(folder, "dist", name), "utf8");
  const wanted = early
    .filter((name) => name.endsWith(".js.br"))
    .flatMap((name) => [...text(name.slice(0, -3)).matchAll(IMPORTED)].map(([, file]) => file));
  const workers = made
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => [...text(name).matchAll(WORKER)].map(([, file]) => join(dirname(name), file)));
  rmSync(folder, { recursive: true });
  expect(workers).toEqual(["layout.js"]);
  expect(early.length).toBeGreaterThan(8);
  expect(wanted.filter((file) => !/^chunk-/.test(file))).toEqual([]);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST);
});
