// Bundles the page into static/dist: main.js, boot.js, page.css and the fonts they use.
import { build } from "esbuild";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

rmSync(dist, { recursive: true, force: true });
await build({
  entryPoints: {
    main: join(here, "src/main.ts"),
    boot: join(here, "src/boot.ts"),
    page: join(here, "css/page.css"),
  },
  outdir: dist,
  bundle: true,
  minify: true,
  sourcemap: process.argv.includes("--sourcemap"),
  format: "esm",
  target: ["es2022", "chrome123", "firefox121", "safari17.5"],
  loader: { ".woff2": "file", ".woff": "empty" },
  assetNames: "fonts/[name]-[hash]",
  legalComments: "linked",
  logLevel: "warning",
});
