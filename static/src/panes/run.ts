// Runs the program: entry point, inputs typed or generated, back end; result, time, memory.
import { sized } from "../arithmetic";
import * as client from "../client";
import { announce, bytes, h, milliseconds, quoted, replace } from "../dom";
import { Fresh } from "../fresh";
import { flat, sameText, type Model, type Text } from "../model";
import { taking } from "../take";
import { callsTo, messageElement } from "../messages";
import { placeName } from "../spans";
import { traced } from "../traced";
import { isTrouble, Trouble } from "../trouble";
import type { Entry, Run, RunAnswer } from "../kept";
import type { Backend, Failure, Problem, Span, Traced, Traces } from "../types";
import { NOTHING, RunInputs, type Given, type InputSettings } from "./run_inputs";
import { resultOf, type Looks } from "./result";
import { timesOf } from "./times";
import { verdicts } from "./verdicts";

export interface RunSettings extends InputSettings {
  entry: string;
  backend: string;
  /** The number of runs of the program. */
  runs?: number;
}

/** Names for results of links, which are shown before the server has said what it offers. */
const TITLES: Record<string, string> = {
  c: "C, all cores",
  cuda: "CUDA, this machine's GPU",
  ref: "Reference interpreter",
};
const ENOUGH = 120; // pixels of a result that are to be seen
const FRESH: Omit<RunSettings, "inputs" | "sizes"> = { entry: "", typed: true, seed: 1, backend: "c" };

export interface RunEvents {
  /** When the entry points of the program as it is now are known. */
  known(): Promise<void>;
  changed(): void;
  running(running: boolean): void;
  /** Something here is used, or shows a result. */
  used(): void;
  goTo(span: Span): void;
  /** Put a text at the end of the program. */
  write(text: string): void;
}

export class RunPane {
  readonly element: HTMLElement;
  /** The result, and what goes below it. */
  readonly side = h("div", { class: "run-side" });
  settings: RunSettings = { ...FRESH, inputs: {}, sizes: sized() };
  /** The last run of the current text, for permalinks. */
  last: Run | null = null;
  private readonly entry = h("select", { id: "run-entry" });
  private readonly backend = h("select", { id: "run-backend", "aria-label": "Back end" });
  private readonly runs = h(
    "select",
    { "aria-label": "How often" },
    ...[1, 10, 100].map((n) => h("option", { value: n }, n === 1 ? "once" : `${n} times`)),
  );
  private readonly lacking = h("span", { class: "quiet lacking" });
  private offered: readonly Backend[] = [];
  private readonly inputs: RunInputs;
  private readonly result = h("div", { class: "run-result", "aria-live": "polite" });
  private readonly fresh: Fresh;
  /** Opens all settings of the run; shown until one of them is used. */
  private readonly brief = h("button", {
    class: "run-brief",
    title: "Inputs, backend, number of runs, checks, results",
  });
  private readonly validate = h(
    "button",
    { title: "Run every stage on this input and compare the results" },
    "Check all stages",
  );
  private readonly looks: Looks = new Map();
  private given = NOTHING;
  private signature = "";
  private stopping: AbortController | null = null;
  /** The result is not kept in view any more. */
  private release = (): void => undefined;
  private readonly trouble = new Trouble(() => void this.again());
  private again: () => Promise<void> = () => this.run();

  constructor(
    private readonly model: Model,
    private readonly events: RunEvents,
  ) {
    this.fresh = new Fresh(model, this.result);
    this.inputs = new RunInputs(
      model,
      () => events.changed(),
      (text) => events.write(text),
    );
    this.offer([
      { id: "c", title: TITLES.c!, missing: "" },
      { id: "ref", title: TITLES.ref!, missing: "" },
    ]);
    this.element = h(
      "section",
      { class: "run", "aria-label": "Run" },
      this.brief,
      h(
        "div",
        { class: "run-form" },
        h(
          "div",
          { class: "run-top" },
          h("label", { for: "run-entry" }, "Entry"),
          this.entry,
          this.modes(),
          h("label", { for: "run-backend" }, "On"),
          this.backend,
          this.runs,
          this.validate,
          taking(() => ({ title: "Result", element: this.side })),
          this.lacking,
        ),
        this.inputs.element,
      ),
      this.side,
    );
    this.side.append(this.fresh.element);
    this.entry.addEventListener("change", () => this.set({ entry: this.entry.value }));
    this.backend.addEventListener("change", () => this.set({ backend: this.backend.value }));
    this.runs.addEventListener("change", () => this.set({ runs: Number(this.runs.value) }));
    this.validate.addEventListener("click", () => void this.checkStages());
    model.on("entries", () => this.draw());
    model.on("status", () => this.chosen() || this.draw());
    model.on("source", () => (this.last = null));
    // With the pointer at its end: what grows under it would take the button away from a click.
    this.element.addEventListener(
      "focusin",
      ({ target }) => target !== this.brief && (target as Element).matches(":focus-visible") && events.used(),
    );
    this.element.addEventListener("click", () => events.used());
    this.brief.addEventListener("click", () => this.entry.focus({ preventScroll: true }));
    this.empty();
  }

  /** Offer those that can run, and say why others cannot. */
  offer(backends: readonly Backend[]): void {
    this.offered = backends.filter(({ missing }) => !missing);
    replace(this.backend, ...this.offered.map(({ id, title }) => h("option", { value: id }, title)));
    this.backend.value = this.runsOn();
    const without = backends.filter(({ missing }) => missing);
    replace(
      this.lacking,
      ...without.map(({ title, missing }) => `${title.split(",")[0]} is not offered: ${missing.replace(/\.?$/, ".")}`),
    );
  }

  private titleOf(backend: string): string {
    return this.offered.find(({ id }) => id === backend)?.title ?? TITLES[backend] ?? backend;
  }

  /** The back end that was chosen, if it is there. */
  private runsOn(): Backend["id"] {
    const { backend } = this.settings;
    return this.offered.find(({ id }) => id === backend)?.id ?? "c";
  }

  /** Take settings from storage or from a link, and an example's inputs for what they lack. */
  restore(settings: Partial<RunSettings>, given: Given = NOTHING): void {
    this.settings = { ...FRESH, ...settings, inputs: { ...settings.inputs }, sizes: sized(settings.sizes ?? {}) };
    this.give(given);
  }

  /** Propose these inputs where nothing was typed. */
  give(given: Given): void {
    this.given = given;
    this.signature = "";
    this.draw();
  }

  /** The settings with all inputs that are shown. */
  shown(): RunSettings {
    return { ...this.settings, ...this.inputs.shown() };
  }

  /** Show a result that was not made now. */
  show(request: Run, answer: RunAnswer | Failure): void {
    this.stopping?.abort(); // its result would take the place of this one
    this.stopping = null;
    this.buttons();
    this.last = request;
    this.report(answer, this.model.now);
  }

  request(): Run {
    const backend = this.runsOn();
    const entry = this.chosen()?.name ?? this.settings.entry;
    const { runs = 1 } = this.settings;
    return {
      entry,
      backend,
      ...this.inputs.request(this.settings),
      ...(runs > 1 && backend !== "ref" ? { runs } : {}),
    };
  }

  /** The entry point and its inputs. */
  inputsOnly(): Omit<Run, "backend" | "runs" | "stage"> {
    const { backend: _, runs: __, stage: ___, ...inputs } = this.request();
    return inputs;
  }

  /** The id of the back end that is chosen. */
  target(): Backend["id"] {
    return this.request().backend ?? "c";
  }

  /** The back ends that tests are measured on: the chosen one first. */
  measured(): string[] {
    const chosen = this.runsOn();
    const able = this.offered.map(({ id }) => id as string).filter((id) => id !== "ref");
    return [...new Set(chosen === "ref" ? able : [chosen as string, ...able])];
  }

  /** Run the program, or stop it if it runs. */
  toggle(): void {
    if (this.stopping) this.stopping.abort();
    else void this.run();
  }

  async run(): Promise<void> {
    this.again = () => this.run();
    let [request, text]: [Run, Text] = [{}, this.model.now];
    const answer = await this.work("Running…", async (signal, queued) => {
      const unsent = await this.unsent();
      if (unsent) return unsent;
      [request, text] = [this.request(), this.model.now];
      return client.run("run", { ...text, ...request }, signal, queued);
    });
    if (!answer) return;
    if (sameText(text, this.model.now)) this.last = request;
    this.report(answer, text);
    announce(answer.ok ? `Result after ${milliseconds(answer.ms)}.` : answer.error.message);
  }

  /** Why files of the inputs are not with the server, once all are sent that can be; or nothing. */
  private async unsent(): Promise<Failure | null> {
    try {
      await this.inputs.sent(this.settings);
      return null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { ok: false, error: { kind: "usage", message, hint: "", span: null } };
    }
  }

  private async checkStages(): Promise<void> {
    this.again = () => this.checkStages();
    let text = this.model.now;
    const answer = await this.work("Running every stage…", async (signal, queued) => {
      const unsent = await this.unsent();
      if (unsent) return unsent;
      text = this.model.now;
      const { backend: _, runs: __, ...request } = this.request();
      return client.run("validity", { ...text, ...request }, signal, queued);
    });
    if (!answer) return;
    if (!answer.ok) return this.report(answer, text);
    replace(this.result, verdicts(answer, this.model));
    this.fresh.made(text, answer);
  }

  /** Do one thing at a time; null if it was stopped, by its button or by another. */
  private async work<T>(
    words: string,
    task: (signal: AbortSignal, queued: (position: number) => void) => Promise<T>,
  ): Promise<T | null> {
    this.stopping?.abort();
    const mine = (this.stopping = new AbortController());
    const began = performance.now();
    this.model.setRunProblems([]);
    const clock = h("span", { class: "clock", "aria-hidden": "true" });
    const ticking = window.setInterval(
      () => (clock.textContent = ` ${((performance.now() - began) / 1000).toFixed(1)} s`),
      100,
    );
    const told = h("span", {}, words);
    const queued = (place: number): void => {
      told.textContent = place ? `Waiting for other runs, place ${place} in the queue.` : words;
    };
    replace(this.result, h("p", { class: "quiet busy" }, told, clock));
    this.fresh.made(null);
    this.buttons();
    this.events.used();
    this.reveal();
    await this.events.known();
    const answer = mine.signal.aborted ? null : await task(mine.signal, queued);
    window.clearInterval(ticking);
    if (this.stopping !== mine) return null;
    this.stopping = null;
    this.buttons();
    requestAnimationFrame(() => this.reveal()); // of the result
    if (!mine.signal.aborted) return answer;
    const after = `Stopped after ${milliseconds(performance.now() - began)}.`;
    replace(this.result, h("p", { class: "quiet" }, after));
    announce(after);
    return null;
  }

  /**
   * Bring the result into view: where panes lie below each other, it is not. It stays there while those above
   * it grow, which are answered later, until somebody goes elsewhere.
   */
  private reveal(): void {
    this.release();
    const show = (): void => {
      const { top, bottom, height } = this.result.getBoundingClientRect();
      const away = top + Math.min(height, ENOUGH) > window.innerHeight || bottom < 0;
      if (away) this.result.scrollIntoView({ block: height > window.innerHeight ? "start" : "center" });
    };
    show();
    const grown = new ResizeObserver(show);
    grown.observe(this.element.parentElement ?? this.element);
    const leaving = new AbortController();
    this.release = () => {
      grown.disconnect();
      leaving.abort();
    };
    for (const event of ["wheel", "touchstart", "pointerdown", "keydown"]) {
      window.addEventListener(event, () => this.release(), { signal: leaving.signal, passive: true, capture: true });
    }
  }

  private buttons(): void {
    const running = this.stopping !== null;
    this.validate.disabled = running;
    this.events.running(running);
  }

  private report(answer: RunAnswer | Failure, of: Text): void {
    this.events.used();
    this.trouble.clear();
    this.fresh.made(of, answer);
    if (!answer.ok) return this.fail(answer.error, of);
    const facts: [string, string | HTMLElement][] = timesOf(answer);
    if (answer.peak_bytes !== undefined) facts.push(["Peak memory", bytes(answer.peak_bytes)]);
    if (answer.copies?.length)
      facts.push(["Copies", answer.copies.map((one) => `${one.count} × ${one.kind} (${bytes(one.bytes)})`).join(", ")]);
    if (answer.cores) facts.push(["Cores", String(answer.cores)]);
    if (answer.backend) facts.push(["Ran on", this.titleOf(answer.backend)]);
    this.model.setRunProblems([], this.tracedIn(answer.traces, of));
    replace(
      this.result,
      h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      answer.note ? h("p", { class: "quiet" }, answer.note) : null,
      resultOf(answer, this.looks),
      this.tracesOf(answer.traces, of),
    );
    this.element.classList.toggle("drawing", this.result.querySelector(".cells-canvas, .table-scroll, .busy") !== null);
  }

  private tracedIn(traces: Traces | undefined, of: Text): Traced[] {
    return traces && sameText(of, this.model.now) ? traces.places : [];
  }

  /** The values that stand behind lines of the source, and more of them. */
  private tracesOf(traces: Traces | undefined, of: Text): HTMLElement | null {
    if (!traces?.places.length) return null;
    const here = sameText(of, this.model.now);
    return h(
      "section",
      { class: "traces", "aria-label": "Traced values" },
      h("p", { class: "quiet" }, "Traced by the reference interpreter, in the order of the source. ", traces.note),
      h(
        "ul",
        {},
        ...traces.places.map((place) => {
          const at = place.src[0];
          return h(
            "li",
            {},
            at && here
              ? h("button", { class: "link place", onclick: () => this.events.goTo(at) }, placeName(at))
              : null,
            ` ${place.function} `,
            h("code", {}, traced(place, place.values.length)),
          );
        }),
      ),
    );
  }

  /** Why there is no result of this text: at the place in the source, if there is one and it is still there. */
  private fail(error: Problem, of: Text): void {
    if (isTrouble(error)) {
      this.trouble.show(error);
      replace(this.result, this.trouble.element);
      return;
    }
    const place = error.span?.[0] && sameText(of, this.model.now) ? error.span : null;
    this.model.setRunProblems(place ? flat(error) : [], this.tracedIn(error.traces, of));
    replace(
      this.result,
      messageElement(error),
      h("p", { class: "quiet" }, ...quoted(this.inputs.lacking(this.settings))),
      place
        ? h("p", {}, h("button", { class: "link place", onclick: () => this.events.goTo(place) }, placeName(place)))
        : null,
      place ? callsTo(error, (span) => this.events.goTo(span)) : null,
      this.tracesOf(error.traces, of),
    );
  }

  private empty(): void {
    replace(this.result, h("p", { class: "quiet" }, "Results appear here."));
  }

  private modes(): HTMLElement {
    const radio = (typed: boolean, name: string) => {
      const input = h("input", {
        type: "radio",
        name: "run-mode",
        value: typed ? "typed" : "made",
        checked: this.settings.typed === typed,
      });
      input.addEventListener("change", () => this.set({ typed }));
      return h("label", { class: "check" }, input, name);
    };
    return h(
      "span",
      { class: "modes", role: "group", "aria-label": "Inputs" },
      radio(true, "typed"),
      radio(false, "random"),
    );
  }

  private set(change: Partial<RunSettings>): void {
    this.settings = { ...this.settings, ...change };
    this.signature = "";
    this.draw();
    this.events.changed();
  }

  private chosen(): Entry | undefined {
    const { entries } = this.model;
    return (
      entries.find((entry) => entry.name === this.settings.entry) ??
      entries.find((e) => e.name === "main") ??
      entries[0]
    );
  }

  private draw(): void {
    const chosen = this.chosen();
    this.model.setEntry(chosen?.name ?? "");
    const from = chosen ? this.inputs.from(chosen, this.given) : none(this.model);
    const signature = JSON.stringify([this.model.entries, chosen?.name, from]);
    if (signature === this.signature) return;
    this.signature = signature;
    replace(
      this.entry,
      ...this.model.entries.map((entry) => h("option", { value: entry.name, selected: entry === chosen }, entry.name)),
    );
    this.backend.value = this.runsOn();
    this.runs.value = String(this.settings.runs ?? 1);
    for (const radio of this.element.querySelectorAll<HTMLInputElement>("[name=run-mode]")) {
      radio.checked = (radio.value === "typed") === this.settings.typed;
    }
    this.entry.disabled = !chosen;
    const { typed, runs = 1 } = this.settings;
    const how = [
      typed ? "typed inputs" : "random inputs",
      this.titleOf(this.runsOn()),
      runs > 1 ? `${runs} times` : "",
    ];
    replace(
      this.brief,
      h("strong", {}, "Inputs and results"),
      h("span", { class: "quiet" }, [chosen?.name ?? "", ...how].filter(Boolean).join(" · ")),
    );
    if (chosen && typeof from === "object") this.inputs.draw(chosen, this.settings, from);
    else replace(this.inputs.element, h("p", { class: "quiet" }, ...quoted(none(this.model))));
  }
}

/** Why there is no entry point to give inputs to. */
function none({ checked, status }: Model): string {
  if (checked) return "The program has no entry point yet: write `entry main …`.";
  if (status.phase === "empty")
    return "There is no program yet: write one in the source, or choose an example. Its inputs appear here.";
  if (status.phase === "failed")
    return "The inputs appear here when the program has no errors: see the error in the source.";
  return "The inputs appear here when the program has been checked.";
}

/** The run pane's settings in a link, and the inputs of the run in it. */
export function settingsOf(kept: Partial<RunSettings> | undefined, request: Run = {}): [Partial<RunSettings>, Given] {
  const { entry, backend, input = "", sizes, seed } = request;
  const settings = kept?.inputs
    ? kept
    : {
        ...(entry ? { entry } : {}),
        ...(backend ? { backend } : {}),
        ...(seed === undefined ? {} : { seed }),
        typed: !sizes,
        sizes: sizes ?? {},
      };
  return [settings, { input, random: "" }];
}
