// Compiles as one types: check first, then all stages; one request in flight, late answers dropped.
import * as client from "./client";
import { announce, debounce } from "./dom";
import { flat, type Model } from "./model";
import type { Problem } from "./types";

const QUIET = 180; // ms without typing before a check
const AGAIN = [3, 60] as const; // seconds before a busy server is asked again: at first, at most

export class Compiler {
  private wanted = 0;
  private done = 0;
  private busy = false;
  private patience: number = AGAIN[0];
  private readonly soon: () => void;

  constructor(private readonly model: Model) {
    this.soon = debounce(QUIET, () => void this.work());
  }

  /** The source or the options changed. */
  changed(now = false): void {
    this.wanted += 1;
    if (now) void this.work();
    else this.soon();
  }

  private async work(): Promise<void> {
    if (this.busy) return; // the one in flight starts the next when it ends
    this.busy = true;
    try {
      while (this.done !== this.wanted) {
        const version = this.wanted;
        await this.once(() => this.wanted === version);
        this.done = version;
      }
    } finally {
      this.busy = false;
    }
  }

  private async once(current: () => boolean): Promise<void> {
    const { model } = this;
    const { source, options } = model;
    const began = performance.now();
    model.setStatus({ phase: "checking" });
    const checked = await client.check(source, options);
    if (!current()) return;
    if (!checked.ok) {
      model.warnings = [];
      this.fail(checked.error);
      if (checked.error.kind !== "type" && checked.error.kind !== "limitation") return;
    } else {
      model.entries = checked.entries;
      model.warnings = checked.warnings;
      model.emit("entries");
      model.setProblems([]);
      model.setStatus({ phase: "compiling" });
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
    if (shown.ok) model.remarks = shown.remarks ?? [];
    model.setStages(stages);
    if (!shown.ok) {
      this.fail(shown.error, fresh);
      return;
    }
    this.patience = AGAIN[0];
    model.setStatus({ phase: "idle", ms: performance.now() - began });
    announce(`Compiled, ${model.present().length} stages.`);
  }

  private fail(error: Problem, fresh: ReadonlySet<string> = new Set()): void {
    this.model.markStale(fresh);
    this.model.setProblems(flat(error));
    this.model.setStatus({ phase: "failed" });
    announce(error.message);
    if (error.kind === "busy") this.tryAgain(error.retry ?? 0);
  }

  /** Asks a busy server again when it said so, or ever more rarely, unless the program changes. */
  private tryAgain(seconds: number): void {
    const version = this.wanted;
    const wait = Math.max(seconds, this.patience);
    this.patience = Math.min(2 * this.patience, AGAIN[1]);
    setTimeout(() => this.wanted === version && this.changed(true), 1000 * wait);
  }
}
