// Two LMADs of one's own: assumptions and two formulas, typed; the verdict follows a moment later.
import * as client from "../client";
import { debounce, h, replace } from "../dom";
import { messageElement } from "../messages";
import { load, save } from "../storage";
import { PairView } from "./pair";
import { SAMPLES, type Pair } from "./samples";
import { readAssumptions } from "./words";

export class FreePair {
  readonly element: HTMLElement;
  private readonly assumptions = h("textarea", {
    id: "pair-assumptions",
    rows: 4,
    spellcheck: "false",
    autocapitalize: "off",
  });
  private readonly a = h("input", { id: "pair-a", spellcheck: "false", autocapitalize: "off" });
  private readonly b = h("input", { id: "pair-b", spellcheck: "false", autocapitalize: "off" });
  private readonly problem = h("div", { role: "alert" });
  private readonly view = new PairView();
  private wanted = 0;
  private started = false;

  constructor() {
    const samples = h(
      "select",
      { id: "pair-sample" },
      h("option", { value: "" }, "your own"),
      ...SAMPLES.map((sample, k) => h("option", { value: k }, sample.name)),
    );
    samples.addEventListener("change", () => {
      const sample = SAMPLES[Number(samples.value)];
      if (samples.value && sample) this.fill(sample);
      void this.ask();
    });
    const soon = debounce(350, () => void this.ask());
    for (const field of [this.assumptions, this.a, this.b]) {
      field.addEventListener("input", () => {
        samples.value = "";
        soon();
      });
    }
    const field = (name: string, note: string, input: HTMLElement) =>
      h(
        "p",
        { class: "pair-field" },
        h("label", { for: input.id }, name, h("span", { class: "quiet" }, ` ${note}`)),
        input,
      );
    this.element = h(
      "div",
      { class: "free-pair", hidden: true },
      h(
        "p",
        { class: "quiet" },
        "An LMAD is a set of cells: an offset, and for each dimension " +
          "a number of steps of a stride. Do two of them ever share a cell?",
      ),
      field("Begin with", "", samples),
      field("Assumptions", "one per line, such as 0 <= i < n", this.assumptions),
      field("First", "offset + {(size : stride), ..}", this.a),
      field("Second", "", this.b),
      this.problem,
      this.view.element,
    );
    const kept = load<Pair>("pair");
    this.fill(kept ?? SAMPLES[0]!);
    samples.value = kept
      ? String(
          SAMPLES.findIndex(
            (sample) => sample.a === kept.a && sample.b === kept.b && sample.assumptions === kept.assumptions,
          ),
        )
      : "0";
    if (samples.selectedIndex < 0) samples.value = "";
  }

  start(): void {
    if (this.started) return;
    this.started = true;
    void this.ask();
  }

  private fill(pair: Pair): void {
    this.assumptions.value = pair.assumptions;
    this.a.value = pair.a;
    this.b.value = pair.b;
  }

  private async ask(): Promise<void> {
    const mine = ++this.wanted;
    const [a, b] = [this.a.value.trim(), this.b.value.trim()];
    save("pair", { name: "", assumptions: this.assumptions.value, a, b } satisfies Pair);
    const assumptions = readAssumptions(this.assumptions.value);
    const answer = await client.post("prove", { assumptions, a, b });
    if (mine !== this.wanted) return;
    replace(this.problem);
    if (!answer.ok) {
      this.view.clear();
      return replace(this.problem, messageElement(answer.error));
    }
    await this.view.show({
      names: ["the first", "the second"],
      lmads: [answer.a, answer.b],
      assumptions,
      proved: answer,
      about: JSON.stringify([a, b]),
    });
  }
}
