// Built in place, and why that is safe: every attempt of the program, and a pair of LMADs to try.
import { arrange, h, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link, Selection } from "../link";
import type { Model, Text } from "../model";
import { unnumbered } from "../numbers";
import { prettyCells } from "../polynomial";
import { about, called, isGuard, KINDS, kindOf, sameAs, type Attempts, type Key } from "../proof/attempts";
import { FreePair } from "../proof/free";
import { AttemptList } from "../proof/list";
import { PairView, type Question } from "../proof/pair";
import { Savings } from "../proof/savings";
import { wayOut } from "../proof/way_out";
import { placeName } from "../spans";
import { namesIn as namesInText } from "../arithmetic";
import { dimsOf, kindOf as kindOfType } from "../input_types";
import type { Attempt, Entry, Obligation } from "../kept";
import type { MemoryPlace } from "../types";
import { AskingPane } from "./asking";
import type { Keep, PaneKind } from "./pane";

type Mode = "program" | "pair";

const VERDICTS = {
  disjoint: { sign: "✓", tone: "good", words: "proved" },
  overlap: { sign: "✗", tone: "bad", words: "they meet" },
  unknown: { sign: "?", tone: "open", words: "not decided" },
};

export class ProofPane extends AskingPane {
  readonly element: HTMLElement;
  private readonly head = h("div", { class: "segmented first", role: "group", "aria-label": "What is proved" });
  protected readonly place = h("div", { class: "proof-program" });
  private readonly detail = h("div", { class: "attempt-detail" });
  private readonly obligations = h("div", { class: "obligations", role: "group", "aria-label": "Pairs of accesses" });
  private readonly free = new FreePair();
  private readonly list: AttemptList;
  private readonly columns: HTMLElement;
  private readonly pair: PairView;
  private savings: Savings | null = null;
  private attempts: Attempt[] = [];
  /** The text that they are of. */
  private of: Text | null = null;
  private chosen: Attempt | null = null;
  private wanted: ((attempt: Attempt) => boolean) | null = null;
  private mode: Mode = "program";
  private readonly fresh: Fresh;

  constructor(
    model: Model,
    private readonly link: Link,
    private readonly store: Attempts,
  ) {
    super(model, "Attempts to build in place are made");
    this.list = new AttemptList(link, (attempt) => this.choose(attempt, true));
    this.columns = h("div", { class: "proof-columns" }, this.list.element, this.detail);
    this.fresh = new Fresh(model, this.place);
    this.pair = new PairView(
      link,
      (values) => this.savings?.follow(values),
      model.sizes,
      (name) => isSize(model.entries, name),
    );
    this.element = h("div", { class: "scroll proofs" }, this.head, this.fresh.element, this.free.element);
    this.modes();
    link.on((selection, chosen) => chosen && this.follow(selection));
    store.onShow((wanted) => this.open(wanted));
  }

  /** Open at one attempt, which another pane tells of. */
  private open(wanted: (attempt: Attempt) => boolean): void {
    this.turnTo("program");
    this.wanted = wanted;
    this.refresh();
    this.chooseWanted();
  }

  /** Select the attempt that `open` requested, when it is there. */
  private chooseWanted(): void {
    const found = this.wanted && this.model.made === this.of ? this.attempts.find(this.wanted) : undefined;
    if (!found) return;
    this.wanted = null;
    this.choose(found, false);
  }

  /** The attempt that is shown; what is kept is shown when there are attempts again. */
  readonly keep: Keep = {
    now: (): Key | null => {
      const { chosen } = this;
      return chosen && { rule: chosen.rule, source: chosen.source, destination: chosen.destination };
    },
    as: (kept) => {
      this.wanted = kept ? sameAs(kept as Key) : null;
    },
  };

  private modes(): void {
    const choice = (mode: Mode, name: string) =>
      h(
        "button",
        {
          "aria-pressed": String(this.mode === mode),
          onclick: () => {
            this.turnTo(mode);
            this.refresh();
          },
        },
        name,
      );
    replace(this.head, choice("program", "This program"), choice("pair", "Two LMADs"));
    this.fresh.element.hidden = this.mode !== "program";
    this.free.element.hidden = this.mode !== "pair";
  }

  private turnTo(mode: Mode): void {
    this.mode = mode;
    this.modes();
  }

  protected override get kept(): boolean {
    return Boolean(this.model.frozen?.attempts);
  }

  protected override refresh(): void {
    if (this.mode === "program") super.refresh();
    else if (this.visible) this.free.start();
  }

  protected async ask(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, this.store.load());
    if (!answer) return;
    const before = this.chosen;
    const found = (this.attempts = answer.attempts);
    this.of = of;
    if (!found.length) return this.nothing();
    arrange(this.place, this.columns);
    this.list.show(found);
    const kept = found.find((one) => before && one.source === before.source && one.rule === before.rule);
    this.choose(kept ?? (this.link.chosen ? at(found, this.link.chosen) : undefined) ?? best(found), false);
    this.chooseWanted();
  }

  private nothing(): void {
    this.pair.clear();
    replace(
      this.place,
      h(
        "p",
        { class: "empty" },
        "This program never copies an array into a larger one: no update with an array, no " +
          "concatenation, no copy. There is nothing to build in place.",
      ),
      h("p", { class: "quiet" }, "Try the example that concatenates three maps, or two LMADs of your own."),
    );
  }

  /** Something was chosen elsewhere: what was tried there? */
  private follow(selection: Selection | null): void {
    if (selection?.origin === "proof" || !this.attempts.length) return;
    this.list.mark(selection?.spans[0] ?? null);
    const first = selection ? at(this.attempts, selection) : undefined;
    if (first && first !== this.chosen) this.choose(first, false);
  }

  private choose(attempt: Attempt, told: boolean): void {
    const spans = attempt.src;
    if (told && spans.length) this.link.choose({ spans, origin: "proof", line: -1 });
    this.chosen = attempt;
    this.list.press(attempt);
    const first = Math.max(
      0,
      attempt.obligations.findIndex((one) => one.verdict !== "disjoint"),
    );
    this.describe(attempt);
    this.oblige(attempt, first);
  }

  private describe(attempt: Attempt): void {
    const { obligations } = attempt;
    const kind = KINDS[kindOf(attempt)];
    this.savings = new Savings(attempt, obligations.length > 0);
    const place = attempt.src[0];
    arrange(
      this.detail,
      h(
        "div",
        { class: `outcome ${kind.tone}` },
        h(
          "h2",
          {},
          h("span", { class: "attempt-sign", "aria-hidden": "true" }, kind.sign),
          " ",
          title(attempt),
          place ? h("span", { class: "quiet" }, placeName(place)) : null,
        ),
        h("p", {}, ...quoted(attempt.because)),
        ...(obligations.length ? [] : [wanted(attempt), this.savings.element, wayOut(attempt)]),
      ),
      h(
        "h2",
        {},
        "Proof obligations",
        obligations.length > 1 ? h("span", { class: "quiet" }, `${obligations.length} pairs`) : null,
      ),
      // All but the reason stands behind the drawing, which should be in sight.
      ...(obligations.length
        ? [this.obligations, this.pair.element, this.savings.element]
        : [
            h(
              "p",
              { class: "quiet" },
              isGuard(attempt)
                ? "The bounds of all dimensions lie inside: inequalities, no pairs of accesses."
                : attempt.done
                  ? "None: the destination is not used between the " + "creation of the array and its copy."
                  : "Not reached: an earlier condition does not hold.",
            ),
          ]),
      ...places(attempt),
    );
  }

  /** The pairs by number, and the chosen one with its picture and proof. */
  private oblige(attempt: Attempt, chosen: number): void {
    const { obligations } = attempt;
    const one = obligations[chosen];
    if (!one) return this.pair.clear();
    const focused = this.obligations.contains(document.activeElement);
    const choice = (other: Obligation, k: number) => {
      const { sign, tone, words } = VERDICTS[other.verdict];
      return h(
        "button",
        {
          class: `obligation ${tone}`,
          "aria-pressed": String(k === chosen),
          title: `${other.why.replaceAll("`", "")}: ${words}`,
          "aria-label": `Pair ${k + 1} of ${obligations.length}, ${words}`,
          onclick: () => this.oblige(attempt, k),
        },
        `${k + 1} `,
        h("span", { class: "attempt-sign", "aria-hidden": "true" }, sign),
      );
    };
    const before = [...this.obligations.querySelectorAll("button")].length;
    replace(
      this.obligations,
      obligations.length > 1 ? h("div", { class: "obligation-row" }, ...obligations.map(choice)) : null,
      h("p", { class: "obligation-why" }, ...quoted(one.why)),
    );
    if (focused && before) this.obligations.querySelectorAll("button")[chosen]?.focus();
    void this.pair.show(this.question(attempt, one, chosen), wanted(attempt), wayOut(attempt));
  }

  private question(attempt: Attempt, one: Obligation, number: number): Question {
    const block = attempt.place.block;
    return {
      about: JSON.stringify([
        attempt.rule,
        called(attempt, attempt.source),
        called(attempt, attempt.destination),
        number,
        one.witness?.values,
      ]),
      names: ["written cells", "used cells"],
      lmads: [one.write, one.use],
      assumptions: { nonnegative: one.facts },
      proved: one,
      ...(block ? { block: blocksOf(attempt)(block) } : {}),
    };
  }
}

/** True if a name is a size of an entry point's parameters. */
const isSize = (entries: readonly Entry[], name: string): boolean =>
  entries.some(({ params }) =>
    params.some((type) => {
      const kind = kindOfType(type);
      return kind !== null && dimsOf(kind).flatMap(namesInText).includes(name);
    }),
  );

/** Return the attempt to show first: a proof, else a failure. */
function best(attempts: readonly Attempt[]): Attempt {
  const weighty = attempts.filter((attempt) => attempt.obligations.length);
  return weighty.find((attempt) => attempt.done) ?? weighty[0] ?? attempts[0]!;
}

/** The attempt at a place: the nearest one, but what a story leads to is what is best to look at. */
function at(attempts: readonly Attempt[], { spans: [place], origin }: Selection): Attempt | undefined {
  const here = place ? about(attempts, place) : [];
  return origin === "story" && here.length ? best(here) : here[0];
}

function title(attempt: Attempt): string {
  return {
    proved: "Built in place",
    refused: "Not built in place",
    aside: "Does not apply",
    guarded: "Proved, so not checked",
    checked: "Checked when it runs",
  }[kindOf(attempt)];
}

/** The condition that does not hold. */
function wanted({ done, title: condition }: Attempt): HTMLElement | null {
  return done || !condition ? null : h("p", { class: "quiet" }, "Missing condition: ", ...quoted(condition));
}

/** Names of an attempt's blocks, without numbers that tell apart nothing. */
const blocksOf = (attempt: Attempt): ((name: string) => string) =>
  unnumbered([attempt.place, attempt.projected, ...attempt.moved].map((at) => at.block ?? ""));

/** Where the arrays lie after it, by their index functions. */
function places(attempt: Attempt): HTMLElement[] {
  const name = (one: string): string => called(attempt, one);
  const block = blocksOf(attempt);
  const shown = (at: MemoryPlace) => [
    h("code", {}, at.lmad ? prettyCells(at.lmad) : ""),
    " of ",
    h("code", {}, block(at.block ?? "")),
  ];
  const row = (title: string, ...value: (Node | string)[]) => [h("dt", {}, title), h("dd", {}, ...value)];
  const others = attempt.moved.filter((one) => one.array !== attempt.creation);
  const moved = [
    ...new Map(others.map((one) => [JSON.stringify([name(one.array), one.block, one.lmad]), one])).values(),
  ];
  const rows = [
    ...(attempt.place.lmad ? row(`In ${name(attempt.destination)}`, ...shown(attempt.place)) : []),
    ...(attempt.projected.lmad ? row("So it is created at", ...shown(attempt.projected)) : []),
    ...moved.flatMap((one) => row(`Then ${name(one.array)} is at`, ...shown(one))),
    ...(attempt.lifted.length ? row("Moved up for this", h("code", {}, attempt.lifted.map(name).join(", "))) : []),
  ];
  return rows.length ? [h("h2", {}, "Where it lies"), h("dl", { class: "attempt-facts" }, ...rows)] : [];
}

export const pane: PaneKind = {
  id: "proof",
  title: "Proof",
  order: 20,
  group: "Why",
  about: "why it is built in place, or copied: pairs of accesses, certificates, counterexamples",
  keeps: "attempt",
  make: ({ model, link, attempts }) => new ProofPane(model, link, attempts),
};
