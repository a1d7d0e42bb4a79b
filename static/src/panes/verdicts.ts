// Whether all stages agree on an input: one verdict for each stage that can be run.
import { h } from "../dom";
import type { Model } from "../model";

interface Verdict {
  agrees: boolean;
  why: string;
}

function read(value: unknown): Verdict {
  if (typeof value === "boolean") return { agrees: value, why: "" };
  if (typeof value === "string") return { agrees: /^(agree|valid|ok|same|yes)/i.test(value), why: value };
  const record = (value ?? {}) as Record<string, unknown>;
  const agrees = ["agrees", "ok", "valid", "same"].some((name) => record[name] === true);
  const why = ["because", "message", "why", "detail"].map((name) => record[name]).find((text) => typeof text === "string");
  return { agrees, why: (why as string | undefined) ?? "" };
}

export function verdicts(answer: Record<string, unknown>, model: Model): HTMLElement {
  const stages = Object.entries((answer["stages"] ?? {}) as Record<string, unknown>);
  const rows = stages.map(([id, value]) => ({ title: model.info(id)?.title ?? id, ...read(value) }));
  const wrong = rows.filter((row) => !row.agrees).length;
  return h("div", {},
    h("p", { class: wrong ? "verdict bad" : "verdict good" },
      wrong ? `✗ ${wrong} of ${rows.length} stages disagree with the meaning of the program.`
        : `✓ All ${rows.length} stages agree with the meaning of the program on this input.`),
    h("ul", { class: "verdicts" }, ...rows.map((row) =>
      h("li", { class: row.agrees ? "good" : "bad" },
        h("span", { "aria-hidden": "true" }, row.agrees ? "✓ " : "✗ "), row.title,
        h("span", { class: "visually-hidden" }, row.agrees ? " agrees" : " disagrees"),
        row.why && !row.agrees ? h("span", { class: "quiet" }, ` ${row.why}`) : null))));
}
