// The shapes of the server's answers, as the API documents them.

/** Line, column, end line, end column; counted from 1, the end is exclusive. */
export type Span = readonly [number, number, number, number];

export interface Line {
  text: string;
  src: Span[];
  node: number;
}

export interface Stage {
  /** Null where the lines come alone. */
  text: string | null;
  lines: Line[];
  counts: Record<string, number>;
  ms: number;
}

export interface StageInfo {
  id: string;
  title: string;
  explain: string;
  kind: string;
}

export interface Remark {
  kind: "applied" | "missed" | "note";
  rule: string;
  stage: string;
  src: Span[];
  because: string;
  hint: string;
  numbers: [string, string][];
}

/** An index, slice or update, and what became of its check. */
export interface Access {
  src: Span;
  /** What stands in brackets. */
  at: Span;
  kind: "index" | "slice" | "update";
  state: "dropped" | "hoisted" | "kept" | "unused";
  because: string;
  claims: { says: string; facts: string[] }[];
  missing: string[];
}

export interface Problem {
  kind: string;
  message: string;
  hint?: string;
  span?: Span | null;
  code?: string;
  errors?: Problem[];
  position?: number;
  /** Seconds after which a busy server takes such a request again. */
  retry?: number;
}

export interface Failure {
  ok: false;
  error: Problem;
}

export interface Entry {
  name: string;
  params: string[];
  results: string[];
  names?: string[];
}

export interface Checked {
  ok: true;
  entries: Entry[];
  warnings: Problem[];
}

export interface Shown {
  ok: true;
  partial?: boolean;
  stages: Record<string, Stage>;
  remarks?: Remark[];
}

export interface RunAnswer {
  ok: true;
  /** A line for each result. */
  output: string;
  /** The types of the results, with sizes. */
  results?: string[];
  ms: number;
  total_ms?: number;
  /** Characters that were cut off, in older links. */
  cut?: number;
  peak_bytes?: number;
  cores?: number;
  backend?: string;
  note?: string;
  [more: string]: unknown;
}

/** What runs programs on the server's machine. */
export interface Backend {
  id: string;
  /** Why it cannot run there; "" if it can. */
  missing: string;
}

export interface RunRequest {
  entry?: string;
  input?: string;
  sizes?: Record<string, number>;
  seed?: number;
  backend?: string;
  stage?: string;
}

export interface ArrayInfo {
  name: string;
  base: string;
  prim: string;
  shape: string[];
  block: string;
  /** `offset + {(size : stride), ..}` */
  lmad: string;
  /** What a picture needs values for. */
  symbols: string[];
  src: Span[];
}

export interface BlockInfo {
  name: string;
  prim: string;
  space: string;
  count: string | null;
  bytes: string | null;
  kind: string;
  src: Span[];
}

export interface KernelInfo {
  name: string;
  kind: string;
  level: string;
  space: { index: string; bound: string }[];
  src: Span[];
}

export interface MemoryFunction {
  name: string;
  blocks: BlockInfo[];
  arrays: ArrayInfo[];
  kernels: KernelInfo[];
}

export interface MemoryAnswer {
  ok: true;
  functions: MemoryFunction[];
}

export interface Cell {
  index: number[];
  cell: number;
}

export interface CellsAnswer {
  ok: true;
  block: string;
  lmad: string;
  shape: number[];
  cells: Cell[];
  first: number;
  last: number;
  complete: boolean;
}

export interface Access {
  array: string;
  block: string;
  writes: boolean;
  cell: string;
  points: { point: number[]; cells: number[] }[];
  complete: boolean;
  /** Whether all of these are touched in every run. */
  certain: boolean;
  /** Why there are no points, or why not all may be touched. */
  because: string;
}

export interface ThreadsAnswer {
  ok: true;
  accesses: Access[];
}

export interface LifePoint {
  label: string;
  depth: number;
  src: Span[];
}

export interface LifeBlock {
  name: string;
  prim: string;
  space: string;
  kind: string;
  /** The formula, and its value for the sizes that were asked for. */
  bytes: string;
  size?: number;
  at: number;
  until: number;
  per_point: boolean;
  src: Span[];
}

export interface LifeArray {
  name: string;
  base: string;
  prim: string;
  shape: string[];
  lmad: string;
  block: string;
  /** Where it lies; several if it is in one of them. */
  blocks: string[];
  first: number;
  last: number;
  src: Span[];
}

export interface LifeFunction {
  name: string;
  points: LifePoint[];
  blocks: LifeBlock[];
  arrays: LifeArray[];
  symbols: string[];
  live?: number[];
  peak?: { bytes: number; point: number };
}

/** Blocks of one body, and which of them are needed at once. */
export interface Interference {
  where: string;
  src: Span[];
  points: { label: string; src: Span[] }[];
  nodes: { name: string; base: string; bytes: string; prim: string; space: string; from: number; until: number; colour: number; src: Span[] }[];
  /** Both are needed at the point `at`, and until another. */
  edges: { a: number; b: number; at: number; until: number }[];
  colours: { members: number[]; bytes: string; saved: string }[];
}

/** An inequality as a sum of products of facts. */
export interface Need {
  claim: string;
  scale: number;
  sum: { coefficient: number; factors: string[] }[];
  text: string;
}

export interface Step {
  rule: string;
  says: string;
  offset: string;
  /** Stride, low, high. */
  dims: [string, string, string][];
  needs: Need[];
  parts: Step[];
}

/** Where a fact comes from, in a few words, and its places in the source. */
export interface Origin {
  why: string;
  src: Span[];
}

export interface Proved {
  verdict: "disjoint" | "overlap" | "unknown";
  checked: boolean;
  witness: { values: Record<string, number>; cell: number; a: number[]; b: number[] } | null;
  reason: string;
  missing: string | null;
  /** Inequalities that imply the missing one, without some of its names. */
  enough?: string[];
  facts: string[];
  /** Of each fact, for proofs about programs. */
  origins?: Origin[];
  steps: Step[];
  ms?: number;
}

export interface Assumptions {
  other: string[];
}

export interface Obligation extends Proved {
  write: string;
  use: string;
  why: string;
}

export interface MemoryPlace {
  block?: string;
  lmad?: string;
}

export interface Attempt {
  rule: string;
  source: string;
  destination: string;
  src: Span[];
  /** Where the source is made. */
  made?: Span[];
  done: boolean;
  condition: number;
  title: string;
  because: string;
  hint: string;
  /** What a run on small inputs has shown of a refusal. */
  witness?: { values: Record<string, number>; input: string } | null;
  /** What to insert into the source so that the attempt succeeds. */
  way_out?: { line: number; col: number; text: string; says: string } | null;
  place: MemoryPlace;
  creation: string;
  projected: MemoryPlace;
  moved: ({ array: string } & MemoryPlace)[];
  lifted: string[];
  obligations: Obligation[];
  copied: string;
  allocated: string;
}

export interface CellSet {
  offset: number;
  dims: [number, number][];
  points: Cell[];
  count: number;
  complete: boolean;
}

export interface CellSets {
  ok: true;
  symbols: string[];
  values: Record<string, number>;
  broken: string[];
  lmads: CellSet[];
  shared: number[];
}

/** A node of a tuning tree; which fields it has depends on its kind. */
export interface TreeNode {
  kind: "branch" | "kernel" | "loop" | "choice";
  spans: Span[];
  threshold?: string;
  amount?: string;
  default?: number;
  also?: string;
  condition?: string;
  times?: string;
  number?: number;
  operator?: string;
  level?: string;
  space?: [string, string][];
  results?: string[];
  loops?: number;
  then?: TreeNode[];
  orelse?: TreeNode[];
  body?: TreeNode[];
}

export interface Forest {
  function: string;
  trees: TreeNode[];
}

export interface Look {
  stage: string;
  /** The part of the program that it is about. */
  code: string;
  text: string;
  /** A tab of the details to open with it, or "". */
  tab: string;
  /** What the tab draws: an array by its author's name, or "". */
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
}

export type Options = Record<string, unknown>;

/** What the memory pane shows of one stage, for the values that a link was made with. */
export interface KeptLifetimes {
  stage: string;
  values: Record<string, number>;
  functions: LifeFunction[];
}

/** What a permalink holds. */
export interface Frozen {
  version: string;
  made?: string;
  source: string;
  options: Options;
  manifest: StageInfo[];
  stages: Record<string, Stage>;
  remarks: Remark[];
  error: Problem | null;
  entries: Entry[];
  /** What the proof and memory panes show; older links are without. */
  attempts?: Attempt[] | null;
  lifetimes?: KeptLifetimes[] | null;
  run: { request: RunRequest; answer: RunAnswer | Failure } | null;
  view: unknown;
}
