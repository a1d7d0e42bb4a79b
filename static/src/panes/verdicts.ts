// Whether all stages agree on an input: one verdict for each stage that can be run.
import { h } from "../dom";
import type { Model } from "../model";
import type { ValidityAnswer, Verdict } from "../types";

type Finding = "agrees" | "disagrees" | "open";

const SIGN: Record<Finding, string> = { agrees: "✓", disagrees: "✗", open: "?" };
const TONE: Record<Finding, string> = { agrees: "good", disagrees: "bad", open: "open" };
const WORDS: Record<Finding, string> = { agrees: "agrees", disagrees: "disagrees", open: "not decided" };

/** `valid` is true, false, or null where the stage took too long to be run step by step. */
function read({ valid, because }: Verdict): { finding: Finding; why: string } {
  return { finding: valid === true ? "agrees" : valid === false ? "disagrees" : "open", why: because };
}

export function verdicts(answer: ValidityAnswer, model: Model): HTMLElement {
  const rows = Object.entries(answer.stages).map(([id, value]) => ({
    title: model.info(id)?.title ?? id,
    ...read(value),
  }));
  const count = (finding: Finding) => rows.filter((row) => row.finding === finding).length;
  const [agree, wrong, open] = [count("agrees"), count("disagrees"), count("open")];
  const undecided = open ? ` ${open} ${open === 1 ? "is" : "are"} not decided.` : "";
  const [tone, text] = wrong
    ? ["bad", `✗ ${wrong} of ${rows.length} stages disagree with the meaning of the program.${undecided}`]
    : open
      ? ["open", `? ${agree} of ${rows.length} stages agree with the meaning of the program on this input.${undecided}`]
      : ["good", `✓ All ${rows.length} stages agree with the meaning of the program on this input.`];
  return h(
    "div",
    {},
    h("p", { class: `verdict ${tone}` }, text),
    h(
      "ul",
      { class: "verdicts" },
      ...rows.map((row) =>
        h(
          "li",
          { class: TONE[row.finding] },
          h("span", { "aria-hidden": "true" }, `${SIGN[row.finding]} `),
          row.title,
          row.finding === "open"
            ? h("span", {}, " not decided")
            : h("span", { class: "visually-hidden" }, ` ${WORDS[row.finding]}`),
          row.why && row.finding !== "agrees" ? h("span", { class: "quiet" }, ` ${row.why}`) : null,
        ),
      ),
    ),
  );
}
