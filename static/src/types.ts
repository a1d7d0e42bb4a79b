// The shapes of the server's answers, as the API documents them.

/** Line, column, end line, end column; counted from 1, the end is exclusive. */
export type Span = readonly [number, number, number, number];

export interface Line {
  text: string;
  src: Span[];
  node: number;
}

export interface Stage {
  text: string;
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

export interface Problem {
  kind: string;
  message: string;
  hint?: string;
  span?: Span | null;
  code?: string;
  errors?: Problem[];
  position?: number;
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
  output: string;
  ms: number;
  total_ms?: number;
  cut?: number;
  peak_bytes?: number;
  cores?: number;
  backend?: string;
  note?: string;
  [more: string]: unknown;
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
  block: string;
  prim: string;
  shape: string[];
  offset: string;
  dims: [string, string][];
  src: Span[];
}

export interface BlockInfo {
  name: string;
  count: string;
  prim: string;
  space: string;
}

export interface Cell {
  index: number[];
  cell: number;
  thread: number[] | null;
}

export interface MemoryAnswer {
  ok: true;
  arrays: ArrayInfo[];
  blocks: BlockInfo[];
  symbols: (string | { name: string; value?: number })[];
  cells?: Cell[];
  total?: number;
  values?: Record<string, number>;
}

export interface Look {
  stage: string;
  line: number;
  text: string;
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
  run: { request: RunRequest; answer: RunAnswer | Failure } | null;
  view: unknown;
}
