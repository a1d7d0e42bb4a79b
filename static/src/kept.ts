// What the page has beside answers: examples, and what permalinks hold. Links of earlier versions lack what
// their answers did not have, so that a shape that comes from either has its name here.
import type { Text } from "./text";
import type * as answers from "./types";
import type { Failure, LifeFunction, Options, Problem, Remark, Stage, StageInfo } from "./types";

/** A shape some of whose fields a link may lack. */
type Lacking<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

export type Entry = Lacking<answers.Entry, "names">;
export type Obligation = Lacking<answers.Obligation, "enough" | "origins">;
export type Attempt = Lacking<Omit<answers.Attempt, "obligations">, "made" | "witness" | "way_out"> & {
  obligations: Obligation[];
};
export type RunAnswer = Lacking<answers.RunAnswer, "results" | "total_ms" | "backend"> & {
  /** Characters that were cut off. */
  cut?: number;
};

/** The answer about two LMADs, of an attempt or others. */
export type Proved = Lacking<
  Pick<answers.ProveAnswer, keyof answers.ProveAnswer & keyof answers.Obligation>,
  "enough"
> & { origins?: answers.Origin[] };

/** A run as the page and links ask for it: the program goes without saying. */
export type Run = Omit<answers.RunRequest, keyof Text>;

/** A question besides the run, as links keep it; `answer` is null where it is not kept. */
export interface Asked<O extends keyof answers.Operations> {
  op: O;
  request: Omit<answers.Operations[O]["request"], keyof Text>;
  answer: answers.Operations[O]["answer"] | Failure | null;
}

export type Evaluated = Asked<"eval">;
export type Notebook = Asked<"literate">;
export type Profile = Asked<"profile">;
export type Bench = Asked<"bench">;
export type Costs = Asked<"accesses"> | Asked<"observe">;
export type Listed = Asked<"listing">;
export type Flow = Asked<"flow">;
export type Graphed = Asked<"fusion"> | Asked<"dataflow">;
export type Summed = Asked<"sums">;
export type Answered = Asked<"costs">;
export type AnyAsked = Evaluated | Notebook | Profile | Bench | Costs | Listed | Flow | Graphed | Summed | Answered;

export interface Look {
  stage: string;
  /** The part of the program that it is about. */
  code: string;
  text: string;
  /** A tab of the details to open with it, or "". */
  tab: string;
  /** The array that the tab draws, by its author's name, or "". */
  object: string;
}

export interface Example {
  name: string;
  title: string;
  point: string;
  group: string;
  order: number;
  looks: Look[];
  /** Values for the entry point, or "". */
  input: string;
  /** Types with sizes to make values of, or "". */
  random: string;
  source: string;
  /** The name of its file where that decides the language, else "". */
  main: string;
}

/** The memory pane's answer about one stage, for the values that a link was made with. */
export interface KeptLifetimes {
  stage: string;
  values: Record<string, number>;
  functions: LifeFunction[];
}

/** The contents of a permalink. */
export interface Frozen {
  version: string;
  made?: string;
  source: string;
  /** The program's other files, and the main one's path. */
  files?: Record<string, string>;
  main?: string;
  options: Options;
  manifest: StageInfo[];
  stages: Record<string, Stage>;
  remarks: Remark[];
  error: Problem | null;
  entries: Entry[];
  /** Answers of the proof and memory panes; missing in a link to a program that fails. */
  attempts?: Attempt[] | null;
  lifetimes?: KeptLifetimes[] | null;
  run: { request: Run; answer: RunAnswer | Failure } | null;
  /** Further questions with their answers, if any. */
  asked?: AnyAsked[];
  view: unknown;
}
