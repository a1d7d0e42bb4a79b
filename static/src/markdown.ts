// What the server made of Markdown: there is no HTML in it but that of Markdown itself.
import { h } from "./dom";

export function markdown(html: string, name = "notebook-text"): HTMLElement {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const link of parsed.querySelectorAll("a"))
    Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  return h("div", { class: name }, ...[...parsed.body.childNodes].map((node) => document.importNode(node, true)));
}
