// The values that a run gave: each with its type, one below the other.
import { h } from "../dom";
import type { RunAnswer } from "../kept";

export function resultOf({ output, results = [], cut }: RunAnswer): HTMLElement {
  const lines = output.split("\n");
  const typed = results.length > 0 && lines.length === results.length;
  const region = { role: "region", "aria-label": "Result", tabindex: 0 };
  if (!output) return h("p", { class: "quiet", ...region }, "It has no results.");
  return h("div", { class: "values", ...region },
    ...(typed ? lines : [output]).map((line, k) => h("div", {},
      typed ? h("p", { class: "quiet" }, results.length > 1 ? `${k + 1}: ` : "", h("code", {}, results[k])) : null,
      h("pre", { class: "value" }, line))),
    cut ? h("p", { class: "quiet" }, `${cut} more characters are not in this link.`) : null);
}
