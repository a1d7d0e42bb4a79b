// Runs the program: entry point, inputs typed or generated, back end; result, time, memory.
import * as client from "../client";
import { announce, bytes, h, milliseconds, quoted, replace } from "../dom";
import { dataSet, isCount, sampleOf, sizesFrom, splitValues } from "../inputs";
import { flat, type Model } from "../model";
import { messageElement } from "../problems";
import { placeName } from "../spans";
import { isTrouble, Trouble } from "../trouble";
import type { Entry, Failure, Problem, RunAnswer, RunRequest, Span } from "../types";
import { verdicts } from "./verdicts";

export interface RunSettings {
  entry: string;
  typed: boolean;
  values: string[];
  sizes: Record<string, number>;
  seed: number;
  backend: string;
}

const BACKENDS: [string, string][] = [
  ["c", "C, all cores"], ["cuda", "CUDA, this machine's GPU"], ["ref", "Reference interpreter"],
];
export const FRESH: RunSettings = { entry: "", typed: true, values: [], sizes: {}, seed: 1, backend: "c" };

export interface RunEvents {
  changed(): void;
  running(running: boolean): void;
  goTo(span: Span): void;
}

export class RunPane {
  readonly element: HTMLElement;
  settings: RunSettings = { ...FRESH };
  /** The last run of the current text, for permalinks. */
  last: RunRequest | null = null;
  private readonly entry = h("select", { id: "run-entry" });
  private readonly backend = h("select", { id: "run-backend", "aria-label": "Back end" });
  private readonly fields = h("div", { class: "run-fields" });
  private readonly result = h("div", { class: "run-result", "aria-live": "polite" });
  private readonly button = h("button", { class: "primary", title: "Ctrl+Enter" }, "Run");
  private readonly validate = h("button", { title: "Run every stage on this input and compare the results" }, "Check all stages");
  private given = { input: "", random: "" };
  private signature = "";
  private stopping: AbortController | null = null;
  private readonly trouble = new Trouble(() => void this.again());
  private again: () => Promise<void> = () => this.run();

  constructor(private readonly model: Model, private readonly events: RunEvents) {
    replace(this.backend, ...BACKENDS.map(([id, name]) => h("option", { value: id }, name)));
    this.element = h("section", { class: "run", "aria-label": "Run" },
      h("div", { class: "run-form" },
        h("div", { class: "run-top" },
          h("label", { for: "run-entry" }, "Entry"), this.entry, this.modes(),
          h("label", { for: "run-backend" }, "On"), this.backend, this.button, this.validate),
        this.fields),
      this.result);
    this.entry.addEventListener("change", () => this.set({ entry: this.entry.value, values: [], sizes: {} }));
    this.backend.addEventListener("change", () => this.set({ backend: this.backend.value }));
    this.button.addEventListener("click", () => this.toggle());
    this.validate.addEventListener("click", () => void this.checkStages());
    model.on("entries", () => this.draw());
    model.on("status", () => this.chosen() || this.draw());
    model.on("source", () => (this.last = null));
    this.empty();
  }

  /** Take settings from storage or from a link, and an example's inputs for what they lack. */
  restore(settings: Partial<RunSettings>, given = { input: "", random: "" }): void {
    this.settings = { ...FRESH, values: [], sizes: {}, ...settings };
    this.given = given;
    this.signature = "";
    this.draw();
  }

  /** Show a result that was not made now. */
  show(request: RunRequest, answer: RunAnswer | Failure): void {
    this.last = request;
    this.report(answer);
  }

  request(): RunRequest {
    const { typed, values, sizes, seed, backend } = this.settings;
    const entry = this.chosen()?.name ?? this.settings.entry;
    return typed
      ? { entry, backend, input: values.join("\n") }
      : { entry, backend, sizes, seed };
  }

  /** Run the program, or stop it if it runs. */
  toggle(): void {
    if (this.stopping) this.stopping.abort();
    else void this.run();
  }

  async run(): Promise<void> {
    const request = this.request();
    this.again = () => this.run();
    const answer = await this.work("Running…", (signal) => client.run(this.model.source, this.model.options, request, signal));
    if (!answer) return;
    this.last = request;
    this.report(answer);
    announce(answer.ok ? `Result after ${milliseconds(answer.ms)}.` : answer.error.message);
  }

  private async checkStages(): Promise<void> {
    this.again = () => this.checkStages();
    const answer = await this.work("Running every stage…", (signal) =>
      client.validity(this.model.source, this.model.options, this.request(), signal));
    if (!answer) return;
    if (!answer.ok) this.report(answer);
    else replace(this.result, verdicts(answer, this.model));
  }

  /** Do one thing at a time; null if it was stopped, by its button or by another. */
  private async work<T>(words: string, task: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    this.stopping?.abort();
    const mine = this.stopping = new AbortController();
    const began = performance.now();
    this.model.setRunProblems([]);
    replace(this.result, h("p", { class: "quiet busy" }, words));
    this.buttons();
    const answer = await task(mine.signal);
    if (this.stopping !== mine) return null;
    this.stopping = null;
    this.buttons();
    if (!mine.signal.aborted) return answer;
    const after = `Stopped after ${milliseconds(performance.now() - began)}.`;
    replace(this.result, h("p", { class: "quiet" }, after));
    announce(after);
    return null;
  }

  private buttons(): void {
    const running = this.stopping !== null;
    this.button.textContent = running ? "Stop" : "Run";
    this.button.title = running ? "Stop the program" : "Ctrl+Enter";
    this.validate.disabled = running;
    this.events.running(running);
  }

  private report(answer: RunAnswer | Failure): void {
    this.trouble.clear();
    if (!answer.ok) return this.fail(answer.error);
    const facts: [string, string][] = [["Time", milliseconds(answer.ms)]];
    if (answer.peak_bytes !== undefined) facts.push(["Peak memory", bytes(answer.peak_bytes)]);
    if (answer.cores) facts.push(["Cores", String(answer.cores)]);
    if (answer.backend) facts.push(["Ran on", BACKENDS.find(([id]) => id === answer.backend)?.[1] ?? answer.backend]);
    replace(this.result,
      h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      answer.note ? h("p", { class: "quiet" }, answer.note) : null,
      h("pre", { class: "value", tabindex: 0, role: "region", "aria-label": "Result" }, answer.output || "(no values)"),
      answer.cut ? h("p", { class: "quiet" }, `${answer.cut} more characters are not shown.`) : null);
  }

  /** Say why there is no result: at the place in the source, if there is one. */
  private fail(error: Problem): void {
    if (isTrouble(error)) {
      this.trouble.show(error);
      replace(this.result, this.trouble.element);
      return;
    }
    const place = error.span?.[0] ? error.span : null;
    this.model.setRunProblems(place ? flat(error) : []);
    replace(this.result, messageElement(error),
      place ? h("p", {}, h("button", { class: "link place", onclick: () => this.events.goTo(place) }, placeName(place))) : null);
  }

  private empty(): void {
    replace(this.result, h("p", { class: "quiet" }, "The result, its time and its memory appear here."));
  }

  private modes(): HTMLElement {
    const radio = (typed: boolean, name: string) => {
      const input = h("input", { type: "radio", name: "run-mode", value: typed ? "typed" : "made", checked: this.settings.typed === typed });
      input.addEventListener("change", () => this.set({ typed }));
      return h("label", { class: "check" }, input, name);
    };
    return h("span", { class: "modes", role: "group", "aria-label": "Inputs" }, radio(true, "typed"), radio(false, "random"));
  }

  private set(change: Partial<RunSettings>): void {
    this.settings = { ...this.settings, ...change };
    this.signature = "";
    this.draw();
    this.events.changed();
  }

  private chosen(): Entry | undefined {
    const { entries } = this.model;
    return entries.find((entry) => entry.name === this.settings.entry) ?? entries.find((e) => e.name === "main") ?? entries[0];
  }

  private draw(): void {
    const chosen = this.chosen();
    const signature = JSON.stringify([this.model.entries, chosen?.name, chosen ? "" : none(this.model)]);
    if (signature === this.signature) return;
    this.signature = signature;
    replace(this.entry, ...this.model.entries.map((entry) => h("option", { value: entry.name, selected: entry === chosen }, entry.name)));
    this.backend.value = this.settings.backend;
    for (const radio of this.element.querySelectorAll<HTMLInputElement>("[name=run-mode]")) {
      radio.checked = (radio.value === "typed") === this.settings.typed;
    }
    this.entry.disabled = !chosen;
    if (!chosen) replace(this.fields, h("p", { class: "quiet" }, ...quoted(none(this.model))));
    else if (this.settings.typed) this.typed(chosen);
    else void this.generated(chosen);
  }

  private typed(entry: Entry): void {
    if (!entry.params.length) {
      this.settings.values = [];
      replace(this.fields, h("p", { class: "quiet" }, `${entry.name} takes no inputs.`));
      return;
    }
    const pieces = splitValues(this.dataSet(entry).input);
    // Records and tuples take several values each: then all values go into one field.
    const apart = pieces.length === entry.params.length || !pieces.length;
    const labels = apart ? entry.params.map((type, k) => this.paramName(entry, k, type)) : [h("span", {}, "all values")];
    const proposed = apart ? entry.params.map((type, k) => pieces[k] ?? sampleOf(type)) : [pieces.join("\n")];
    const kept = this.settings.values.length === proposed.length ? this.settings.values : proposed;
    this.settings.values = [...kept];
    replace(this.fields, ...labels.map((label, k) => {
      const field = h("textarea", { rows: 1, spellcheck: "false", id: `run-value-${k}` });
      field.value = kept[k]!;
      field.addEventListener("input", () => {
        this.settings.values[k] = field.value;
        this.events.changed();
      });
      return h("div", { class: "run-field" }, h("label", { for: field.id }, label), field);
    }));
  }

  private dataSet(entry: Entry): { input: string; random: string } {
    const own = dataSet(this.model.source, entry.name);
    return own.input || own.random || entry.name !== "main" ? own : this.given;
  }

  private paramName(entry: Entry, k: number, type: string): HTMLElement {
    const name = entry.names?.[k];
    return h("code", {}, name ? `${name}: ${type}` : type);
  }

  private async generated(entry: Entry): Promise<void> {
    const names = entry.names ?? [];
    const proposed = sizesFrom(this.dataSet(entry).random, entry.params, names);
    const named = entry.params.flatMap((type, k) => isCount(type) && names[k] ? [names[k]]
      : [...type.matchAll(/\[([A-Za-z_]\w*)\]/g)].map((match) => match[1]!));
    const sizes = (known: Record<string, number>) => Object.fromEntries(
      [...new Set([...Object.keys(known), ...named])].map((name) =>
        [name, this.settings.sizes[name] ?? proposed[name] ?? known[name] ?? (isScalar(entry, name) ? 10 : 1000)]));
    this.settings.sizes = sizes({});
    this.sizeFields(entry, this.settings.sizes);
    const sample = await client.generate(this.model.source, this.model.options, entry.name, {}, this.settings.seed);
    if (!sample.ok || this.settings.typed || this.chosen() !== entry) return;
    this.settings.sizes = sizes(sample.sizes ?? {});
    this.sizeFields(entry, this.settings.sizes);
  }

  private sizeFields(entry: Entry, sizes: Record<string, number>): void {
    const field = (label: string, value: number, least: number, change: (value: number) => void) => {
      const input = h("input", { type: "number", min: least, step: 1, value, id: `run-size-${label}` });
      input.addEventListener("input", () => {
        if (Number.isSafeInteger(input.valueAsNumber)) change(input.valueAsNumber);
        this.events.changed();
      });
      return h("div", { class: "run-size" }, h("label", { for: input.id }, label), input);
    };
    replace(this.fields,
      h("p", { class: "quiet types" }, ...entry.params.map((type, k) => this.paramName(entry, k, type))),
      h("div", { class: "run-sizes" },
        ...Object.entries(sizes).map(([name, size]) => field(name, size, 0, (value) => (this.settings.sizes[name] = value))),
        field("seed", this.settings.seed, 0, (value) => (this.settings.seed = value))));
  }
}

/** Why there is no entry point to give inputs to. */
function none({ checked, status }: Model): string {
  if (checked) return "The program has no entry point yet: write `entry main …`.";
  if (status.phase === "empty") return "There is no program yet: write one in the source, or choose an example. Its inputs appear here.";
  if (status.phase === "failed") return "The inputs appear here when the program is right: see the error in the source.";
  return "The inputs appear here when the program has been checked.";
}

function isScalar(entry: Entry, name: string): boolean {
  return entry.names?.some((param, k) => param === name && isCount(entry.params[k] ?? "")) ?? false;
}
