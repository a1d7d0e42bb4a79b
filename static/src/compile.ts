// Compiles as one types: check first, then all stages; one request in flight, late answers dropped.
import * as client from "./client";
import { announce, debounce } from "./dom";
import { flat, type Model } from "./model";
import { isTrouble } from "./trouble";
import type { Problem } from "./types";

const QUIET = 180; // ms without typing before a check

/** Whether a text holds nothing but white space and comments. */
const isEmpty = (source: string): boolean => !source.replace(/--.*$/gm, "").trim();

export class Compiler {
  private wanted = 0;
  private done = 0;
  private checked = 0;
  private waiting: (() => void)[] = [];
  private busy = false;
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
    if (this.holds()) return; // it is asked again later
    if (this.busy) return; // the one in flight starts the next when it ends
    this.busy = true;
    try {
      while (this.done !== this.wanted) {
        const version = this.wanted;
        await this.once(() => this.wanted === version);
        this.done = Math.max(this.done, version);
        if (this.wanted === version) this.told(version);
      }
    } finally {
      this.busy = false;
    }
  }

  private async once(current: () => boolean): Promise<void> {
    const { model } = this;
    const { source, options } = model;
    if (isEmpty(source)) return model.clear();
    const began = performance.now();
    model.setStatus({ phase: "checking" });
    const checked = await client.check(source, options);
    if (!current()) return;
    if (!checked.ok) {
      model.warnings = [];
      this.fail(checked.error);
      if (checked.error.kind !== "type" && checked.error.kind !== "limitation") return;
    } else {
      model.warnings = checked.warnings;
      model.setEntries(checked.entries);
      model.setProblems([]);
      model.setStatus({ phase: "compiling" });
      this.told(this.wanted);
    }
    const fresh = new Set<string>();
    const shown = await client.show(source, options, {
      queued: (position) => current() && model.setStatus({ phase: "queued", position }),
      part: (stages) => {
        if (!current()) return;
        for (const id of Object.keys(stages)) fresh.add(id);
        model.setStages(stages);
      },
    });
    if (!current()) return;
    const stages = (shown as { stages?: Record<string, never> }).stages ?? {};
    for (const id of Object.keys(stages)) fresh.add(id);
    if (shown.ok) {
      model.remarks = shown.remarks ?? [];
      model.made = { source, options };
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
