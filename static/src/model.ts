// What the page knows about the program: one object that panes read and listen to.
import { Files, MAIN } from "./files";
import type { Entry, Flow, Frozen, Run } from "./kept";
import { Sizes } from "./sizes";
import { fileOf } from "./spans";
import { sameText, type Text } from "./text";
import type { Options, Problem, Remark, Span, Stage, StageInfo, Traced } from "./types";

export { sameText, type Text };

export type Topic =
  | "pinned"
  | "source"
  | "program"
  | "files"
  | "stages"
  | "problems"
  | "entries"
  | "entry"
  | "status"
  | "frozen"
  | "trouble";

/** Stands for the pinned compilation's text of the same stage. */
export const PINNED = "@A";

/** Stands for the stage before, if that is of the same kind: what is new since then is marked. */
export const BEFORE = "@before";

/** A stage; its `lines` are null until they are wanted. */
export interface StageState extends Stage {
  of: Text;
  /** It belongs to an earlier text: the current one did not get this far. */
  stale: boolean;
}

/** `failed`: the program is wrong; `stopped`: something else is; `empty`: there is no program. */
export interface Status {
  phase: "idle" | "checking" | "compiling" | "queued" | "failed" | "stopped" | "empty";
  ms: number;
  position: number;
  /** True if the work in progress takes so long that it needs an explanation. */
  long: boolean;
}

/** Why there is nothing of a program, by its phase. */
export const UNREACHED: Partial<Record<Status["phase"], string>> = {
  empty: "There is no program yet.",
  failed: "The program does not reach this stage: see the error in the source.",
};

/** A compilation that later ones are compared with. */
export interface Pinned {
  /** Its description. */
  label: string;
  text: Text;
  stages: Record<string, StageState>;
  remarks: Remark[];
  /** Why it does not compile, or its warnings. */
  problems: Problem[];
  /** The link that it is, if it is one. */
  link?: string;
  /** True if its text has changed since it was compiled. */
  pending?: boolean;
  /** True if another program was opened since: then nothing is compared with it unasked. */
  apart?: boolean;
}

export interface Kept extends Pick<Frozen, "attempts" | "lifetimes"> {
  id: string;
  version: string;
  made: string;
  /** The value flows of its stages. */
  flows: Flow[];
}

type Listener = () => void;

export class Model {
  readonly files = new Files();
  /** The sizes that panes are for, as far as they were chosen. */
  readonly sizes = new Sizes();
  options: Options = {};
  /** The pipeline. */
  manifest: StageInfo[] = [];
  /** Listings that other compilers make of stages. */
  listings: StageInfo[] = [];
  /** Why there is no listing, or no text of a stage, by its id. */
  refused = new Map<string, Problem>();
  stages = new Map<string, StageState>();
  remarks: Remark[] = [];
  problems: Problem[] = [];
  warnings: Problem[] = [];
  /** Why the last run failed, until the program changes. */
  runProblems: Problem[] = [];
  /** Values traced by the last run. */
  traced: Traced[] = [];
  entries: Entry[] = [];
  /** The name of the entry point that is chosen to run. */
  entry = "";
  /** The text of the last complete set of stages and remarks; another object for each. */
  made: Text | null = null;
  /** True if some text has been checked, so that its entry points are known. */
  checked = false;
  /** A failure that says nothing about the program. */
  trouble: Problem | null = null;
  status: Status = { phase: "idle", ms: 0, position: 0, long: false };
  /** The permalink that is shown unchanged: its id, version and day, and what the panes show. */
  frozen: Kept | null = null;
  pinned: Pinned | null = null;
  /** The entry point and its inputs as they are set up. */
  inputs: () => Promise<Omit<Run, "backend" | "runs" | "stage">> = () => Promise.resolve({});
  /** Grows with every set of stages, for caches. */
  generation = 0;
  /** Every place that lines of stages come from; null: the stages tell, of which a link has all lines. */
  places: readonly Span[] | null = null;
  /** The ids of what panes show. */
  shown: () => readonly string[] = () => [];

  private listeners = new Map<Topic, Set<Listener>>();

  on(topic: Topic, listener: Listener): () => void {
    const set = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, set.add(listener));
    return () => set.delete(listener);
  }

  emit(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** The main file's text. */
  get source(): string {
    return this.files.source;
  }

  /** The text of the file that a place is in. */
  textAt(span: Span): string {
    return this.files.text(this.files.nameOf(fileOf(span)));
  }

  get now(): Text {
    const {
      source,
      options,
      files: { others, main },
    } = this;
    const alone = main === MAIN && !Object.keys(others).length;
    return { source, options, ...(alone ? {} : { files: others, main }) };
  }

  info(id: string): StageInfo | undefined {
    return this.shownAs.find((stage) => stage.id === id);
  }

  /** All that a pane can show. */
  get shownAs(): StageInfo[] {
    return [...this.manifest, ...this.listings];
  }

  /** The id of what a stage is compared with, where that is said by what stands for it. */
  against(stage: string, compare: string): string {
    if (compare !== BEFORE) return compare;
    const at = this.manifest.findIndex(({ id }) => id === stage);
    const [before, own] = [this.manifest[at - 1], this.manifest[at]];
    return before && before.kind === own?.kind ? before.id : "";
  }

  setManifest(all: readonly StageInfo[]): void {
    this.manifest = all.filter(({ of }) => of === undefined);
    this.listings = all.filter(({ of }) => of !== undefined);
  }

  /** The stages whose texts are seen, and so are wanted of each compilation. */
  get wanted(): string[] {
    const shown = new Set(this.shown());
    return this.manifest.map(({ id }) => id).filter((id) => shown.has(id));
  }

  get isCompiling(): boolean {
    return ["checking", "compiling", "queued"].includes(this.status.phase);
  }

  /** A listing or a text was made, is being made, or there is none. */
  setRefused(id: string, why: Problem | null): void {
    if (why) this.refused.set(id, why);
    else this.refused.delete(id);
    this.emit("status");
  }

  setStages(stages: Record<string, Stage>, of = this.now): void {
    const stale = !sameText(of, this.now); // a listing may come late
    for (const [id, state] of Object.entries(statesOf(stages, of))) this.stages.set(id, { ...state, stale });
    this.generation += 1;
    this.emit("stages");
  }

  /** Keep the last good texts, marked as out of date. */
  markStale(except: ReadonlySet<string> = new Set()): void {
    for (const [id, stage] of this.stages) stage.stale = !except.has(id);
    this.emit("stages");
  }

  setPlaces(places: readonly Span[] | null): void {
    this.places = places;
    this.emit("stages");
  }

  setProblems(problems: Problem[]): void {
    this.problems = problems;
    this.emit("problems");
  }

  setEntries(entries: Entry[]): void {
    this.entries = entries;
    this.checked = true;
    this.emit("entries");
  }

  /** Set the problems of the last run, and its traced values. */
  setRunProblems(problems: Problem[], traced: Traced[] = []): void {
    this.runProblems = problems;
    this.traced = traced;
    this.emit("problems");
  }

  setEntry(name: string): void {
    if (name === this.entry) return;
    this.entry = name;
    this.emit("entry");
  }

  /** Once it is over, panes ask what they were not answered. */
  setTrouble(trouble: Problem | null): void {
    const over = this.trouble !== null && trouble === null;
    this.trouble = trouble;
    this.emit("trouble");
    if (!over || !this.made) return;
    this.made = { ...this.made };
    this.emit("stages");
  }

  /** Panes ask what they were not answered. */
  askAgain(): void {
    if (this.made) this.made = { ...this.made };
    this.setTrouble(null);
    this.emit("stages");
  }

  /** There is no program. */
  clear(): void {
    this.stages.clear();
    this.places = [];
    this.remarks = [];
    this.made = null;
    this.warnings = [];
    this.entries = [];
    this.checked = false;
    this.generation += 1;
    this.setProblems([]);
    this.setTrouble(null);
    this.setStatus({ phase: "empty" });
    this.emit("stages");
    this.emit("entries");
  }

  setStatus(status: Partial<Status>): void {
    this.status = { ...this.status, ...status };
    this.emit("status");
  }

  /** The stages that the current text has, in order. */
  present(): StageInfo[] {
    return this.manifest.filter((stage) => this.stages.has(stage.id));
  }
}

/** Stages as answers have them, with what they were made of. */
export function statesOf(stages: Record<string, Stage>, of: Text): Record<string, StageState> {
  return Object.fromEntries(Object.entries(stages).map(([id, stage]) => [id, { ...stage, of, stale: false }]));
}

/** An error with those found beside it, as a flat list. */
export function flat(problem: Problem): Problem[] {
  const { errors, ...first } = problem;
  return errors?.length ? errors : [first];
}

/** The errors of a compilation. Nothing ran: what the protocol calls `runtime` is wrong with the program as a whole,
 * its entry points or its files. */
export const ofCompilation = (problem: Problem): Problem[] =>
  flat(problem).map((one) => (one.kind === "runtime" ? { ...one, kind: "usage" } : one));
