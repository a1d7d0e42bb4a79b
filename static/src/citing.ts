// What else a link is for: a frame in another page, a file that needs no server, a citation.
import { h } from "./dom";

export interface Shared {
  url: string;
  title: string;
  /** The stages that are seen, by their ids. */
  stages: readonly string[];
  version: string;
}

const attribute = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Return the HTML for another page that shows the source and the visible stages. */
export function frame({ url, title, stages }: Shared): string {
  const at = new URL(url);
  const parts = encodeURIComponent(["source", ...stages].join(",")).replaceAll("%2C", ",");
  const src = `${at.origin}${at.pathname.replace("/z/", "/embed/")}?stages=${parts}`;
  const size = 'width="100%" height="480" loading="lazy"';
  return `<iframe src="${attribute(src)}" title="${attribute(title)}" ${size}></iframe>`;
}

/** Characters that mean something to TeX, each as itself. */
const escaped = (text: string): string =>
  text.replace(/[\\{}$&#%_~^]/g, (one) =>
    one === "\\" ? "\\textbackslash{}" : one === "~" || one === "^" ? `\\${one}{}` : `\\${one}`,
  );

/** An entry for a list of references. */
export function bibtex({ url, title, version }: Shared, when: Date): string {
  const id = url.slice(url.lastIndexOf("/") + 1);
  return [
    `@misc{stridescope-${id},`,
    `  title = {{${escaped(title)}}},`,
    `  howpublished = {\\url{${url}}},`,
    `  year = {${when.getFullYear()}},`,
    `  note = {A program and its compilation, frozen by Stridescope ${escaped(version)}}`,
    "}",
  ].join("\n");
}

/** The ways to use a link, below it. */
export function waysToUse(shared: Shared): HTMLElement {
  const field = (label: string, text: string, rows: number): HTMLElement => {
    const area = h("textarea", { "aria-label": label, readonly: true, rows, spellcheck: false }, text);
    area.addEventListener("focus", () => area.select());
    const copied = h("span", { class: "quiet", role: "status" });
    const copy = (): void => {
      area.select();
      const done = (said: string) => (): void => void (copied.textContent = said);
      navigator.clipboard.writeText(text).then(done("Copied."), done("It is selected. Copy it."));
    };
    return h(
      "details",
      {},
      h("summary", {}, label),
      h("p", { class: "row" }, area, h("button", { onclick: copy }, "Copy"), copied),
    );
  };
  return h(
    "div",
    { class: "ways" },
    field("Embed in a page", frame(shared), 3),
    field("Cite (BibTeX)", bibtex(shared, new Date()), 6),
    h(
      "p",
      {},
      h("a", { href: `${shared.url}/offline.html`, download: "" }, "Offline file"),
      ": everything in one file, without a server",
    ),
  );
}
