// The shapes of requests and answers. Made by `python -m compiler.protocol` from compiler/protocol:
// change them there.

/** The answer of an operation that fails. */
export interface Failure {
  ok: false;
  error: Problem;
}

/** An error or a warning. */
export interface Problem {
  kind: string;
  message: string;
  /** a way out, or empty */
  hint: string;
  /** null where it has no place in the user's texts */
  span: Span | null;
  /** the code that `explain` describes; left out where the program is right */
  code?: string;
  /** the places that disagree with `span` */
  related?: RelatedPlace[];
  /** for a failed run: the calls that led to `span`, innermost first */
  calls?: Span[];
  /** for a failed run: the values traced before */
  traces?: Traces;
  /** the whole error as text, with the line */
  rendered?: string;
  /** all errors that were found, this one first */
  errors?: Problem[];
  /** the number of requests before it in the queue of a busy server */
  position?: number;
  /** seconds after which a busy server takes such a request again */
  retry?: number;
}

/**
 * Line, column, end line, end column; counted from 1, the end is exclusive. A fifth element is the
 * path of the file that it is in, one of `files`; without it that is `source`.
 */
export type Span = readonly [number, number, number, number, string?];

/** Another place that an error concerns. */
export interface RelatedPlace {
  span: Span | null;
  /** the description of that place */
  message: string;
}

/** The traced values of a run, in the order in which their places are first reached. */
export interface Traces {
  places: Traced[];
  /** why values may be missing, or empty */
  note: string;
}

/** The values given to `trace` or `break` at a place of the program. */
export interface Traced {
  /** `trace` or `break` */
  function: string;
  src: Span[];
  /** the first ones, in order of sequential execution, each cut where it is long */
  values: string[];
  /** the number of all values */
  count: number;
}

/** List the stages in order, and the passes and rules that can be switched off. */
export type ManifestRequest = Record<string, never>;

/** The pipeline. */
export interface ManifestAnswer {
  ok: true;
  /** in order */
  stages: StageInfo[];
  /** the listings that the operation `listing` makes */
  listings: StageInfo[];
  /** the values of the option `disable`, and for rules that are `asked` of the option `enable` */
  switches: Pass[];
}

/** A stage of the pipeline. */
export interface StageInfo {
  id: string;
  title: string;
  explain: string;
  /** `syntax`, `typed`, `ir`, `imp`, `kernels`, `text` or `listing` */
  kind: string;
  /** true if it says where arrays lie */
  memory: boolean;
  /** the hardware that runs a text */
  machine?: string;
  /** the stage that a listing is made from */
  of?: string;
}

/** A pass that can be switched off. */
export interface Pass {
  id: string;
  does: string;
  rules: Switch[];
}

/** A rule that can be switched off, or on. */
export interface Switch {
  id: string;
  does: string;
  /** the rewrite as an equation, with code in backquotes, or empty */
  equation: string;
  /** true for an opt-in rule: it applies only if the option `enable` names it */
  asked: boolean;
}

/** List the back ends, with the reason why one cannot run on this machine. */
export type BackendsRequest = Record<string, never>;

/** The back ends of this machine. */
export interface BackendsAnswer {
  ok: true;
  backends: Backend[];
}

/** A back end that runs programs. */
export interface Backend {
  id: string;
  title: string;
  /** why it cannot run on this machine, or empty */
  missing: string;
}

/** Parse and type check a program: entry points, warnings, errors. */
export interface CheckRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** Options of a compilation. */
export interface Options {
  /** compile only this entry point */
  entry?: string;
  /** the target of the stages from `flat` to `imp`: the id of a stage of kind `text` */
  target?: string;
  /**
   * passes and rules that are switched off, such as `fuse` or `fuse/map-map`; `manifest` lists them
   */
  disable?: string[];
  /** opt-in rules to enable, such as `c/fast-functions`; `manifest` lists them as `asked` */
  enable?: string[];
  /** stop after that many rewrites */
  fuel?: number;
  /** values of tuning parameters by name; `tuning` lists them */
  thresholds?: Record<string, number>;
  /**
   * limits of rules by id, below the defaults, so that a small program shows the decisions of large
   * ones; `rule` lists those of its program
   */
  limits?: Record<string, number>;
  /**
   * texts that replace the output of a stage's passes, by its id: later stages are made from these;
   * on a server only the reference interpreter runs the result
   */
  edited?: Record<string, string>;
  /** check the program after every pass */
  verify?: boolean;
  /** honour `#[unsafe]` and `#[scratch]`; a server refuses it */
  unsafe?: boolean;
  /**
   * run C, without a sandbox, under the address and undefined-behaviour sanitisers; their reports
   * are errors of kind `internal`; a server refuses it
   */
  sanitize?: boolean;
}

/** The program is right. */
export interface CheckAnswer {
  ok: true;
  entries: Entry[];
  warnings: Problem[];
}

/** An entry point as its author wrote it. */
export interface Entry {
  name: string;
  /** of its parameters */
  names: string[];
  /** their types */
  params: string[];
  results: string[];
}

/** Translate a FlatPack program (`main` ends in `.fp`) to Futhark. */
export interface TranslateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The program in Futhark; a Futhark program is its own translation. */
export interface TranslateAnswer {
  ok: true;
  text: string;
  /** for each line its place in the program */
  src: Span[];
}

/** Compile a program: stages as text lines, counts, remarks. */
export interface ShowRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** their ids; all if left out */
  stages?: string[];
  /**
   * the stages whose texts are wanted; all if left out. A long text can be fetched later by `text`
   */
  texts?: string[];
}

/** A compiled program. */
export interface ShowAnswer {
  ok: true;
  /** by their ids */
  stages: Record<string, Stage>;
  remarks: Remark[];
}

/** A stage of a program. */
export interface Stage {
  /** null in streamed stages, whose lines come alone, and where the text is not wanted */
  text: string | null;
  /** null where the text is not wanted */
  lines: Line[] | null;
  /** nodes of each kind; for syntax trees definitions, for texts lines */
  counts: Record<string, number>;
  /** true if its passes have not changed the program */
  same: boolean;
  /** the time of making it */
  ms: number;
  /** the time of printing it */
  show_ms: number;
}

/** A line of a stage's text. */
export interface Line {
  text: string;
  src: Span[];
  /** the number of its statement */
  node: number;
}

/** A decision of the compiler. */
export interface Remark {
  kind: "applied" | "missed" | "note";
  rule: string;
  stage: string;
  src: Span[];
  because: string;
  hint: string;
  /** the number of the attempt to build in place that it reports */
  attempt: number | null;
  /** the kind of refusal, by its id in the list of refusals, or empty */
  refusal: string;
  /** for a fusion: the consumer's places, then those of each producer; `src` has both */
  fused: Span[][];
  /** names with values and units */
  numbers: [string, string][];
}

/** Stages that are ready. */
export interface ShowPart {
  ok: true;
  partial: true;
  stages: Record<string, Stage>;
}

/** Return the text of one stage, after `show` without it. */
export interface TextRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its id */
  stage: string;
}

/** A stage with its text. */
export interface TextAnswer {
  ok: true;
  stage: Stage;
}

/** List the expressions that lines of stages come from (typed and core language). */
export interface PlacesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** Places in the program. */
export interface PlacesAnswer {
  ok: true;
  /** each once */
  places: Span[];
}

/** Describe the rules that the remarks name, with counts of applied and missed. */
export interface RulesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The rules that a program's remarks name. */
export interface RulesAnswer {
  ok: true;
  /** in the order of the stages */
  rules: RuleUse[];
}

/** The effects of a rule in a program. */
export interface RuleUse {
  id: string;
  does: string;
  /** the rewrite as an equation, with code in backquotes, or empty */
  equation: string;
  /** true if the option `disable` takes it */
  optional: boolean;
  /** number of remarks that it was applied */
  applied: number;
  /** number of remarks that it was not applied, and why */
  missed: number;
  notes: number;
}

/** Show a rule or a pass at work on a tiny program, compiled with it and without it. */
export interface RuleRequest {
  /** the id of a rule, or of a pass, whose rules are listed; empty: all passes with theirs */
  rule?: string;
}

/** Passes with their rules. */
export interface RuleAnswer {
  ok: true;
  passes: PassDescription[];
  /** for one rule, or a pass without rules */
  shown?: Shown;
}

/** A pass, also one that cannot be switched off. */
export interface PassDescription {
  id: string;
  does: string;
  /** true if the option `disable` takes it */
  optional: boolean;
  rules: RuleDescription[];
}

/** A rule, also one that cannot be switched off. */
export interface RuleDescription {
  id: string;
  does: string;
  /** the rewrite as an equation, with code in backquotes, or empty */
  equation: string;
  /** true for an opt-in rule: it applies only if the option `enable` names it */
  asked: boolean;
  /** true if the option `disable` takes it */
  optional: boolean;
}

/** A rule or pass at work on a tiny program. */
export interface Shown {
  source: string;
  /** its path, or empty */
  main: string;
  input: string;
  target: string;
  /** other switches, off before and after */
  disable: string[];
  /** the limits that are lower than usual */
  limits: LimitShown[];
  /**
   * the same stage with the rule switched off; where it cannot be, with the usual limits, or the
   * stage before
   */
  before: Version;
  after: Version;
  /** those of the rule */
  remarks: Remark[];
}

/** A limit of a rule that is lower for its tiny program. */
export interface LimitShown {
  id: string;
  /** the unit of the limit */
  counts: string;
  usual: number;
  here: number;
}

/** A stage of a program. */
export interface Version {
  /** its id; empty for the source */
  stage: string;
  text: string;
  /** the numbers, from 1, of the lines that the other version lacks */
  changed: number[];
  /**
   * its output, or empty: stages before the core language are run as that, and texts of back ends
   * are not run
   */
  output: string;
}

/** Answer several requests about one program that run nothing, each with its `op` and fields. */
export interface BatchRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  requests: Record<string, unknown>[];
}

/** All answers, or their end. */
export interface BatchAnswer {
  ok: true;
  /** in the order of the requests; left out where each came by itself */
  answers?: unknown[];
}

/** An answer to one of the requests. */
export interface BatchPart {
  ok: true;
  partial: true;
  /** its number, from 0 */
  request: number;
  answer: unknown;
}

/** Describe the code at a place: its type, documentation, declaration and uses. */
export interface InspectRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
}

/** A name with its declaration, or an expression with its type. */
export interface InspectAnswer {
  ok: true;
  /** the type or the declaration, in the language; empty if nothing is known */
  says: string;
  doc: string;
  span: Span | null;
  /** where the name is declared; null for anything but a name, and for the library's */
  declared: Span | null;
  /** of the name in all files, its declaration included */
  uses: Span[];
}

/** Complete at a place, also in an unfinished text. */
export interface CompleteRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
}

/** Completions at a place. */
export interface CompleteAnswer {
  ok: true;
  /** the column where the word to replace begins */
  column: number;
  items: CompletionItem[];
}

/** A completion item. */
export interface CompletionItem {
  name: string;
  /**
   * `function`, `constant`, `variable`, `size`, `type`, `type parameter`, `module`, `module type`,
   * `field`, `constructor` or `keyword`
   */
  kind: string;
  /** its type, or empty */
  says: string;
  doc: string;
}

/** Rename a declaration; refused if the program's meaning would change. */
export interface RenameRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
  name: string;
}

/** The edits of a renaming. */
export interface RenameAnswer {
  ok: true;
  edits: TextEdit[];
}

/** A text that replaces another. */
export interface TextEdit {
  span: Span;
  text: string;
}

/** Find changes suggested by an error's hint that reduce the number of errors. */
export interface FixesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
  end_line: number;
  end_column: number;
  hint: string;
}

/** The fixes to choose from. */
export interface FixesAnswer {
  ok: true;
  fixes: Fix[];
}

/** A change that mends an error without causing others. */
export interface Fix {
  /** its effect, with code in backquotes */
  title: string;
  edits: TextEdit[];
}

/** List the declarations and the folds of a file. */
export interface OutlineRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
}

/** Symbols and folds of a file. */
export interface OutlineAnswer {
  ok: true;
  /** in order, members behind their module */
  symbols: OutlineSymbol[];
  /** the first and last lines of each fold */
  folds: number[][];
}

/** A declaration. */
export interface OutlineSymbol {
  name: string;
  kind: string;
  /** of its name */
  span: Span;
  /** the number of modules around it */
  depth: number;
}

/** Format a text; fails on errors of syntax. */
export interface FormatRequest {
  /** the text of a file */
  source: string;
  /** its path, whose suffix gives the language */
  main?: string;
  /** the longest line, where it can be broken so */
  width?: number;
}

/** The formatted text. */
export interface FormatAnswer {
  ok: true;
  text: string;
}

/** Find the lines of each stage that come from an expression of the program. */
export interface OccurrencesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
  end_line: number;
  end_column: number;
}

/** The lines of all stages that come from an expression. */
export interface OccurrencesAnswer {
  ok: true;
  /** by stage id, for the stages that compile */
  stages: Record<string, Occurrence>;
}

/** The lines of a stage that come from an expression. */
export interface Occurrence {
  /** how many come from it, or from a part of it */
  lines: number;
  /**
   * the first of them that has a word; if there are none, of those that it is a part of, or else
   * that hold it; or empty
   */
  text: string;
}

/** Run an entry point on one back end. */
export interface RunRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /**
   * a value in the binary format for each byte 2 in `input`: a worker takes paths, a server the ids
   * that `POST /api/uploads` gave
   */
  uploads?: string[];
  /** names of sizes and numbers: if `input` is left out, inputs are random with these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
  backend?: string;
  /** the stage that the reference interpreter `ref` runs; empty: `soa` */
  stage?: string;
  /** number of runs by the back end, in one process */
  runs?: number;
}

/** The result of a run. */
export interface RunAnswer {
  ok: true;
  /** a line for each result */
  output: string;
  /** their types, with sizes */
  results: string[];
  /** the time inside the program, the best of up to three short runs */
  ms: number;
  /** of all runs in order, in milliseconds; not for the reference interpreter */
  times?: number[];
  /** the time of compiling, here and in the back end's compiler; about 0 if it was done before */
  compile_ms?: number;
  total_ms: number;
  /** the one that ran it */
  backend: string;
  /** of a run by the reference interpreter */
  stage?: string;
  /** why another back end than the requested one ran it; a warning for an edited stage */
  note?: string;
  /** for a program with `trace` or `break`: their values, by the reference interpreter */
  traces?: Traces;
  peak_bytes?: number;
  cores?: number;
  /** of arrays between kernels, not inside kernels; only C counts them */
  copies?: Copies[];
  /**
   * the results in Futhark's binary format and base64; null for those that are too large, or
   * neither arrays nor scalars
   */
  data?: (string | null)[];
  /**
   * the key of the results, which a server keeps for a while: `GET
   * /api/results/<kept>/<number>?part=0:10,::2`
   */
  kept?: string;
}

/** Copies of one kind. */
export interface Copies {
  /**
   * `block`: all cells are contiguous, in the same order; `transposition`: neighbours in one array
   * are neighbours along another dimension of the other; by the sizes and strides of the run
   */
  kind: "block" | "transposition" | "general";
  count: number;
  bytes: number;
}

/**
 * Evaluate an expression over the definitions of a program, in the program's language. Its places
 * are in the file `<expression>`.
 */
export interface EvalRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  expression: string;
  backend?: string;
  /** return its type only */
  typed?: boolean;
}

/** The value and type of an expression. No value for a function, or if only the type is wanted. */
export interface EvalAnswer {
  ok: true;
  /** a line for each result */
  output: string;
  /** their types, with sizes */
  results: string[];
  /** the time inside the program, the best of up to three short runs */
  ms: number;
  /** of all runs in order, in milliseconds; not for the reference interpreter */
  times?: number[];
  /** the time of compiling, here and in the back end's compiler; about 0 if it was done before */
  compile_ms?: number;
  total_ms: number;
  /** the one that ran it */
  backend: string;
  /** of a run by the reference interpreter */
  stage?: string;
  /** why another back end than the requested one ran it; a warning for an edited stage */
  note?: string;
  /** for a program with `trace` or `break`: their values, by the reference interpreter */
  traces?: Traces;
  peak_bytes?: number;
  cores?: number;
  /** of arrays between kernels, not inside kernels; only C counts them */
  copies?: Copies[];
  /** in the notation of the program's language; for an expression without one, its kind */
  type: string;
}

/** Run every stage on one input and compare the results. */
export interface ValidityRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /**
   * a value in the binary format for each byte 2 in `input`: a worker takes paths, a server the ids
   * that `POST /api/uploads` gave
   */
  uploads?: string[];
  /** names of sizes and numbers: if `input` is left out, inputs are random with these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
}

/** The verdicts on all stages. */
export interface ValidityAnswer {
  ok: true;
  /** for each stage up to `imp` that can be run: whether it agrees with `soa` on this input */
  stages: Record<string, Verdict>;
}

/** The verdict on a stage: valid if it means the same as the program. */
export interface Verdict {
  /** null where the run took too long */
  valid: boolean | null;
  because: string;
  /** for a stage with memory, whose heap is observed; so for all that follows */
  verdict?: "valid" | "invalid" | "race" | "unknown";
  /** bytes */
  allocated?: number;
  /** cells */
  reads?: number;
  writes?: number;
  kernels?: number;
}

/** Make random inputs for an entry point, from sizes and a seed. */
export interface GenerateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** by the author's names */
  sizes?: Record<string, number>;
  seed?: number;
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
}

/** Random inputs. */
export interface GenerateAnswer {
  ok: true;
  /** as text, a line for each parameter */
  input: string;
  /** of all names, also those that were not given */
  sizes: Record<string, number>;
}

/**
 * Run an entry point in C, and measure its kernels, copies and allocations. CUDA kernels run on the
 * processor under observation; the sectors that they fetch are counted.
 */
export interface ProfileRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /**
   * a value in the binary format for each byte 2 in `input`: a worker takes paths, a server the ids
   * that `POST /api/uploads` gave
   */
  uploads?: string[];
  /** names of sizes and numbers: if `input` is left out, inputs are random with these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
  backend?: string;
}

/** Times of the parts of a run, the slowest first; or counts without times. */
export interface ProfileAnswer {
  ok: true;
  /** the whole run, inside the program */
  ms: number;
  /** time between the parts */
  rest_ms: number;
  parts: ProfilePart[];
  /** for a target whose kernels are not timed; there are no `parts` then */
  counts?: ProfileCounts;
}

/** A kernel, a copy or an allocation of a run. */
export interface ProfilePart {
  kind: "kernel" | "copy" | "allocation";
  name: string;
  src: Span[];
  /** the first one with a statement of exactly these places */
  stage: string;
  calls: number;
  /** of all calls */
  ms: number;
}

/** Counts, for targets that are not timed. */
export interface ProfileCounts {
  /** true: in a run of the kernels on the processor; false: predicted from index functions */
  observed: boolean;
  /** why there was no run, or why it did not finish; empty if it did */
  because: string;
  /** undefined behaviour that was observed */
  faults: string[];
  /** those that fetch most come first */
  lines: LineSectors[];
  kernels: KernelRun[];
}

/** Sectors that the accesses of one place fetch from a device's memory. */
export interface LineSectors {
  src: Span[];
  /** of 32 bytes */
  sectors: number;
}

/** A kernel of a run. */
export interface KernelRun {
  name: string;
  launches: number;
  /** of threads, in all launches */
  blocks: number;
  /** to global and shared memory */
  requests: number;
  /** executed by blocks of threads, in all blocks, in the run that was observed */
  barriers?: number;
  /** of all launches; answers of older links have none */
  foretold?: ForetoldTime[];
}

/** A predicted time on a device, from counts and the device's data sheet. */
export interface ForetoldTime {
  device: string;
  ms: number;
  /** the bottleneck */
  bound: string;
  /** true if such predictions were compared with measurements on this device */
  measured: boolean;
}

/** Run an entry point by the interpreter of a stage; record the values of all statements. */
export interface FlowRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /**
   * a value in the binary format for each byte 2 in `input`: a worker takes paths, a server the ids
   * that `POST /api/uploads` gave
   */
  uploads?: string[];
  /** names of sizes and numbers: if `input` is left out, inputs are random with these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
  /** one of kind `ir`; empty: `soa` */
  stage?: string;
}

/** The steps of a run in order, each execution inside loops and operators included. */
export interface FlowAnswer {
  ok: true;
  /** true if arrays are cells of blocks, as from the first stage with memory on */
  heap: boolean;
  steps: FlowStep[];
  /** names of blocks, by number */
  blocks: string[];
  /** why these are not all steps, or empty */
  note: string;
}

/** A statement that has been executed. */
export interface FlowStep {
  /** its number in the stage's text */
  node: number;
  values: FlowValue[];
  /**
   * the contents of the blocks of `values` after it, in that order; the first cells of a large one
   */
  cells?: string[][];
}

/** The value bound to a name. */
export interface FlowValue {
  name: string;
  text: string;
  /** the number of the block that the array lies in, one of `blocks` */
  block?: number;
  /** the cells of its elements, in row-major order */
  at?: number[];
}

/** Return the dataflow graph of a stage: arrays, blocks and scalars between statements. */
export interface DataflowRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** of the core language, IMP or kernels; for a target's text: the one that it is printed from */
  stage?: string;
  /** in IMP and kernels: return only the bodies of the kernel with this name */
  kernel?: string;
}

/** A stage as a graph. */
export interface DataflowAnswer {
  ok: true;
  functions: FlowFunction[];
}

/** The bodies of a function, outer ones first; in the core language those that the host runs. */
export interface FlowFunction {
  name: string;
  /** the author's names in sizes, by name */
  names: Record<string, string>;
  bodies: FlowBody[];
}

/** The statements of a body, and their dataflow. */
export interface FlowBody {
  where: string;
  src: Span[];
  nodes: FlowNode[];
  edges: FlowEdge[];
  /** number of statements left out: they concern no array, or their results are unused */
  scalars: number;
}

/** A statement, an input of a body, or the results of a body. */
export interface FlowNode {
  label: string;
  /** of a statement, such as `map`, `segred` or `launch`; `given` or `results` */
  kind: string;
  /** the names that it binds; in IMP and kernels also the blocks that it writes itself */
  names: string[];
  src: Span[];
  /** in IMP and kernels: the numbers of its bodies */
  bodies?: number[];
  /** in a large program: the name by which the kernel's bodies can be requested */
  kernel?: string;
}

/** An array, from producer to consumer; a block or scalar, from its last writer. */
export interface FlowEdge {
  /** the number of a node */
  source: number;
  target: number;
  array: string;
  /** the author's name for it */
  base: string;
  /** left out for scalars and for blocks of unknown size */
  bytes?: Polynomial;
  /** true: from the previous iteration of a loop, or from another thread */
  carried?: boolean;
  /** true: the target writes cells of the block, and reads none */
  written?: boolean;
}

/** An operation outside polynomials, such as `/`, `min` or `sgn`, and its operands. */
export interface Applied {
  op: string;
  of: Polynomial[];
}

/** Its terms: each a coefficient, then its factors, with repetition. */
export type Polynomial = readonly ((number | string | Applied)[])[];

/** Return producers and consumers before and after fusion, with reasons for refusals. */
export interface FusionRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The graphs before and after fusion, and the attempts. */
export interface FusionAnswer {
  ok: true;
  before: FlowFunction[];
  after: FlowFunction[];
  attempts: FusionAttempt[];
  /** the author's names for bound names */
  names: Record<string, string>;
}

/** An attempt to fuse two operators. */
export interface FusionAttempt {
  rule: string;
  kind: "applied" | "missed";
  /** the names that it binds, or that the first of two neighbours binds */
  producer: string[];
  /** the names that the consumer binds */
  reader: string[];
  because: string;
  hint: string;
}

/** Return another compiler's output for a target's text: assembly, PTX, SASS. Nothing is run. */
export interface ListingRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its id in the manifest */
  listing: string;
}

/** A listing. */
export interface ListingAnswer {
  ok: true;
  info: StageInfo;
  /** its lines, with the places in the program; `ms` is the time of the other compilers */
  stage: Stage;
  /** where it is machine code for a device */
  kernels: KernelUse[];
}

/** A kernel's use of a device's resources, per thread or per block of threads. */
export interface KernelUse {
  kernel: string;
  instructions: number;
  registers: number;
  /** bytes per thread spilled to memory for lack of registers */
  spilled: number;
  /** bytes of shared memory */
  shared: number;
  /** of threads that fit on a multiprocessor at once */
  blocks: number;
  /** the part of its warps that are resident */
  occupancy: number;
}

/** List the tests in a program's comments, in order; a malformed block is an error. */
export interface TestsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The tests of a program. */
export interface TestsAnswer {
  ok: true;
  /** of the program */
  tags: string[];
  cases: TestCase[];
}

/** One test of a program. */
export interface TestCase {
  /** from 0, in the order of the text */
  number: number;
  /**
   * `run`: an input and its results; `refused`: the compiler refuses the program; `warning`: it
   * warns; `structure`: how many nodes of each kind a stage has; `property`: an entry point gives
   * true for every input; `compiles`: a program without data compiles
   */
  kind: "run" | "refused" | "warning" | "structure" | "property" | "compiles";
  /** the entry point that is run, or empty */
  entry: string;
  /** of the data set */
  name: string;
  tags: string[];
  /** its beginning */
  src: Span;
}

/** Run one of a program's tests. */
export interface TestRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its number */
  case: number;
  backend?: string;
}

/** The outcome of a test. */
export interface TestAnswer {
  ok: true;
  tested: Tested;
}

/** The outcome of a test. */
export interface Tested {
  number: number;
  /**
   * `unchecked`: it has an expectation that cannot be compared here; `skipped`: it is not meant for
   * this back end, or lacks a file
   */
  outcome: "passed" | "failed" | "unchecked" | "skipped";
  /** why it did not pass, or empty */
  because: string;
  difference?: Difference;
  /** the error that ended it */
  error?: Problem;
  /** the time inside the program */
  ms?: number;
}

/** The first difference between results and expected ones. */
export interface Difference {
  /** a sentence */
  says: string;
  /** the number of the result, from 0 */
  value?: number;
  /** the indices of the element */
  at?: number[];
  expected: string;
  found: string;
}

/** Predict the time of one of a program's tests on a GPU. Nothing is run. */
export interface ForetellRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  case: number;
}

/** The predicted time of a test on a GPU. */
export interface ForetellAnswer {
  ok: true;
  case: TestCase;
  foretold: EntryTime;
}

/** The predicted time of an entry point on the device with measurements. */
export interface EntryTime {
  device: string;
  ms: number;
  /** the bottleneck */
  bound: string;
  /** true if such predictions were compared with measurements on this device */
  measured: boolean;
  entry: string;
  /** the error of such predictions, in words */
  how_far: string;
  /** why this one may be far off; empty if no reason is known */
  unsure: string;
}

/** Measure one of a program's tests, after checking its result. */
export interface BenchRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  case: number;
  backend?: string;
}

/** The measurement of a test. */
export interface BenchAnswer {
  ok: true;
  case: TestCase;
  measured: Measurement;
}

/** Run time of a test, in milliseconds. */
export interface Measurement {
  median: number;
  /** the lower end of the 95 % confidence interval of the median, up to `high` */
  low: number;
  high: number;
  /** the interquartile range, as a part of the median */
  spread: number;
  runs: number;
  peak_bytes: number;
}

/** Run the directives of a literate program. */
export interface LiterateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  backend?: string;
}

/** A program as text, code, and directives with their results. */
export interface LiterateAnswer {
  ok: true;
  blocks: Block[];
}

/** A part of a literate program. */
export interface Block {
  kind: "text" | "code" | "directive";
  /** in Markdown, or code; for a directive the text shown for it, which may be empty */
  text: string;
  src: Span;
  /** for text */
  html?: string;
  /** for a directive */
  result?: Result;
  /** why there is no result */
  error?: Problem;
}

/** The result of a directive. */
export interface Result {
  /** a value */
  text?: string;
  /** of a value that is one array of numbers or booleans */
  type?: string;
  /** the media type of any other result, such as `image/png` */
  media?: string;
  /** that result, in base64 */
  data?: string;
}

/** Describe blocks and arrays; an array's cells, or a kernel's, for given sizes. */
export interface MemoryRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** one with memory */
  stage?: string;
  /** its name */
  array?: string;
  /** the name of its first result */
  kernel?: string;
  /** of the symbols */
  values?: Record<string, number>;
}

/** The layout of arrays. */
export interface MemoryAnswer {
  ok: true;
  functions: MemoryFunction[];
}

/** A function with its memory. */
export interface MemoryFunction {
  name: string;
  /** the author's name for each name below */
  names: Record<string, string>;
  blocks: BlockInfo[];
  arrays: ArrayInfo[];
  kernels: KernelInfo[];
}

/** A block of memory. */
export interface BlockInfo {
  name: string;
  prim: string;
  space: string;
  /** elements; null where the block comes from outside */
  count: Polynomial | null;
  bytes: Polynomial | null;
  kind: "parameter" | "alloc" | "carried";
  src: Span[];
}

/** An array and its place. */
export interface ArrayInfo {
  name: string;
  /** the author's name */
  base: string;
  prim: string;
  shape: Polynomial[];
  block: string;
  lmad: Cells;
  /** names that a picture needs values for */
  symbols: string[];
  src: Span[];
}

/** An LMAD: a set of cells, or an index function. */
export interface Cells {
  offset: Polynomial;
  /** size and stride */
  dims: [Polynomial, Polynomial][];
}

/** A kernel. */
export interface KernelInfo {
  /** of its first result */
  name: string;
  kind: string;
  level: string;
  space: Width[];
  src: Span[];
}

/** A dimension of a kernel's threads. */
export interface Width {
  index: string;
  bound: Polynomial;
}

/** With `array`: the cell of each of its elements. */
export interface CellsAnswer {
  ok: true;
  functions: MemoryFunction[];
  array: string;
  block: string;
  /** for these values */
  lmad: Cells;
  shape: number[];
  cells: Cell[];
  first: number;
  last: number;
  /** true if these are all */
  complete: boolean;
}

/** An element and the cell of the block that holds it. */
export interface Cell {
  index: number[];
  cell: number;
}

/** With `kernel`: the cells that each thread touches. */
export interface ThreadsAnswer {
  ok: true;
  functions: MemoryFunction[];
  kernel: string;
  space: Width[];
  accesses: ThreadAccess[];
}

/** An access of a kernel to an array. */
export interface ThreadAccess {
  array: string;
  block: string;
  writes: boolean;
  cell: string;
  points: Touch[];
  /** true if these are all */
  complete: boolean;
  /** true if all of these are touched in every run */
  certain: boolean;
  /** why there are no points, or why some may not be touched */
  because: string;
}

/** Cells that a thread touches. */
export interface Touch {
  /** the thread */
  point: number[];
  cells: number[];
}

/** With `array` and `kernel`. */
export interface BothAnswer {
  ok: true;
  functions: MemoryFunction[];
  array: string;
  block: string;
  /** for these values */
  lmad: Cells;
  shape: number[];
  cells: Cell[];
  first: number;
  last: number;
  /** true if these are all */
  complete: boolean;
  kernel: string;
  space: Width[];
  accesses: ThreadAccess[];
}

/** Return the lifetimes of blocks and arrays, and the bytes that are live. */
export interface LifetimesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** one with memory */
  stage?: string;
  /** of symbols; there are no bytes if it is left out */
  values?: Record<string, number>;
}

/** Lifetimes of blocks. */
export interface LifetimesAnswer {
  ok: true;
  functions: LifeFunction[];
  /** of all symbols: names that were not given one get 100 as sizes of arguments, else 10 */
  values?: Record<string, number>;
}

/** A function's memory over its statements. */
export interface LifeFunction {
  name: string;
  /** the author's name for each name below */
  names: Record<string, string>;
  points: LifePoint[];
  blocks: LifeBlock[];
  arrays: LifeArray[];
  symbols: string[];
  /** bytes at each point, for the values */
  live?: number[];
  peak?: Peak;
}

/** A statement. */
export interface LifePoint {
  label: string;
  /** of loops and branches */
  depth: number;
  src: Span[];
}

/** A block and the points where it is live. */
export interface LifeBlock {
  name: string;
  prim: string;
  space: string;
  kind: string;
  bytes: Polynomial;
  /** in bytes, for the values */
  size?: number;
  at: number;
  until: number;
  /** true if each thread of a kernel makes one */
  per_point: boolean;
  src: Span[];
}

/** An array and the points where it is live. */
export interface LifeArray {
  name: string;
  base: string;
  prim: string;
  shape: Polynomial[];
  lmad: Cells;
  block: string;
  /** its block; several if it is in one of them */
  blocks: string[];
  first: number;
  last: number;
  src: Span[];
}

/** The point where most memory is live. */
export interface Peak {
  bytes: number;
  point: number;
}

/** Return which blocks are live at the same time, and which can share memory. */
export interface InterferenceRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** one with memory */
  stage?: string;
}

/** The interference graphs, with blocks that can share memory. */
export interface InterferenceAnswer {
  ok: true;
  functions: FunctionGraphs[];
}

/** The bodies of a function that have several blocks. */
export interface FunctionGraphs {
  name: string;
  /** the author's name for each name in `bodies` */
  names: Record<string, string>;
  bodies: Interference[];
}

/** The interference graph of the blocks of one body. */
export interface Interference {
  where: string;
  src: Span[];
  points: Place[];
  nodes: Node[];
  edges: Edge[];
  colours: Colour[];
}

/** A statement. */
export interface Place {
  label: string;
  src: Span[];
}

/** A block with its lifetime. */
export interface Node {
  name: string;
  base: string;
  bytes: Polynomial;
  prim: string;
  space: string;
  from: number;
  until: number;
  escapes: boolean;
  colour: number;
  src: Span[];
}

/** Two blocks that are live at the same time. */
export interface Edge {
  a: number;
  b: number;
  /** from this point */
  at: number;
  until: number;
}

/** Blocks that can share memory. */
export interface Colour {
  members: number[];
  /** of their shared memory */
  bytes: Polynomial;
  saved: Polynomial;
}

/** Express each change of layout in three generations of index functions. */
export interface IndexFunctionsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** Changes of layout by generation of index functions. */
export interface IndexFunctionsAnswer {
  ok: true;
  functions: IndexFunctions[];
}

/** The changes of layout in a function. */
export interface IndexFunctions {
  name: string;
  changes: LayoutChange[];
  /** number of copies that each generation needs */
  copies: Record<string, number>;
}

/** An array that is not row-major in a block of its own. */
export interface LayoutChange {
  array: string;
  /** such as `transpose`, `branches`, `result` */
  does: string;
  /** of any element, such as `i, j` */
  index: string;
  forms: IndexForm[];
  /** true if stage `funmem` has it; if not, it is fused away */
  in_memory: boolean;
  /**
   * the LMAD that the array's cells can be permuted to, so that they fill its block exactly once
   */
  tiles: string;
  src: Span[];
}

/** An array's index function as one generation expresses it. */
export interface IndexForm {
  generation: "structural" | "composed" | "single";
  /** empty where the compiler has none: elements are computed on demand */
  text: string;
  /** of the element at the change's `index` */
  cell: string;
  /** true if the array has to be copied for it */
  copies: boolean;
  /** the reason, or the values that branches and loops return for it */
  because: string;
}

/** Return the tree of code versions under their thresholds. */
export interface TuningRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The code versions. */
export interface TuningAnswer {
  ok: true;
  trees: Forest[];
}

/** The tuning trees of a function. */
export interface Forest {
  function: string;
  trees: TreeNode[];
}

/** A node of a tuning tree; its kind decides its fields. */
export interface TreeNode {
  kind: "branch" | "kernel" | "loop" | "choice";
  spans: Span[];
  /** for a branch, with what follows: the amount of parallelism compared with it */
  threshold?: string;
  amount?: string;
  /** the same as data */
  work?: Polynomial;
  /** the threshold's value */
  default?: number;
  /** a further condition */
  also?: string;
  /** for a choice */
  condition?: string;
  /** for a loop */
  times?: string;
  /** for a kernel, with what follows */
  number?: number;
  operator?: string;
  level?: string;
  per_block?: boolean;
  /** index and bound */
  space?: [string, string][];
  /** number of threads */
  points?: string;
  results?: string[];
  /** sequential ones in each thread */
  loops?: number;
  then?: TreeNode[];
  orelse?: TreeNode[];
  body?: TreeNode[];
}

/** List the sum types of the program's values: constructors, and the slots that they share. */
export interface SumsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The sum types. */
export interface SumsAnswer {
  ok: true;
  sums: SumInfo[];
}

/**
 * The layout of a sum type: an `i8` for the constructor's tag, then slots. In an array of such
 * values each component is an array of its own.
 */
export interface SumInfo {
  type: string;
  /** their types */
  slots: string[];
  /** by their tags */
  constructors: Constructor[];
  /** of a value; left out where it holds arrays */
  bytes?: number;
  /** bytes of a value without slots shared by constructors */
  apart?: number;
}

/** A constructor of a sum type. */
export interface Constructor {
  name: string;
  tag: number;
  /**
   * for each slot, the value that this constructor keeps in it: its number and type; or empty,
   * where the slot holds zeros
   */
  holds: string[];
  /** its applications and matches */
  src: Span[];
}

/** Decide whether two LMADs ever share a cell, under assumptions. */
export interface ProveRequest {
  /** in the notation of `docs/proving.md` */
  assumptions?: Record<string, unknown>;
  a: string | Record<string, unknown>;
  b: string | Record<string, unknown>;
  certificate?: boolean;
}

/** A verdict. */
export interface ProveAnswer {
  ok: true;
  verdict: "disjoint" | "overlap" | "unknown";
  /** true if the checker, or a witness, confirms it */
  checked: boolean;
  witness: Witness | null;
  reason: string;
  /** a value that would have to be not negative */
  missing: Polynomial | null;
  /** values that imply it if not negative, without some of its names */
  enough: Polynomial[];
  /** values that are not negative */
  facts: Polynomial[];
  steps: Step[];
  /** as it was parsed */
  a: Cells;
  b: Cells;
  ms: number;
  /** if it was asked for; it holds no claim if none was proved */
  certificate?: Certificate;
}

/** A cell that both sets hold. */
export interface Witness {
  values: Record<string, number>;
  cell: number;
  /** the index in the first set */
  a: number[];
  b: number[];
}

/** A step of a proof that a sum is never 0. */
export interface Step {
  rule: string;
  says: (string | Polynomial)[];
  offset: Polynomial;
  /** stride, low, high */
  dims: [Polynomial, Polynomial, Polynomial][];
  needs: Need[];
  parts: Step[];
}

/** A value that is not negative, as a sum of products of facts. */
export interface Need {
  claim: Polynomial;
  /** the factor of the claim */
  scale: number;
  /**
   * products, all added; the last one may be a number above `-scale`: a whole number whose product
   * with the factor is above minus the factor is not negative
   */
  sum: Product[];
}

/** A product of facts. */
export interface Product {
  coefficient: number;
  factors: Polynomial[];
}

/** Claims with their proofs, in the form of `docs/certificates.md`. */
export interface Certificate {
  format: string;
  version: number;
  sha256: string;
  claims: Record<string, unknown>[];
}

/** List the cells of LMADs for values of their names. */
export interface CellsRequest {
  /** in the notation of `docs/proving.md` */
  assumptions?: Record<string, unknown>;
  lmads: unknown[];
  values?: Record<string, number>;
}

/** The cells of several LMADs. */
export interface CellsOfLmadsAnswer {
  ok: true;
  /** names that need values */
  symbols: string[];
  /** the given ones, and proposals for the others */
  values: Record<string, number>;
  /** assumptions of the form `x >= 0` that these values violate */
  broken: Polynomial[];
  lmads: CellSet[];
  /** cells of the first two */
  shared: number[];
}

/** The cells of an LMAD for some values. */
export interface CellSet {
  offset: number;
  /** size and stride */
  dims: [number, number][];
  points: Cell[];
  count: number;
  /** true if these are all */
  complete: boolean;
}

/** List the attempts to build arrays in place, with their proof obligations. */
export interface AttemptsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** draw the cells of so many different pairs of accesses, and list equal ones once */
  pictures?: number;
}

/** All attempts. */
export interface AttemptsAnswer {
  ok: true;
  attempts: Attempt[];
}

/** An attempt to build an array in place. */
export interface Attempt {
  /** the number that its remarks have too */
  number: number;
  /** the author's name for each name below */
  names: Record<string, string>;
  rule: string;
  source: string;
  destination: string;
  src: Span[];
  /** where the source array is made */
  made: Span[];
  done: boolean;
  /** the condition that failed; 0: none */
  condition: number;
  /** of the condition */
  title: string;
  /** the kind of refusal, by its id in the list of refusals, or empty */
  refusal: string;
  because: string;
  hint: string;
  /** the conflict that a run on small inputs has shown for a refusal */
  witness: Clash | null;
  way_out: WayOut | null;
  place: MemoryPlace;
  creation: string;
  /** the place of the array that is created */
  projected: MemoryPlace;
  moved: Moved[];
  lifted: string[];
  obligations: Obligation[];
  /** bytes that are saved; for several alternatives, one of them */
  copied: Polynomial[];
  allocated: Polynomial[];
  /** what the program calls the names in both; answers of older links have none */
  meant?: Record<string, string>;
}

/** The inputs of a run that shows the conflict. */
export interface Clash {
  values: Record<string, number>;
  /** all of them as text */
  input: string;
}

/** A source change that makes an attempt succeed. */
export interface WayOut {
  line: number;
  col: number;
  text: string;
  says: string;
}

/** The place of an array in memory; empty where unknown. */
export interface MemoryPlace {
  block?: string;
  lmad?: Cells;
}

/** An array and its current place. */
export interface Moved {
  block?: string;
  lmad?: Cells;
  array: string;
}

/** Two accesses that must be disjoint. */
export interface Obligation {
  verdict: "disjoint" | "overlap" | "unknown";
  /** true if the checker, or a witness, confirms it */
  checked: boolean;
  witness: Witness | null;
  reason: string;
  /** a value that would have to be not negative */
  missing: Polynomial | null;
  /** values that imply it if not negative, without some of its names */
  enough: Polynomial[];
  /** values that are not negative */
  facts: Polynomial[];
  steps: Step[];
  write: Cells;
  use: Cells;
  why: string;
  /** for each fact */
  origins: Origin[];
  /** if it was asked for and can be drawn */
  picture?: PairPicture;
}

/** The source of a fact, in a few words, with its places. */
export interface Origin {
  why: string;
  src: Span[];
}

/** The cells of two accesses. */
export interface PairPicture {
  /** of the names */
  values: Record<string, number>;
  /** the cells of each */
  sets: number[][];
  /** of dimensions with several cells, ascending */
  strides: number[];
}

/** List array accesses with the fate of each bounds check and its proof. */
export interface BoundsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The accesses, in order of the text. */
export interface BoundsAnswer {
  ok: true;
  accesses: Access[];
}

/** An index, slice or update, and the fate of its bounds check. */
export interface Access {
  src: Span;
  /** the place of the brackets */
  at: Span;
  kind: "index" | "slice" | "update";
  /**
   * `hoisted`: made once, before a loop or parallel operation; `unused`: the access is dead code
   */
  state: "dropped" | "hoisted" | "kept" | "unused";
  because: string;
  claims: Claim[];
  /** the conditions checked at run time */
  missing: string[];
}

/** A proved property of an access, and the facts that it follows from. */
export interface Claim {
  says: string;
  facts: string[];
}

/** Return all proofs about the program, for `stridescope verify`. */
export interface CertificateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The certificate of a program. */
export interface CertificateAnswer {
  ok: true;
  certificate: Certificate;
}

/** Trace the thesis' NOOVERLAP on two LMADs, beside this prover and Z3. */
export interface NoOverlapRequest {
  /** in the notation of `docs/proving.md` */
  assumptions?: Record<string, unknown>;
  a: string | Record<string, unknown>;
  b: string | Record<string, unknown>;
}

/** The verdicts of three procedures on one question. */
export interface NoOverlapAnswer {
  ok: true;
  /** as it was parsed */
  a: Cells;
  b: Cells;
  thesis: ByProcedure;
  ours: ByProver;
  z3: ByProver;
}

/** The verdict of the thesis' procedure. */
export interface ByProcedure {
  disjoint: boolean;
  /** the reason of the step that failed */
  because: (string | Polynomial)[];
  steps: ProcedureStep[];
  /** CPU time, as for the others */
  ms: number;
}

/** A step of the thesis' procedure, with both sets after it. */
export interface ProcedureStep {
  rule: "normalise" | "match" | "distribute" | "split" | "apart";
  says: (string | Polynomial)[];
  a: StridedSum;
  b: StridedSum;
  /** values shown not to be negative, which the step needs */
  shown: Polynomial[];
  /** values that could not be shown not to be negative */
  missing: Polynomial[];
  failed: boolean;
  /** the steps of each case of a split */
  parts: ProcedureStep[][];
}

/** A sum of strided intervals: an offset, and an interval for each dimension. */
export interface StridedSum {
  offset: Polynomial;
  /** stride, low, high */
  intervals: [Polynomial, Polynomial, Polynomial][];
}

/** The verdict of a prover. */
export interface ByProver {
  verdict: "disjoint" | "overlap" | "unknown" | "absent";
  /** why it is undecided, or the shared cell */
  because: string;
  ms: number;
}

/**
 * Predict the cost of each access of the CUDA program from the index functions alone. Nothing is
 * run, so sizes may be as large as on a device.
 */
export interface AccessesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /**
   * a value in the binary format for each byte 2 in `input`: a worker takes paths, a server the ids
   * that `POST /api/uploads` gave
   */
  uploads?: string[];
  /** names of sizes and numbers: if `input` is left out, inputs are random with these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
  /** sizes without a number are 100, whole numbers 10, as those of `costs`; else 64 and 8 */
  as_costs?: boolean;
}

/** The costs, and their subject. */
export interface AccessesAnswer {
  ok: true;
  kernels: KernelRun[];
  accesses: WarpAccess[];
  faults: Fault[];
  /** of the run, with the time that the host waits */
  foretold?: ForetoldTime[];
  /** why these times may be far off; empty if no reason is known */
  unsure?: string;
  /** the error of such predictions on the measured device, in words */
  how_far?: string;
  /** of the C program; those that touch most lines of 64 bytes come first */
  loops: LoopAccess[];
  sizes: Record<string, number>;
  observed: boolean;
  /** why there was no run, or why it did not finish; empty if it did */
  because: string;
}

/** An access of a kernel. */
export interface WarpAccess {
  kernel: string;
  /** of stage `cuda`, from 1 */
  line: number;
  text: string;
  src: Span[];
  kind: "reads" | "writes" | "both";
  /** the block of memory */
  array: string;
  /** the number of the cell in it */
  cell: string;
  /** true for memory that a block of threads shares */
  shared: boolean;
  /** of an element, in bytes */
  size: number;
  /** average cost of a request, in words */
  says: string;
  /** from the index functions alone */
  predicted: RequestCounts;
  /** why a run may differ from that */
  because: string;
  /** left out where it depends on data */
  stride?: Stride;
  /** reasons why accesses are coalesced, or are not */
  remarks: Remark[];
  /** the first requests of the first warps, observed or else predicted */
  samples: WarpRequest[];
  /** in the run that was observed */
  seen?: RequestCounts;
  /** true if both agree; a difference is a defect of this compiler */
  agrees?: boolean;
  /** true if only the first requests of each block of threads were analysed */
  partial?: boolean;
}

/** The cost of an access in all launches of its kernel. */
export interface RequestCounts {
  /** of warps: accesses that threads in the same iteration of all loops make at once */
  requests: number;
  /** threads that take part in them */
  lanes: number;
  /** distinct ones in each request, added up */
  bytes: number;
  /** of 32 bytes, fetched; 0 for shared memory */
  sectors: number;
  /** sectors that would do for as many bytes */
  fewest: number;
  /** over the banks of shared memory */
  passes: number;
  /** passes that would do */
  least: number;
}

/** The distance between cells of neighbouring lanes, except at the end of a row of indices. */
export interface Stride {
  /** in the author's names */
  elements: string;
  /** the factors in `cell` that cause it */
  factors: [number, number][];
  /** its places in the texts of GPU stages, if more is fetched than would do */
  places: Underlined[];
}

/** A line of a stage with its parts to underline. */
export interface Underlined {
  stage: string;
  /** from 1 */
  line: number;
  text: string;
  at: [number, number][];
}

/** One request of a warp. */
export interface WarpRequest {
  warp: number;
  /** the number of the request among those of the warp for this access, from 0 */
  step: number;
  /**
   * the first byte in the block of memory that each of the 32 lanes touches; -1 for an inactive one
   */
  lanes: number[];
}

/** Undefined behaviour of a kernel, such as a race or an access out of bounds. */
export interface Fault {
  says: string;
  line: number;
  text: string;
  src: Span[];
  count: number;
  /** the first one to do it */
  block: number;
  thread: number;
}

/** An access in a loop of stage `c`, which asks for cells one iteration after the other. */
export interface LoopAccess {
  /** from 1 */
  line: number;
  text: string;
  src: Span[];
  kind: "reads" | "writes" | "both";
  array: string;
  cell: string;
  /** of an element, in bytes */
  size: number;
  /** the variable of the innermost loop that it is in */
  index: string;
  /** true if the text asks the C compiler to vectorise the loop; whether it does is not known */
  simd: boolean;
  /**
   * distance in elements to the next iteration's cell, in the author's names; left out where that
   * depends on data
   */
  elements?: string;
  says: string;
  /** the first bytes that 16 iterations touch, relative to the lowest; empty where not known */
  touched: number[];
}

/** Predict as `accesses` does, and observe a run on the processor, given a C++ compiler. */
export interface ObserveRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /**
   * a value in the binary format for each byte 2 in `input`: a worker takes paths, a server the ids
   * that `POST /api/uploads` gave
   */
  uploads?: string[];
  /** names of sizes and numbers: if `input` is left out, inputs are random with these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
  /** sizes without a number are 100, whole numbers 10, as those of `costs`; else 64 and 8 */
  as_costs?: boolean;
}

/** List the costs of each place of the source: copies, GPU sectors, checks; worst first. */
export interface CostsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** of arguments, by the author's names; others have 100, whole numbers 10 */
  sizes?: Record<string, number>;
}

/** Costs, worst first, then what was saved, most first. */
export interface CostsAnswer {
  ok: true;
  costs: SourceCost[];
  /** of the entry points' arguments, by the author's names, for which the numbers hold */
  sizes: Record<string, number>;
  /** by entry point, for these sizes; answers of older links have none */
  foretold?: EntryTime[];
  /** facts of the program that are unknown, in sentences */
  unknown: string[];
}

/** A cost of a place of the source, or (`built`, `fused`) a cost saved. */
export interface SourceCost {
  kind: "copied" | "fetched" | "written" | "allocated" | "checked" | "missed" | "unknown" | "built" | "fused";
  src: Span[];
  /** where the array is made that is put there; empty where that is no part of it */
  made?: Span[];
  /** in a few words, with numbers */
  says: string;
  /** the number as a formula; empty where it is none */
  formula?: string;
  /** how often the same is paid there; answers of older links have none of these three */
  times?: number;
  /** the same in short, beside the line of the source */
  short: string;
  /** a sentence, or empty */
  because: string;
  /** bytes copied or allocated beyond need, or saved, as far as known for these sizes */
  bytes: number;
  /** the pane of the page with details */
  pane: "proof" | "warps" | "bounds" | "remarks";
  /** the number of the attempt concerned */
  attempt: number | null;
  /** the rule that decided it, or empty */
  rule: string;
  fix: Remedy | null;
}

/** A remedy. */
export interface Remedy {
  says: string;
  /** passes and rules that are switched off and would help */
  enable?: string[];
  /** the source change, which has been tried */
  way_out?: WayOut;
}

/** Tell work, span, bytes moved and bytes made by functions and statements, as formulas. */
export interface FormulasRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** a stage of the core language */
  stage?: string;
  /** another one, for the difference; empty: none */
  against?: string;
}

/** Formulas of all functions of a stage, in order. */
export interface FormulasAnswer {
  ok: true;
  stage: string;
  against: string;
  functions: FunctionFormula[];
  /** amounts in the formulas that only a run tells, in words */
  amounts: string[];
}

/** The cost of a call of a function. */
export interface FunctionFormula {
  name: string;
  cost: CostFormula;
  /** reasons for which the formulas leave something out, in words */
  unknown: string[];
  statements: StatementFormula[];
  /** what it costs more than at the other stage */
  difference?: CostFormula;
}

/** A cost as formulas, which are sums of products of sizes, numbers and unknown amounts. */
export interface CostFormula {
  /** operators of scalar expressions, and elements read and written */
  work: string;
  /** the same along the longest chain, if there are as many processors as rows */
  span: string;
  /** bytes of the elements read and written */
  moved: string;
  /** bytes of the arrays made, or with memory of the blocks allocated */
  made: string;
  /** upper bounds: branches differ in cost */
  at_most: boolean;
}

/** The cost of a statement for each time that it is reached. */
export interface StatementFormula {
  /** the names that it binds */
  text: string;
  src: Span[];
  /** the number of loops and branches around it */
  depth: number;
  cost: CostFormula;
  /** it does nothing when the program runs, such as a view */
  free: boolean;
}

/** Read the file of a lesson or a puzzle, and measure its number. */
export interface LessonRequest {
  lesson: string;
}

/** A lesson, or a puzzle, with its number. */
export interface LessonAnswer {
  ok: true;
  title: string;
  /** the text before */
  html: string;
  /** HTML: the text once the answer is known */
  after: string;
  source: string;
  options: Options;
  /** the stage to look at, or empty */
  stage: string;
  /** the selected part of the program, or empty */
  code: string;
  /** its place */
  src: Span | null;
  /** of the page, or empty */
  tab: string;
  /** the array that the tab draws, or empty */
  object: string;
  /** HTML */
  question: string;
  choices: number[];
  /** the file's number */
  answer: number | null;
  measure: string;
  /** the compiler's number */
  value: number;
  /** of the inputs */
  sizes: Record<string, number>;
  /** how the two differ, in a sentence, or empty */
  wrong: string;
  puzzle?: Puzzle;
}

/** The task of a puzzle: a program with the same results and a smaller number. */
export interface Puzzle {
  /** the number at which it is solved */
  goal: number;
  /** the number that can be reached */
  par: number;
  /** HTML */
  hints: string[];
  /** a program that reaches par, or empty */
  solution: string;
}

/**
 * Score a program as the solution of a puzzle, and compare it with the puzzle's own program. The
 * puzzle gives the options. Both programs are run by the reference interpreter, on the inputs of
 * the puzzle and on generated ones.
 */
export interface SolveRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of the files that it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  lesson: string;
}

/** The score of a program. */
export interface SolveAnswer {
  ok: true;
  value: number;
  /** true if its results equal the puzzle's */
  same: boolean;
  /** the input on which they differ, in a sentence; or the number of inputs on which they agree */
  because: string;
  /** true if the results agree and the score is at most the goal */
  solved: boolean;
}

/** Each operation, by its id. */
export interface Operations {
  /** List the stages in order, and the passes and rules that can be switched off. */
  manifest: { request: ManifestRequest; answer: ManifestAnswer };
  /** List the back ends, with the reason why one cannot run on this machine. */
  backends: { request: BackendsRequest; answer: BackendsAnswer };
  /** Parse and type check a program: entry points, warnings, errors. */
  check: { request: CheckRequest; answer: CheckAnswer };
  /** Translate a FlatPack program (`main` ends in `.fp`) to Futhark. */
  translate: { request: TranslateRequest; answer: TranslateAnswer };
  /** Compile a program: stages as text lines, counts, remarks. */
  show: { request: ShowRequest; answer: ShowAnswer; partial: ShowPart };
  /** Return the text of one stage, after `show` without it. */
  text: { request: TextRequest; answer: TextAnswer };
  /** List the expressions that lines of stages come from (typed and core language). */
  places: { request: PlacesRequest; answer: PlacesAnswer };
  /** Describe the rules that the remarks name, with counts of applied and missed. */
  rules: { request: RulesRequest; answer: RulesAnswer };
  /** Show a rule or a pass at work on a tiny program, compiled with it and without it. */
  rule: { request: RuleRequest; answer: RuleAnswer };
  /** Answer several requests about one program that run nothing, each with its `op` and fields. */
  batch: { request: BatchRequest; answer: BatchAnswer; partial: BatchPart };
  /** Describe the code at a place: its type, documentation, declaration and uses. */
  inspect: { request: InspectRequest; answer: InspectAnswer };
  /** Complete at a place, also in an unfinished text. */
  complete: { request: CompleteRequest; answer: CompleteAnswer };
  /** Rename a declaration; refused if the program's meaning would change. */
  rename: { request: RenameRequest; answer: RenameAnswer };
  /** Find changes suggested by an error's hint that reduce the number of errors. */
  fixes: { request: FixesRequest; answer: FixesAnswer };
  /** List the declarations and the folds of a file. */
  outline: { request: OutlineRequest; answer: OutlineAnswer };
  /** Format a text; fails on errors of syntax. */
  format: { request: FormatRequest; answer: FormatAnswer };
  /** Find the lines of each stage that come from an expression of the program. */
  occurrences: { request: OccurrencesRequest; answer: OccurrencesAnswer };
  /** Run an entry point on one back end. */
  run: { request: RunRequest; answer: RunAnswer };
  /**
   * Evaluate an expression over the definitions of a program, in the program's language. Its places
   * are in the file `<expression>`.
   */
  eval: { request: EvalRequest; answer: EvalAnswer };
  /** Run every stage on one input and compare the results. */
  validity: { request: ValidityRequest; answer: ValidityAnswer };
  /** Make random inputs for an entry point, from sizes and a seed. */
  generate: { request: GenerateRequest; answer: GenerateAnswer };
  /**
   * Run an entry point in C, and measure its kernels, copies and allocations. CUDA kernels run on
   * the processor under observation; the sectors that they fetch are counted.
   */
  profile: { request: ProfileRequest; answer: ProfileAnswer };
  /** Run an entry point by the interpreter of a stage; record the values of all statements. */
  flow: { request: FlowRequest; answer: FlowAnswer };
  /** Return the dataflow graph of a stage: arrays, blocks and scalars between statements. */
  dataflow: { request: DataflowRequest; answer: DataflowAnswer };
  /** Return producers and consumers before and after fusion, with reasons for refusals. */
  fusion: { request: FusionRequest; answer: FusionAnswer };
  /** Return another compiler's output for a target's text: assembly, PTX, SASS. Nothing is run. */
  listing: { request: ListingRequest; answer: ListingAnswer };
  /** List the tests in a program's comments, in order; a malformed block is an error. */
  tests: { request: TestsRequest; answer: TestsAnswer };
  /** Run one of a program's tests. */
  test: { request: TestRequest; answer: TestAnswer };
  /** Predict the time of one of a program's tests on a GPU. Nothing is run. */
  foretell: { request: ForetellRequest; answer: ForetellAnswer };
  /** Measure one of a program's tests, after checking its result. */
  bench: { request: BenchRequest; answer: BenchAnswer };
  /** Run the directives of a literate program. */
  literate: { request: LiterateRequest; answer: LiterateAnswer };
  /** Describe blocks and arrays; an array's cells, or a kernel's, for given sizes. */
  memory: { request: MemoryRequest; answer: MemoryAnswer | CellsAnswer | ThreadsAnswer | BothAnswer };
  /** Return the lifetimes of blocks and arrays, and the bytes that are live. */
  lifetimes: { request: LifetimesRequest; answer: LifetimesAnswer };
  /** Return which blocks are live at the same time, and which can share memory. */
  interference: { request: InterferenceRequest; answer: InterferenceAnswer };
  /** Express each change of layout in three generations of index functions. */
  index_functions: { request: IndexFunctionsRequest; answer: IndexFunctionsAnswer };
  /** Return the tree of code versions under their thresholds. */
  tuning: { request: TuningRequest; answer: TuningAnswer };
  /** List the sum types of the program's values: constructors, and the slots that they share. */
  sums: { request: SumsRequest; answer: SumsAnswer };
  /** Decide whether two LMADs ever share a cell, under assumptions. */
  prove: { request: ProveRequest; answer: ProveAnswer };
  /** List the cells of LMADs for values of their names. */
  cells: { request: CellsRequest; answer: CellsOfLmadsAnswer };
  /** List the attempts to build arrays in place, with their proof obligations. */
  attempts: { request: AttemptsRequest; answer: AttemptsAnswer };
  /** List array accesses with the fate of each bounds check and its proof. */
  bounds: { request: BoundsRequest; answer: BoundsAnswer };
  /** Return all proofs about the program, for `stridescope verify`. */
  certificate: { request: CertificateRequest; answer: CertificateAnswer };
  /** Trace the thesis' NOOVERLAP on two LMADs, beside this prover and Z3. */
  no_overlap: { request: NoOverlapRequest; answer: NoOverlapAnswer };
  /**
   * Predict the cost of each access of the CUDA program from the index functions alone. Nothing is
   * run, so sizes may be as large as on a device.
   */
  accesses: { request: AccessesRequest; answer: AccessesAnswer };
  /** Predict as `accesses` does, and observe a run on the processor, given a C++ compiler. */
  observe: { request: ObserveRequest; answer: AccessesAnswer };
  /** List the costs of each place of the source: copies, GPU sectors, checks; worst first. */
  costs: { request: CostsRequest; answer: CostsAnswer };
  /** Tell work, span, bytes moved and bytes made by functions and statements, as formulas. */
  formulas: { request: FormulasRequest; answer: FormulasAnswer };
  /** Read the file of a lesson or a puzzle, and measure its number. */
  lesson: { request: LessonRequest; answer: LessonAnswer };
  /**
   * Score a program as the solution of a puzzle, and compare it with the puzzle's own program. The
   * puzzle gives the options. Both programs are run by the reference interpreter, on the inputs of
   * the puzzle and on generated ones.
   */
  solve: { request: SolveRequest; answer: SolveAnswer };
}
