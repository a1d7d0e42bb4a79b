// Compiles as one types: one request for each text, late answers dropped.
import * as client from "./client";
import { announce, debounce } from "./dom";
import { flat, type Model } from "./model";
import { isTrouble } from "./trouble";
import type { CheckAnswer, Problem } from "./types";

const QUIET = 180; // ms without typing before a check

/** Whether a text holds nothing but white space and comments. */
const isEmpty = (source: string): boolean => !source.replace(/--.*$/gm, "").trim();

export class Compiler {
  private wanted = 0;
  private done = 0;
  private current = 0;
  private checked = 0;
  private waiting: (() => void)[] = [];
  private busy = false;
  private stopping = new AbortController();
  private readonly soon: () => void;

  /** `holds`: whether the server has said that it takes nothing yet. */
  constructor(private readonly model: Model, private readonly holds: () => boolean) {
    this.soon = debounce(QUIET, () => void this.work());
  }

  /** The source or the options changed. */
  changed(now = false): void {
    this.wanted += 1;
    if (now) void this.work();
    else this.soon();
  }

  /** Whether the program as it is now has been compiled, or found wrong. */
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

  /** What is being compiled is wanted no more. */
  drop(): void {
    this.wanted += 1;
    this.done = this.wanted;
    this.told(this.wanted);
  }

  private async work(): Promise<void> {
    if (this.holds()) return this.hold();
    if (this.current !== this.wanted) this.stopping.abort(); // what was asked about an earlier text
    if (this.busy) return; // it ends, and the next one begins
    this.busy = true;
    try {
      while (this.done !== this.wanted) {
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
    const fresh = new Set<string>();
    model.setStatus({ phase: "checking" });
    const shown = await client.compile(text, {
      queued: (position) => current() && model.setStatus({ phase: "queued", position }),
      checked: (answer) => current() && this.check(answer),
      part: (stages) => {
        if (!current()) return;
        for (const id of Object.keys(stages)) fresh.add(id);
        model.setStages(stages);
      },
    }, this.stopping.signal);
    if (!current()) return;
    const stages = (shown as { stages?: Record<string, never> }).stages ?? {};
    for (const id of Object.keys(stages)) fresh.add(id);
    if (shown.ok) {
      model.remarks = shown.remarks ?? [];
      model.made = text;
    }
    model.setStages(stages);
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
    model.setProblems(ours ? [] : flat(error));
    model.setStatus({ phase: ours ? "stopped" : "failed" });
    model.setTrouble(ours ? error : null);
    if (!model.checked) model.emit("entries");
    announce(error.message);
  }
}
