// Built in place, and why that is safe: every attempt of the program, and a pair of LMADs to try.
import * as client from "../client";
import { debounce, h, quoted, replace } from "../dom";
import type { Link } from "../link";
import { tidy } from "../memory/formula";
import type { Model } from "../model";
import { messageElement } from "../problems";
import { PairView } from "../proof/pair";
import { SAMPLES, type Pair } from "../proof/samples";
import { readAssumptions } from "../proof/words";
import { contains, placeName } from "../spans";
import { load, save } from "../storage";
import type { Attempt, Obligation } from "../types";
import { Today } from "./today";

type Mode = "program" | "pair";

const POINTS: Record<string, string> = {
  update: "update", concat: "concatenation", copy: "copy", "kernel-result": "result of a kernel", "in-place-map": "map in place",
};
const pointOf = (attempt: Attempt): string => {
  const id = attempt.rule.replace(/^.*\//, "");
  return POINTS[id] ?? id;
};

export class ProofPane {
  readonly element: HTMLElement;
  private readonly head = h("div", { class: "segmented first", role: "group", "aria-label": "What is proved" });
  private readonly program = h("div", { class: "proof-program" });
  private readonly free: FreePair;
  private readonly pair = new PairView();
  private attempts: Attempt[] = [];
  private chosen = 0;
  private mode: Mode = "program";
  private visible = false;
  private seen = -1;
  private readonly today: Today;

  constructor(private readonly model: Model, private readonly link: Link) {
    this.today = new Today(model, "Attempts to build in place are made", () => void this.refresh());
    this.free = new FreePair();
    this.element = h("div", { class: "scroll proofs" }, this.head, this.program, this.free.element);
    this.modes();
    const soon = debounce(60, () => void this.refresh());
    model.on("stages", soon);
    model.on("status", soon);
    link.on((selection, chosen) => {
      const place = selection?.spans[0];
      if (!chosen || !place || selection.origin === "proof") return;
      const at = this.attempts.findIndex((attempt) => attempt.src[0] && contains(place, attempt.src[0]));
      if (at >= 0 && at !== this.chosen) this.choose(at);
    });
  }

  show(visible: boolean): void {
    this.visible = visible;
    void this.refresh();
  }

  private modes(): void {
    const choice = (mode: Mode, name: string) => h("button", {
      "aria-pressed": String(this.mode === mode),
      onclick: () => {
        this.mode = mode;
        this.modes();
        void this.refresh();
      },
    }, name);
    replace(this.head, choice("program", "This program"), choice("pair", "Two LMADs"));
    this.program.hidden = this.mode !== "program";
    this.free.element.hidden = this.mode !== "pair";
  }

  private async refresh(): Promise<void> {
    if (!this.visible) return;
    if (this.mode === "pair") return this.free.start();
    const { generation, status, stages } = this.model;
    if (status.phase !== "idle" || generation === this.seen || !stages.size) return;
    if (!this.today.permits(this.program)) return;
    this.seen = generation;
    const answer = await client.attempts(this.model.source, this.model.options);
    if (this.model.generation !== generation) return;
    if (!answer.ok) return replace(this.program, messageElement(answer.error));
    const before = this.attempts[this.chosen];
    this.attempts = answer.attempts.map((one) => ({ ...one, obligations: unique(one.obligations) }));
    const kept = this.attempts.findIndex((attempt) => before && attempt.source === before.source && attempt.rule === before.rule);
    this.choose(kept >= 0 ? kept : this.first());
  }

  /** What is best to look at first: a proof, else a failure. */
  private first(): number {
    const proved = this.attempts.findIndex((attempt) => attempt.done && attempt.obligations.length);
    return Math.max(0, proved >= 0 ? proved : this.attempts.findIndex((attempt) => attempt.obligations.length));
  }

  private choose(at: number): void {
    this.chosen = at;
    this.draw(0);
  }

  private draw(obligation: number): void {
    const attempt = this.attempts[this.chosen];
    const focused = this.program.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    if (!attempt) {
      this.pair.clear();
      replace(this.program, h("p", { class: "empty" },
        "Nothing in this program is put into a larger array after it was made: no update with an array, no concatenation, no copy. So there is nothing to build in place."),
      h("p", { class: "quiet" }, "Try the example that concatenates three maps, or two LMADs of your own."));
      return;
    }
    const done = this.attempts.filter((one) => one.done).length;
    replace(this.program,
      h("p", { class: "quiet proof-count" }, `${done} of ${this.attempts.length} built in place`,
        done < this.attempts.length ? `, ${this.attempts.length - done} not` : ""),
      h("ul", { class: "attempts", "aria-label": "Attempts" }, ...this.attempts.map((one, k) => this.item(one, k))),
      ...this.detail(attempt, obligation));
    if (focused) this.program.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
    const shown = attempt.obligations[obligation];
    if (shown) void this.pair.show(questionOf(shown));
    else this.pair.clear();
  }

  private item(attempt: Attempt, k: number): HTMLElement {
    const place = attempt.src[0];
    const where = { spans: attempt.src, origin: "proof", line: -1 };
    return h("li", {}, h("button", {
      class: `attempt ${attempt.done ? "good" : "bad"}`, "aria-pressed": String(k === this.chosen), "data-key": `attempt-${k}`,
      onclick: () => {
        if (place) this.link.choose(where);
        this.choose(k);
      },
      onmouseenter: () => place && this.link.hover(where),
      onmouseleave: () => this.link.hover(null),
    },
    h("span", { class: "attempt-sign", "aria-hidden": "true" }, attempt.done ? "✓" : "✗"),
    h("span", { class: "attempt-text" }, h("code", {}, this.called(attempt)), " into ", h("code", {}, base(attempt.destination)),
      h("span", { class: "quiet" }, ` ${pointOf(attempt)}${place ? `, ${placeName(place)}` : ""}`),
      h("span", { class: "visually-hidden" }, attempt.done ? ", built in place" : ", not in place"))));
  }

  /** What its author calls it, unless two attempts would be called the same. */
  private called({ source, destination, rule }: Attempt): string {
    const alike = this.attempts.filter((one) => base(one.source) === base(source) && base(one.destination) === base(destination) && one.rule === rule);
    return alike.length > 1 ? source : base(source);
  }

  private detail(attempt: Attempt, chosen: number): HTMLElement[] {
    const { obligations } = attempt;
    const row = (name: string, ...value: (Node | string)[]) => [h("dt", {}, name), h("dd", {}, ...value)];
    const place = (at: { block?: string; lmad?: string }) => [h("code", {}, tidy(at.lmad ?? "")), " of ", h("code", {}, at.block ?? "")];
    const saved = [attempt.copied && `${tidy(attempt.copied)} less to copy`, attempt.allocated && `${tidy(attempt.allocated)} less to allocate`].filter(Boolean).join(", ");
    return [
      h("h2", {}, attempt.done ? "Built in place" : "Not in place",
        h("span", { class: "quiet" }, attempt.done ? saved : attempt.copied ? `${tidy(attempt.copied)} copied` : "")),
      h("p", { class: "attempt-because" }, ...quoted(attempt.because)),
      ...(attempt.done || !attempt.title ? [] : [h("p", { class: "quiet" }, `Condition ${attempt.condition} does not hold: `, ...quoted(attempt.title))]),
      ...(attempt.hint ? [h("p", { class: "quiet" }, ...quoted(attempt.hint))] : []),
      h("h2", {}, "What had to be proved", obligations.length > 1 ? h("span", { class: "quiet" }, `${obligations.length} pairs of accesses`) : null),
      ...(obligations.length ? [this.obligations(obligations, chosen), this.pair.element] : [h("p", { class: "quiet" },
        attempt.done ? "Nothing: the destination is not used between the making of the array and the point where it goes there."
          : "It did not come to that: an earlier condition does not hold.")]),
      ...(attempt.place.lmad ? [h("h2", {}, "Where it lies")] : []),
      h("dl", { class: "attempt-facts" },
        ...(attempt.place.lmad ? row(`In ${base(attempt.destination)}`, ...place(attempt.place)) : []),
        ...(attempt.projected.lmad ? row("So it is made at", ...place(attempt.projected)) : []),
        ...attempt.moved.filter((one) => one.array !== attempt.creation).flatMap((one) => row(`Then ${base(one.array)} is at`, ...place(one))),
        ...(attempt.lifted.length ? row("Moved up for it", h("code", {}, attempt.lifted.join(", "))) : [])),
    ];
  }

  private obligations(obligations: readonly Obligation[], chosen: number): HTMLElement {
    const sign = { disjoint: "✓", overlap: "✗", unknown: "?" };
    const tone = { disjoint: "good", overlap: "bad", unknown: "open" };
    const alike = (one: Obligation) => obligations.filter((other) => other.why === one.why).length > 1;
    return h("ul", { class: "attempts obligations", "aria-label": "Obligations" }, ...obligations.map((one, k) => h("li", {}, h("button", {
      class: `attempt ${tone[one.verdict]}`, "aria-pressed": String(k === chosen), "data-key": `obligation-${k}`,
      onclick: () => this.draw(k),
    }, h("span", { class: "attempt-sign", "aria-hidden": "true" }, sign[one.verdict]),
    h("span", { class: "attempt-text" }, ...quoted(one.why), h("span", { class: "visually-hidden" }, `, ${one.verdict}`),
      alike(one) ? h("code", { class: "attempt-use", title: `uses ${one.use}` }, `uses ${tidy(one.use)}`) : null)))));
  }
}

const base = (name: string): string => name.replace(/_\d+$/, "");

/** Each pair once: statements that touch the same cells ask the same question. */
function unique(obligations: readonly Obligation[]): Obligation[] {
  return [...new Map(obligations.map((one) => [[one.write, one.use, one.why].join("|"), one])).values()];
}

function questionOf(one: Obligation) {
  return {
    names: ["what is written", "what is used"] as const, lmads: [one.write, one.use] as const,
    assumptions: { other: one.facts }, proved: one,
  };
}

/** Assumptions and two LMADs, typed; the verdict follows a moment later. */
class FreePair {
  readonly element: HTMLElement;
  private readonly assumptions = h("textarea", { id: "pair-assumptions", rows: 4, spellcheck: "false", autocapitalize: "off" });
  private readonly a = h("input", { id: "pair-a", spellcheck: "false", autocapitalize: "off" });
  private readonly b = h("input", { id: "pair-b", spellcheck: "false", autocapitalize: "off" });
  private readonly problem = h("div", { role: "alert" });
  private readonly view = new PairView();
  private wanted = 0;
  private started = false;

  constructor() {
    const samples = h("select", { id: "pair-sample" }, h("option", { value: "" }, "your own"),
      ...SAMPLES.map((sample, k) => h("option", { value: k }, sample.name)));
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
    const field = (name: string, note: string, input: HTMLElement) => h("p", { class: "pair-field" },
      h("label", { for: input.id }, name, h("span", { class: "quiet" }, ` ${note}`)), input);
    this.element = h("div", { class: "free-pair", hidden: true },
      h("p", { class: "quiet" }, "An LMAD is a set of cells: an offset, and for each dimension so many steps of a stride. Do two of them ever share a cell?"),
      field("Begin with", "", samples),
      field("Assumptions", "one per line, such as 0 <= i < n", this.assumptions),
      field("First", "offset + {(size : stride), ..}", this.a), field("Second", "", this.b), this.problem, this.view.element);
    const kept = load<Pair>("pair");
    this.fill(kept ?? SAMPLES[0]!);
    samples.value = kept ? String(SAMPLES.findIndex((sample) => sample.a === kept.a && sample.b === kept.b && sample.assumptions === kept.assumptions)) : "0";
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
    const answer = await client.prove(assumptions, a, b);
    if (mine !== this.wanted) return;
    replace(this.problem);
    if (!answer.ok) {
      this.view.clear();
      return replace(this.problem, messageElement(answer.error));
    }
    await this.view.show({ names: ["the first", "the second"], lmads: [a, b], assumptions, proved: answer });
  }
}
