// The tests in the program's comments: run one or all, and see what was expected and what was found.
import * as client from "../client";
import { announce, h, milliseconds, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import { sameText, type Model, type Text } from "../model";
import { messageElement } from "../messages";
import { placeName } from "../spans";
import { isTrouble } from "../trouble";
import { AskingPane } from "./asking";
import type { Problem, Span, TestCase, Tested } from "../types";
import type { PaneKind } from "./pane";

const SIGNS = {
  passed: ["✓", "Passed"],
  failed: ["✗", "Failed"],
  unchecked: ["?", "Not compared"],
  skipped: ["–", "Skipped"],
} as const;

interface Outcome {
  tested: Tested;
  of: Text;
}

export interface TestEvents {
  /** The back end that is chosen to run on. */
  backend(): string;
  goTo(span: Span): void;
}

/** Names of tests, which are the same before and after an edit of others. */
function keysOf(cases: readonly TestCase[]): Map<TestCase, string> {
  const known = new Map<string, number>();
  return new Map(
    cases.map((one) => {
      const name = JSON.stringify([one.kind, one.entry, one.name]);
      const before = known.get(name) ?? 0;
      known.set(name, before + 1);
      return [one, `${name} ${before}`];
    }),
  );
}

export class TestsPane extends AskingPane {
  readonly element = h("div", { class: "scroll" });
  protected readonly place = h("div", {});
  private readonly all = h("button", { class: "primary" }, "Run all");
  private readonly count = h("p", { class: "quiet", role: "status" });
  private readonly top = h("div", { class: "trials-top" }, this.all, this.count);
  private readonly list = h("ul", { class: "remarks trials", "aria-label": "Tests" });
  private readonly fresh: Fresh;
  private cases = new Map<TestCase, string>();
  /** The text that they are of. */
  private of: Text | null = null;
  private latest: Text | null = null;
  private readonly outcomes = new Map<string, Outcome>();
  private running = "";
  private stopping: AbortController | null = null;

  constructor(
    model: Model,
    private readonly events: TestEvents,
  ) {
    super(model, "Tests are listed");
    this.fresh = new Fresh(model, this.place);
    this.element.append(this.fresh.element);
    this.all.addEventListener("click", () => (this.stopping ? this.stopping.abort() : void this.run()));
    model.on("source", () => this.visible && this.of && this.draw());
  }

  /** A program that must be refused has tests as well. */
  protected override get about(): Text | null {
    const { model } = this;
    if (model.status.phase === "empty") return null;
    if (!this.latest || !sameText(this.latest, model.now)) this.latest = model.now;
    return this.latest;
  }

  protected async ask(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, client.ask("tests", {}, of));
    if (!answer) return;
    this.cases = keysOf(answer.cases);
    this.of = of;
    // A button that is put in anew while it is pressed is not clicked.
    if (!this.place.contains(this.top)) replace(this.place, this.top, this.list);
    this.draw();
  }

  /** Run one test or all, one after the other, until it is stopped. */
  private async run(only: string | null = null): Promise<void> {
    const { about } = this;
    if (about && !(this.of && sameText(this.of, about))) {
      this.seen = about;
      await this.ask(about);
    }
    const { of } = this;
    if (this.stopping || !of || !sameText(of, this.model.now)) return; // why not is shown
    const cases = [...this.cases].filter(([, key]) => only === null || key === only);
    const mine = (this.stopping = new AbortController());
    for (const [one, key] of cases) {
      if (mine.signal.aborted) break;
      this.running = key;
      this.draw();
      const tested = await this.tested(of, one, mine.signal);
      if (tested && !mine.signal.aborted) this.outcomes.set(key, { tested, of });
    }
    this.stopping = null;
    this.running = "";
    this.draw();
    announce(mine.signal.aborted ? "Stopped." : (this.count.textContent ?? ""));
  }

  /** Run a test; if a busy server refuses it, retry when it says. */
  private async tested(of: Text, { number }: TestCase, signal: AbortSignal): Promise<Tested | null> {
    for (;;) {
      const answer = await client.post("test", { ...of, case: number, backend: this.events.backend() }, signal);
      if (answer.ok) return answer.tested;
      const { error } = answer;
      if (signal.aborted) return null;
      if (error.kind !== "busy" || !error.retry) return { number, outcome: "failed", because: error.message, error };
      await pause(error.retry, signal);
    }
  }

  private draw(): void {
    const { cases, stopping } = this;
    this.all.textContent = stopping ? "Stop" : "Run all";
    this.all.hidden = !cases.size;
    this.count.textContent = cases.size ? this.summary() : "";
    const focused = this.list.contains(document.activeElement)
      ? document.activeElement?.closest("li")?.dataset.key
      : undefined;
    if (cases.size) replace(this.list, ...[...cases].map(([one, key]) => this.item(one, key)));
    else replace(this.list, h("li", {}, ...noTests()));
    const again = [...this.list.querySelectorAll<HTMLElement>("li")].find(
      (item) => focused && item.dataset.key === focused,
    );
    again?.querySelector<HTMLElement>("button")?.focus();
  }

  private summary(): string {
    const found = [...this.cases.values()].map((key) => this.outcomes.get(key)?.tested.outcome ?? "");
    const parts = Object.entries(SIGNS).map(
      ([outcome, [, words]]) => [found.filter((one) => one === outcome).length, words.toLowerCase()] as const,
    );
    const told = parts
      .filter(([count]) => count)
      .map(([count, words]) => `${count} ${words}`)
      .join(", ");
    const total = `${found.length} ${found.length === 1 ? "test" : "tests"}`;
    return told ? `${total}: ${told}` : total;
  }

  private item(one: TestCase, key: string): HTMLElement {
    const outcome = this.outcomes.get(key);
    const tested = outcome?.tested;
    const outdated = outcome !== undefined && !sameText(outcome.of, this.model.now);
    const [sign, words] = tested ? SIGNS[tested.outcome] : ["·", "Not run yet"];
    const name = [one.entry, one.name].filter(Boolean).join(", ");
    const running = this.running === key;
    return h(
      "li",
      { class: `remark trial ${tested?.outcome ?? ""} ${outdated ? "outdated" : ""}`, "data-key": key },
      h("span", { class: "remark-sign", role: "img", "aria-label": words }, sign),
      h(
        "div",
        {},
        h("p", { class: "remark-text" }, h("strong", {}, name)),
        outdated ? h("p", { class: "quiet" }, "Out of date: of an earlier version of the program") : null,
        tested ? this.told(tested, one) : null,
        h(
          "p",
          { class: "remark-meta" },
          h(
            "button",
            {
              class: "link",
              disabled: this.stopping !== null,
              "aria-label": `Run ${name}`,
              onclick: () => void this.run(key),
            },
            running ? "Running…" : "Run",
          ),
          h("button", { class: "link", onclick: () => this.events.goTo(one.src) }, placeName(one.src)),
          tested?.ms === undefined ? null : h("span", {}, milliseconds(tested.ms)),
        ),
      ),
    );
  }

  /** Why a test did not pass: the difference, or the error. */
  private told({ outcome, because, difference, error }: Tested, { src }: TestCase): HTMLElement | null {
    if (outcome === "passed") return null;
    return h(
      "div",
      {},
      error
        ? messageElement(error, "", error.span?.[0] === src[0] ? null : this.placeOf(error))
        : h("p", {}, ...quoted(because)),
      difference
        ? h(
            "dl",
            { class: "difference" },
            h("dt", {}, "expected"),
            h("dd", {}, h("pre", {}, difference.expected)),
            h("dt", {}, "found"),
            h("dd", {}, h("pre", {}, difference.found)),
          )
        : null,
    );
  }

  private placeOf(error: Problem): HTMLElement | null {
    const { span } = error;
    if (!span || isTrouble(error)) return null;
    return h("button", { class: "link place", onclick: () => this.events.goTo(span) }, placeName(span));
  }
}

/** Return the message for a program without tests. */
export const noTests = (): HTMLElement[] => [
  h("p", { class: "empty" }, "The program has no tests. Write one above an entry point:"),
  h("pre", {}, "-- ==\n-- input { [1, 2, 3] } output { 6 }\n"),
];

/** Wait, unless the signal says that nobody does. */
function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resume) => {
    const clock = window.setTimeout(resume, 1000 * seconds);
    signal.addEventListener("abort", () => {
      window.clearTimeout(clock);
      resume();
    });
  });
}

export const pane: PaneKind = {
  id: "tests",
  title: "Tests",
  order: 110,
  group: "Run",
  about: "the data sets of the program: input and output, pass or fail",
  make: ({ model, run, goTo }) => new TestsPane(model, { backend: () => run.target(), goTo }),
};
