// Bundles the page into static/dist, or into the folder named: first.js, which draws the first view, main.js,
// chunks that both need, boot.js, page.css, the fonts they use, and layout.js, a worker that is loaded when the
// first graph is drawn.
// A server that runs meanwhile finds the old files or the new ones.
import { build } from "esbuild";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { registry } from "./panes.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const named = process.argv.slice(2).find((word) => !word.startsWith("--"));
const dist = named ? resolve(named) : join(here, "dist");
const fresh = `${dist}.${process.pid}`;

await build({
  entryPoints: {
    first: join(here, "src/first.ts"),
    main: join(here, "src/main.ts"),
    boot: join(here, "src/boot.ts"),
    layout: join(here, "src/layout_worker.ts"),
    page: join(here, "css/page.css"),
  },
  outdir: fresh,
  bundle: true,
  plugins: [registry()],
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  minify: true,
  sourcemap: process.argv.includes("--sourcemap"),
  format: "esm",
  target: ["es2022", "chrome123", "firefox121", "safari17.5"],
  loader: { ".woff2": "file", ".woff": "empty" },
  assetNames: "fonts/[name]-[hash]",
  legalComments: "linked",
  logLevel: "warning",
});
// A twentieth smaller than what the server makes of them as it goes.
for (const name of readdirSync(fresh, { recursive: true }))
  if (/\.(js|css)$/.test(name))
    writeFileSync(join(fresh, `${name}.br`), brotliCompressSync(readFileSync(join(fresh, name))));
rmSync(dist, { recursive: true, force: true });
renameSync(fresh, dist);
