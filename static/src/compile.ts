// Compiles as one types: one request for each text, late answers dropped.
import * as client from "./client";
import { announce } from "./dom";
import { ofCompilation, type Model } from "./model";
import { isTrouble } from "./trouble";
import type { CheckAnswer, Problem } from "./types";

// Milliseconds without typing before a request: a quarter of what the last one took, since what takes
// long is in vain where typing goes on. A word is asked about at each key; beyond so many ahead, requests
// are this far apart, so that 297 a minute are the most.
const [LEAST_QUIET, MOST_QUIET] = [50, 180];
const APART = 210;
const AHEAD = 12;
/** Milliseconds after which one is told that what is shown is still of an earlier text. */
const LONG = 1000;

/** True if a text holds nothing but white space and comments. */
const isEmpty = (source: string): boolean => !source.replace(/--.*$/gm, "").trim();

export class Compiler {
  private wanted = 0;
  private due = 0; // what was wanted when it was time to ask
  private done = 0;
  private current = 0;
  private checked = 0;
  private waiting: (() => void)[] = [];
  private busy = false;
  private stopping = new AbortController();
  private timer = 0;
  private asked = 0;
  /** Requests that may be made at once. */
  private spare = AHEAD;
  private took = 0;

  /** `holds`: whether the server has said that it takes nothing yet. */
  constructor(
    private readonly model: Model,
    private readonly holds: () => boolean,
  ) {}

  /** The source or the options changed. */
  changed(now = false): void {
    this.wanted += 1;
    window.clearTimeout(this.timer);
    if (now) return void this.work();
    const quiet = Math.min(MOST_QUIET, Math.max(LEAST_QUIET, this.took / 4));
    this.timer = window.setTimeout(
      () => void this.work(),
      Math.max(quiet, (1 - this.spareAt(performance.now())) * APART),
    );
  }

  private spareAt(now: number): number {
    return Math.min(AHEAD, this.spare + (now - this.asked) / APART);
  }

  /** True if the program as it is now has been compiled, or found wrong. */
  get settled(): boolean {
    return this.done === this.wanted && !this.holds();
  }

  /** When it is known what the program as it is now takes, or that it is wrong. */
  known(): Promise<void> {
    if (this.checked === this.wanted || this.holds()) return Promise.resolve();
    void this.work();
    return new Promise((resume) => this.waiting.push(resume));
  }

  private told(version: number): void {
    this.checked = version;
    for (const resume of this.waiting.splice(0)) resume();
  }

  /** Cancel the compilation in progress. */
  drop(): void {
    this.wanted += 1;
    this.done = this.wanted;
    this.told(this.wanted);
  }

  private async work(): Promise<void> {
    if (this.holds()) return this.hold();
    this.due = this.wanted;
    if (this.current !== this.wanted) this.stopping.abort(); // what was asked about an earlier text
    if (this.busy) return; // it ends, and the next one begins
    this.busy = true;
    try {
      while (this.done < this.due) {
        const version = this.wanted;
        this.current = version;
        this.stopping = new AbortController();
        await this.once(() => this.wanted === version);
        this.done = Math.max(this.done, version);
        if (this.wanted === version) this.told(version);
      }
    } finally {
      this.busy = false;
    }
  }

  /** The server takes nothing now: it is asked again later. */
  private hold(): void {
    if (this.model.status.phase === "stopped") return;
    this.model.markStale();
    this.model.setStatus({ phase: "stopped" });
  }

  private async once(current: () => boolean): Promise<void> {
    const { model } = this;
    const text = model.now;
    if (isEmpty(text.source)) return model.clear();
    const began = performance.now();
    this.spare = this.spareAt(began) - 1;
    this.asked = began;
    const fresh = new Set<string>();
    model.setStatus({ phase: "checking" });
    const clock = window.setTimeout(() => model.setStatus({ long: true }), LONG);
    const shown = await client.compile(
      text,
      model.wanted,
      {
        queued: (position) => current() && model.setStatus({ phase: "queued", position }),
        checked: (answer) => current() && this.check(answer),
        part: (stages) => {
          if (!current()) return;
          for (const id of Object.keys(stages)) fresh.add(id);
          model.setStages(stages, text);
        },
        places: (answer) => current() && model.setPlaces(answer.ok ? answer.places : []),
      },
      this.stopping.signal,
    );
    window.clearTimeout(clock);
    if (model.status.long) model.setStatus({ long: false });
    const took = performance.now() - began;
    this.took = current() ? took : Math.max(this.took, took);
    if (!current()) return;
    const stages = (shown as { stages?: Record<string, never> }).stages ?? {};
    for (const id of Object.keys(stages)) fresh.add(id);
    if (shown.ok) {
      model.remarks = shown.remarks ?? [];
      model.made = text;
    }
    model.setStages(stages, text);
    if (!shown.ok) {
      this.fail(shown.error, fresh);
      return;
    }
    model.setTrouble(null);
    model.setStatus({ phase: "idle", ms: performance.now() - began });
    announce(`Compiled, ${model.present().length} stages.`);
  }

  private check(checked: client.Answer<CheckAnswer>): void {
    const { model } = this;
    model.warnings = checked.ok ? checked.warnings : [];
    if (!checked.ok) return this.fail(checked.error);
    model.setEntries(checked.entries);
    model.setProblems([]);
    model.setStatus({ phase: "compiling" });
    this.told(this.wanted);
  }

  private fail(error: Problem, fresh: ReadonlySet<string> = new Set()): void {
    const { model } = this;
    const ours = isTrouble(error);
    model.markStale(fresh);
    model.setProblems(ours ? [] : ofCompilation(error));
    model.setStatus({ phase: ours ? "stopped" : "failed" });
    model.setTrouble(ours ? error : null);
    if (!model.checked) model.emit("entries");
    announce(error.message);
  }
}
