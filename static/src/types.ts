// The shapes of requests and answers. Made by `python -m compiler.protocol` from compiler/protocol:
// change them there.

/** What an operation answers where something went wrong. */
export interface Failure {
  ok: false;
  error: Problem;
}

/** An error or a warning. */
export interface Problem {
  kind: string;
  message: string;
  /** a way out, or nothing */
  hint: string;
  /** null where there is no place in the user's texts */
  span: Span | null;
  /** what `explain` tells more about; not where the program is right */
  code?: string;
  /** the places that disagree with `span` */
  related?: RelatedPlace[];
  /** of a run that failed: the calls that led to `span`, the innermost first */
  calls?: Span[];
  /** of a run that failed: the values that were traced before */
  traces?: Traces;
  /** all of it as text, with the line */
  rendered?: string;
  /** all that were found, this one first */
  errors?: Problem[];
  /** how many were before it in the queue of a server that is busy */
  position?: number;
  /** seconds after which a busy server takes such a request again */
  retry?: number;
}

/**
 * Line, column, end line, end column; counted from 1, the end is exclusive. A fifth element is the
 * path of the file that it is in, one of `files`; without it that is `source`.
 */
export type Span = readonly [number, number, number, number, string?];

/** Another place that has to do with an error. */
export interface RelatedPlace {
  span: Span | null;
  /** what is there */
  message: string;
}

/** What a run would show, in the order in which the places are reached first. */
export interface Traces {
  places: Traced[];
  /** why there may be more, or nothing */
  note: string;
}

/** What `trace` or `break` was given at a place of the program. */
export interface Traced {
  /** `trace` or `break` */
  function: string;
  src: Span[];
  /** the first ones, in the order of one step after the other, each cut where it is long */
  values: string[];
  /** how many there were */
  count: number;
}

/** The stages in order, and the passes and rules that can be switched off. */
export type ManifestRequest = Record<string, never>;

/** The pipeline. */
export interface ManifestAnswer {
  ok: true;
  /** in order */
  stages: StageInfo[];
  /** what the operation `listing` makes of texts */
  listings: StageInfo[];
  /** what the option `disable` takes, and of rules that are `asked` the option `enable` */
  switches: Pass[];
}

/** A stage of the pipeline. */
export interface StageInfo {
  id: string;
  title: string;
  explain: string;
  /** `syntax`, `typed`, `ir`, `imp`, `kernels`, `text` or `listing` */
  kind: string;
  /** whether it says where arrays lie */
  memory: boolean;
  /** what runs a text */
  machine?: string;
  /** the stage that a listing is made of */
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
  /** what becomes what, with code in backquotes, or nothing */
  equation: string;
  /** whether it is done only where the option `enable` names it */
  asked: boolean;
}

/** The back ends, and why one cannot run on this machine. */
export type BackendsRequest = Record<string, never>;

/** What can run programs here. */
export interface BackendsAnswer {
  ok: true;
  backends: Backend[];
}

/** What runs programs. */
export interface Backend {
  id: string;
  title: string;
  /** why it cannot run on this machine, or nothing */
  missing: string;
}

/** Parse and type-check: entry points, warnings, errors. */
export interface CheckRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** How to compile. */
export interface Options {
  /** compile only this entry point */
  entry?: string;
  /** what the stages from `flat` to `imp` are made for: the id of a stage of kind `text` */
  target?: string;
  /**
   * passes and rules that are switched off, such as `fuse` or `fuse/map-map`; `manifest` lists them
   */
  disable?: string[];
  /**
   * rules that are done only where they are asked for, such as `cuda/fma`; `manifest` lists them as
   * `asked`
   */
  enable?: string[];
  /** stop after that many rewrites */
  fuel?: number;
  /** values of tuning parameters by name; `tuning` lists them */
  thresholds?: Record<string, number>;
  /**
   * limits of rules by id, below the usual ones: so a small program shows what else only large ones
   * do; `rule` lists those of its program
   */
  limits?: Record<string, number>;
  /**
   * texts in the place of what the passes of a stage make, by its id: all that follows is made from
   * these; on a server only the reference interpreter runs that
   */
  edited?: Record<string, string>;
  /** check the program after every pass */
  verify?: boolean;
  /** honour `#[unsafe]` and `#[scratch]`; a server refuses it */
  unsafe?: boolean;
  /**
   * run C, without walls, under the address and undefined-behaviour sanitisers; what they find is
   * an error of kind `internal`; a server refuses it
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

/** The Futhark program that a FlatPack program (`main` ends in `.fp`) stands for. */
export interface TranslateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The program in Futhark; a Futhark program is its own translation. */
export interface TranslateAnswer {
  ok: true;
  text: string;
  /** for each line the place in the program that it is from */
  src: Span[];
}

/** Compile: stages as text lines, counts, remarks. */
export interface ShowRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** their ids; all if left out */
  stages?: string[];
  /**
   * of these whose texts are wanted; of all if left out. What is long is made when it is asked for,
   * by `text`
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
  /** null in what is streamed, where the lines come alone, and where the text is not wanted */
  text: string | null;
  /** null where the text is not wanted */
  lines: Line[] | null;
  /** how many nodes of each kind it has; of syntax trees definitions, of texts lines */
  counts: Record<string, number>;
  /** whether its passes have left the program of the stage before as it is */
  same: boolean;
  /** what making it took */
  ms: number;
  /** what printing it took */
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
  /** the number of the attempt to build in place that it tells of */
  attempt: number | null;
  /** the kind of refusal that it tells of, by its id in the list of refusals, or empty */
  refusal: string;
  /** of a fusion: the reader's places, then those of what was fused with it; `src` has both */
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

/** The text of one stage, for who compiled with `show` and wanted other texts only. */
export interface TextRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** The expressions that lines of stages come from: of the types and of the core language. */
export interface PlacesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** What the rules do that the remarks name, and how often each was applied or missed. */
export interface RulesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** What a rule has done in a program. */
export interface RuleUse {
  id: string;
  does: string;
  /** what becomes what, with code in backquotes, or nothing */
  equation: string;
  /** whether the option `disable` takes it */
  optional: boolean;
  /** how many remarks say that it was done */
  applied: number;
  /** how many say that it was not done, and why */
  missed: number;
  notes: number;
}

/** What a rule or a pass does, shown at a tiny program that is compiled with it and without. */
export interface RuleRequest {
  /** the id of a rule, or of a pass, whose rules are listed; nothing: all passes with theirs */
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
  /** whether the option `disable` takes it */
  optional: boolean;
  rules: RuleDescription[];
}

/** A rule, also one that cannot be switched off. */
export interface RuleDescription {
  id: string;
  does: string;
  /** what becomes what, with code in backquotes, or nothing */
  equation: string;
  /** whether it is done only where the option `enable` names it */
  asked: boolean;
  /** whether the option `disable` takes it */
  optional: boolean;
}

/** A rule or pass at work on a tiny program. */
export interface Shown {
  source: string;
  /** its path, or nothing */
  main: string;
  input: string;
  target: string;
  /** what else is switched off, before and after */
  disable: string[];
  /** what is lower than usual */
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
  /** what it is a number of */
  counts: string;
  usual: number;
  here: number;
}

/** A stage of a program. */
export interface Version {
  /** its id; nothing for the program as it was written */
  stage: string;
  text: string;
  /** the numbers, from 1, of the lines that the other version has not */
  changed: number[];
  /**
   * what it gives there, or nothing: what stands before the core language runs as that, and the
   * texts of back ends do not
   */
  output: string;
}

/** Several requests about one program, which run nothing: each with its `op` and fields. */
export interface BatchRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  requests: Record<string, unknown>[];
}

/** All answers, or their end. */
export interface BatchAnswer {
  ok: true;
  /** in the order of the requests; each of them came by itself if they are left out */
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

/** What stands at a place: its type, its documentation, where it is declared and used. */
export interface InspectRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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
  /** the type or the declaration, in the language; empty: nothing is known */
  says: string;
  doc: string;
  span: Span | null;
  /** where the name is declared; null for what is no name, or the library's */
  declared: Span | null;
  /** of the name in all files, that of its declaration too */
  uses: Span[];
}

/** What may be written at a place, also in a text that is not done. */
export interface CompleteRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
}

/** What may stand at a place. */
export interface CompleteAnswer {
  ok: true;
  /** where in the line the word begins that it replaces */
  column: number;
  items: CompletionItem[];
}

/** Something that may be written. */
export interface CompletionItem {
  name: string;
  /**
   * `function`, `constant`, `variable`, `size`, `type`, `type parameter`, `module`, `module type`,
   * `field`, `constructor` or `keyword`
   */
  kind: string;
  /** its type, or nothing */
  says: string;
  doc: string;
}

/** The changes of a new name, which is refused if the program would then say another thing. */
export interface RenameRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
  line?: number;
  column?: number;
  name: string;
}

/** The changes of a new name. */
export interface RenameAnswer {
  ok: true;
  edits: TextEdit[];
}

/** A text in the place of another. */
export interface TextEdit {
  span: Span;
  text: string;
}

/** The changes of which an error's hint speaks, as far as there are fewer errors then. */
export interface FixesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** Changes to choose from. */
export interface FixesAnswer {
  ok: true;
  fixes: Fix[];
}

/** A change that mends an error, and no other thing. */
export interface Fix {
  /** what it does, with code in backquotes */
  title: string;
  edits: TextEdit[];
}

/** The declarations of a file, and what folds in it. */
export interface OutlineRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its path among `files`; empty: `source` */
  file?: string;
}

/** A file from afar. */
export interface OutlineAnswer {
  ok: true;
  /** in order, those of a module behind it */
  symbols: OutlineSymbol[];
  /** the first and last lines of what folds */
  folds: number[][];
}

/** A declaration. */
export interface OutlineSymbol {
  name: string;
  kind: string;
  /** of its name */
  span: Span;
  /** in how many modules it is */
  depth: number;
}

/** A text in the one layout of all programs; one with errors of syntax has none. */
export interface FormatRequest {
  /** the text of a file */
  source: string;
  /** its path, which says its language */
  main?: string;
  /** of a line, where it can be broken so */
  width?: number;
}

/** A text in its layout. */
export interface FormatAnswer {
  ok: true;
  text: string;
}

/** What each stage has of an expression of the program. */
export interface OccurrencesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** What became of an expression. */
export interface OccurrencesAnswer {
  ok: true;
  /** by their ids; those that the program reaches */
  stages: Record<string, Occurrence>;
}

/** What a stage has of an expression. */
export interface Occurrence {
  /** how many come from it, or from inside of it */
  lines: number;
  /**
   * the first of them that has a word; if there are none, of those that it has a part in, or else
   * that hold it; or nothing
   */
  text: string;
}

/** Run an entry point on one back end. */
export interface RunRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /** names of sizes and numbers: where `input` is left out, inputs are random and have these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
  backend?: string;
  /** which one the reference interpreter `ref` runs; empty: `soa` */
  stage?: string;
  /** how often a back end runs it, in one process */
  runs?: number;
}

/** What a run gave. */
export interface RunAnswer {
  ok: true;
  /** a line for each result */
  output: string;
  /** their types, with sizes */
  results: string[];
  /** the time inside of the program, the best of up to three short runs */
  ms: number;
  /** of all runs in order, in milliseconds; not of the reference interpreter */
  times?: number[];
  /** what compiling took, here and in the back end's compiler; about 0 if it was done before */
  compile_ms?: number;
  total_ms: number;
  /** which ran it in the end */
  backend: string;
  /** of a run by the reference interpreter */
  stage?: string;
  /** why it was another back end than the one asked for; what to know of a text written by hand */
  note?: string;
  /** of a program that has `trace` or `break`: their values, by the reference interpreter */
  traces?: Traces;
  peak_bytes?: number;
  cores?: number;
  /** of arrays between kernels, not of what kernels do themselves; only C counts them */
  copies?: Copies[];
  /**
   * the results in Futhark's binary format and base64; null for those that are too large, or no
   * arrays or scalars
   */
  data?: (string | null)[];
  /** a server has the results for a while: `GET /api/results/<kept>/<number>?part=0:10,::2` */
  kept?: string;
}

/** Copies of one kind. */
export interface Copies {
  /**
   * `block`: all cells lie together, in the same order; `transposition`: what are neighbours in the
   * one are neighbours in the other along another dimension; by the sizes and strides of the run
   */
  kind: "block" | "transposition" | "general";
  count: number;
  bytes: number;
}

/**
 * Evaluate an expression over the definitions of a program, in the language of the program. Places
 * in it are in the file `<expression>`.
 */
export interface EvalRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  expression: string;
  backend?: string;
  /** tell its type only */
  typed?: boolean;
}

/** What an expression is; of a function, and where only the type is asked for, no value. */
export interface EvalAnswer {
  ok: true;
  /** a line for each result */
  output: string;
  /** their types, with sizes */
  results: string[];
  /** the time inside of the program, the best of up to three short runs */
  ms: number;
  /** of all runs in order, in milliseconds; not of the reference interpreter */
  times?: number[];
  /** what compiling took, here and in the back end's compiler; about 0 if it was done before */
  compile_ms?: number;
  total_ms: number;
  /** which ran it in the end */
  backend: string;
  /** of a run by the reference interpreter */
  stage?: string;
  /** why it was another back end than the one asked for; what to know of a text written by hand */
  note?: string;
  /** of a program that has `trace` or `break`: their values, by the reference interpreter */
  traces?: Traces;
  peak_bytes?: number;
  cores?: number;
  /** of arrays between kernels, not of what kernels do themselves; only C counts them */
  copies?: Copies[];
  /** in the notation of the program's language; of what has none, what it is */
  type: string;
}

/** Run every stage on one input and compare the results. */
export interface ValidityRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /** names of sizes and numbers: where `input` is left out, inputs are random and have these */
  sizes?: Record<string, number>;
  /** of random inputs */
  seed?: number;
  /**
   * of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array are
   * the same; `borders`: the least and largest numbers, 0, infinities and NaN
   */
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
}

/** Whether the stages agree. */
export interface ValidityAnswer {
  ok: true;
  /** for each up to `imp` that can be run whether it agrees with `soa` on this input */
  stages: Record<string, Verdict>;
}

/** Whether a stage means what the program means. */
export interface Verdict {
  /** null where the run took too long */
  valid: boolean | null;
  because: string;
  /** of a stage with memory, whose heap is watched; so with all that follows */
  verdict?: "valid" | "invalid" | "race" | "unknown";
  /** bytes */
  allocated?: number;
  /** cells */
  reads?: number;
  writes?: number;
  kernels?: number;
}

/** Inputs for an entry point, from sizes and a seed. */
export interface GenerateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** by the names that the author used */
  sizes?: Record<string, number>;
  seed?: number;
  distribution?: "uniform" | "normal" | "sorted" | "equal" | "borders";
}

/** Random inputs. */
export interface GenerateAnswer {
  ok: true;
  /** as text, a line for each parameter */
  input: string;
  /** of all names, those that were not given too */
  sizes: Record<string, number>;
}

/**
 * Run an entry point in C, and measure its kernels, copies and allocations. Of CUDA the kernels run
 * on the processor, each access watched, and what they fetch is counted.
 */
export interface ProfileRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /** names of sizes and numbers: where `input` is left out, inputs are random and have these */
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

/** What the parts of a run took, the slowest first; or what was counted, and no times. */
export interface ProfileAnswer {
  ok: true;
  /** the whole run, inside of the program */
  ms: number;
  /** what was between the parts */
  rest_ms: number;
  parts: ProfilePart[];
  /** of a target whose kernels are not timed; there are no `parts` then */
  counts?: ProfileCounts;
}

/** A kernel, a copy or an allocation of a run. */
export interface ProfilePart {
  kind: "kernel" | "copy" | "allocation";
  name: string;
  src: Span[];
  /** the first one that has something from exactly these places */
  stage: string;
  calls: number;
  /** of all calls */
  ms: number;
}

/** What was counted where nothing is timed. */
export interface ProfileCounts {
  /** in a run of the kernels on the processor; else predicted from index functions */
  observed: boolean;
  /** why there was no run, or why it did not come to its end; empty if it did */
  because: string;
  /** what no program may do on a device */
  faults: string[];
  /** those that fetch most come first */
  lines: LineSectors[];
  kernels: KernelRun[];
}

/** What the accesses of one place fetch from a device's memory. */
export interface LineSectors {
  src: Span[];
  /** of 32 bytes */
  sectors: number;
}

/** A kernel that runs. */
export interface KernelRun {
  name: string;
  launches: number;
  /** of threads, in all launches */
  blocks: number;
  /** to memory of the device and of blocks */
  requests: number;
  /** that all threads of a block came to, in all blocks, in the run that was observed */
  barriers?: number;
  /** of all launches; answers of older links have none */
  foretold?: ForetoldTime[];
}

/** A time on a device that is not at hand, told from counts and the device's data sheet. */
export interface ForetoldTime {
  device: string;
  ms: number;
  /** what takes longest */
  bound: string;
  /** whether such times were compared with measured ones on this device */
  measured: boolean;
}

/** Run an entry point by the interpreter of a stage, and tell what every statement gives. */
export interface FlowRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /** names of sizes and numbers: where `input` is left out, inputs are random and have these */
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

/** The steps of a run in order, those inside of loops and operators each time. */
export interface FlowAnswer {
  ok: true;
  /** whether arrays are cells of blocks, as they are from the first stage with memory on */
  heap: boolean;
  steps: FlowStep[];
  /** names of blocks, by number */
  blocks: string[];
  /** why these are not all steps, or empty */
  note: string;
}

/** A statement that has been run. */
export interface FlowStep {
  /** its number, as lines of the stage's text have it */
  node: number;
  values: FlowValue[];
  /** what the blocks of `values` hold after it, in that order; of a large one the first cells */
  cells?: string[][];
}

/** What a name is bound to. */
export interface FlowValue {
  name: string;
  text: string;
  /** the number of the block that the array lies in, one of `blocks` */
  block?: number;
  /** the cells of its elements, in row-major order */
  at?: number[];
}

/** Which statement hands which array, block or scalar on to which, at a stage. */
export interface DataflowRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** of the core language, IMP or kernels; of a target's text: those that it is printed from */
  stage?: string;
  /** in IMP and kernels: the name of one, whose bodies are told and no others */
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
  /** what the author calls the names in sizes */
  names: Record<string, string>;
  bodies: FlowBody[];
}

/** The statements of a body, and what they hand on. */
export interface FlowBody {
  where: string;
  src: Span[];
  nodes: FlowNode[];
  edges: FlowEdge[];
  /** how many statements are left out: they have to do with no array, or hand nothing on */
  scalars: number;
}

/** A statement; an array or block that a body is given; or its results. */
export interface FlowNode {
  label: string;
  /** of a statement, such as `map`, `segred` or `launch`; `given` or `results` */
  kind: string;
  /** what it binds; in IMP and kernels also the blocks that it writes itself */
  names: string[];
  src: Span[];
  /** in IMP and kernels: the numbers of the bodies that it has */
  bodies?: number[];
  /** in a large program: under this name the bodies of the kernel can be asked for */
  kernel?: string;
}

/** An array, from what makes it to what takes it; a block or scalar, from its last writer. */
export interface FlowEdge {
  /** the number of a node */
  source: number;
  target: number;
  array: string;
  /** what its author called it */
  base: string;
  /** not of scalars, and not of blocks whose size is not known there */
  bytes?: Polynomial;
  /** true: from the round before of a loop, or from another thread */
  carried?: boolean;
  /** true: the target writes cells of the block, and reads none */
  written?: boolean;
}

/** An operation that is none of a polynomial, such as `/`, `min` or `sgn`, and its operands. */
export interface Applied {
  op: string;
  of: Polynomial[];
}

/** Its terms: each a coefficient, then its factors, with repetition. */
export type Polynomial = readonly ((number | string | Applied)[])[];

/** Producers and consumers before fusion and after it, and why not where it was not done. */
export interface FusionRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The graph before fusion and after it, and what was tried between them. */
export interface FusionAnswer {
  ok: true;
  before: FlowFunction[];
  after: FlowFunction[];
  attempts: FusionAttempt[];
  /** what the author calls what those bind */
  names: Record<string, string>;
}

/** Two operators that were to become one. */
export interface FusionAttempt {
  rule: string;
  kind: "applied" | "missed";
  /** what it binds, or the first of two neighbours */
  producer: string[];
  /** what that binds */
  reader: string[];
  because: string;
  hint: string;
}

/** What another compiler makes of a target's text: assembly, PTX, SASS. Nothing is run. */
export interface ListingRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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
  /** its lines, with the places in the program; `ms` is what the other compilers took */
  stage: Stage;
  /** where it is machine code for a device */
  kernels: KernelUse[];
}

/** What a kernel takes of a device: of each thread, or of each block of threads. */
export interface KernelUse {
  kernel: string;
  instructions: number;
  registers: number;
  /** bytes that a thread writes to memory because registers do not do */
  spilled: number;
  /** bytes of shared memory */
  shared: number;
  /** of threads that find room on a multiprocessor at once */
  blocks: number;
  /** what part of its warps they are */
  occupancy: number;
}

/** The tests in a program's comments, in order; a block that is malformed is an error. */
export interface TestsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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
   * `run`: an input and what it gives; `refused`: the compiler refuses the program; `warning`: it
   * warns; `structure`: how many nodes of each kind a stage has; `property`: an entry point gives
   * true for whatever it is given; `compiles`: a program without data compiles
   */
  kind: "run" | "refused" | "warning" | "structure" | "property" | "compiles";
  /** which entry point is run, or nothing */
  entry: string;
  /** of the data set */
  name: string;
  tags: string[];
  /** where it begins */
  src: Span;
}

/** Run one of a program's tests. */
export interface TestRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its number */
  case: number;
  backend?: string;
}

/** What became of a test. */
export interface TestAnswer {
  ok: true;
  tested: Tested;
}

/** What became of a test. */
export interface Tested {
  number: number;
  /**
   * `unchecked`: it says something that cannot be compared here; `skipped`: it is not meant for
   * this back end, or needs a file that is not there
   */
  outcome: "passed" | "failed" | "unchecked" | "skipped";
  /** why it did not pass, or nothing */
  because: string;
  difference?: Difference;
  /** that ended it */
  error?: Problem;
  /** the time inside of the program */
  ms?: number;
}

/** Where results first differ from those that were expected. */
export interface Difference {
  /** a sentence */
  says: string;
  /** which result, from 0 */
  value?: number;
  /** the indices of the element */
  at?: number[];
  expected: string;
  found: string;
}

/** Foretell what one of a program's tests takes on a GPU. Nothing is run. */
export interface ForetellRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  case: number;
}

/** What a test takes on a GPU. */
export interface ForetellAnswer {
  ok: true;
  case: TestCase;
  foretold: EntryTime;
}

/** What a run of an entry point takes on the device whose times were compared with measured. */
export interface EntryTime {
  device: string;
  ms: number;
  /** what takes longest */
  bound: string;
  /** whether such times were compared with measured ones on this device */
  measured: boolean;
  entry: string;
  /** how far off such times are, in words */
  how_far: string;
  /** why this one may be far off; empty if nothing is known to speak for that */
  unsure: string;
}

/** Measure one of a program's tests, once it has given what it should. */
export interface BenchRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  case: number;
  backend?: string;
}

/** What a test takes. */
export interface BenchAnswer {
  ok: true;
  case: TestCase;
  measured: Measurement;
}

/** How long a test takes, in milliseconds. */
export interface Measurement {
  median: number;
  /** in which the median lies with a probability of 95 %, up to `high` */
  low: number;
  high: number;
  /** the distance of the quartiles, as a part of the median */
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
  /** the texts of what it may import, by path: `lib/sums.fut` */
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
  /** in Markdown, or code; of a directive what is shown of it, which may be nothing */
  text: string;
  src: Span;
  /** of text */
  html?: string;
  /** of a directive */
  result?: Result;
  /** why there is none */
  error?: Problem;
}

/** What a directive gives. */
export interface Result {
  /** a value */
  text?: string;
  /** of a value that is one array of numbers or truths */
  type?: string;
  /** the kind of what else it is, such as `image/png` */
  media?: string;
  /** that, in base64 */
  data?: string;
}

/** Blocks and arrays; an array's cells, or a kernel's, for given sizes. */
export interface MemoryRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** Where arrays lie. */
export interface MemoryAnswer {
  ok: true;
  functions: MemoryFunction[];
}

/** A function with its memory. */
export interface MemoryFunction {
  name: string;
  /** what each name below is called by the program's author */
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
  /** the name that its author gave it */
  base: string;
  prim: string;
  shape: Polynomial[];
  block: string;
  lmad: Cells;
  /** what a picture needs values for */
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

/** With `array`: which cell each of its elements is in. */
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
  /** whether these are all */
  complete: boolean;
}

/** An element and the cell of the block that holds it. */
export interface Cell {
  index: number[];
  cell: number;
}

/** With `kernel`: which threads touch which cells. */
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
  /** whether these are all */
  complete: boolean;
  /** whether all of these are touched in every run */
  certain: boolean;
  /** why there are no points, or why not all may be touched */
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
  /** whether these are all */
  complete: boolean;
  kernel: string;
  space: Width[];
  accesses: ThreadAccess[];
}

/** Which blocks and arrays are needed where, and how many bytes that is. */
export interface LifetimesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** one with memory */
  stage?: string;
  /** of symbols; there are no bytes if it is left out */
  values?: Record<string, number>;
}

/** Which blocks are needed where. */
export interface LifetimesAnswer {
  ok: true;
  functions: LifeFunction[];
  /** of all symbols: names that were not given one get 100 as sizes of arguments, else 10 */
  values?: Record<string, number>;
}

/** A function's memory over its statements. */
export interface LifeFunction {
  name: string;
  /** what each name below is called by the program's author */
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

/** A block and the points where it is needed. */
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
  /** whether each thread of a kernel makes one */
  per_point: boolean;
  src: Span[];
}

/** An array and the points where it is needed. */
export interface LifeArray {
  name: string;
  base: string;
  prim: string;
  shape: Polynomial[];
  lmad: Cells;
  block: string;
  /** where it lies; several if it is in one of them */
  blocks: string[];
  first: number;
  last: number;
  src: Span[];
}

/** Where most memory is needed. */
export interface Peak {
  bytes: number;
  point: number;
}

/** Which blocks are needed at the same time, and which can share memory. */
export interface InterferenceRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** one with memory */
  stage?: string;
}

/** Which blocks can share memory. */
export interface InterferenceAnswer {
  ok: true;
  functions: FunctionGraphs[];
}

/** The bodies of a function that have several blocks. */
export interface FunctionGraphs {
  name: string;
  /** what each name in `bodies` is called by the program's author */
  names: Record<string, string>;
  bodies: Interference[];
}

/** The blocks of one body, and which of them are needed at once. */
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

/** A block with its life. */
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

/** Two blocks that are needed at the same time. */
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
  /** that they need together */
  bytes: Polynomial;
  saved: Polynomial;
}

/** Each change of layout, as three generations of index functions express it. */
export interface IndexFunctionsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** What each generation of index functions can do without a copy. */
export interface IndexFunctionsAnswer {
  ok: true;
  functions: IndexFunctions[];
}

/** The changes of layout in a function. */
export interface IndexFunctions {
  name: string;
  changes: LayoutChange[];
  /** how many each generation needs */
  copies: Record<string, number>;
}

/** An array that lies otherwise than row-major in a block of its own. */
export interface LayoutChange {
  array: string;
  /** such as `transpose`, `branches`, `result` */
  does: string;
  /** of any element, such as `i, j` */
  index: string;
  forms: IndexForm[];
  /** whether stage `funmem` has it; if not, it is fused away */
  in_memory: boolean;
  /** the LMAD to whose cells the array can be moved, so that all of them fill its block once */
  tiles: string;
  src: Span[];
}

/** An array's index function as one generation writes it. */
export interface IndexForm {
  generation: "structural" | "composed" | "single";
  /** empty where the compiler has none: elements are computed as they are read */
  text: string;
  /** of the element at the change's `index` */
  cell: string;
  /** whether the array has to be copied for it */
  copies: boolean;
  /** why, or what branches and loops return for it */
  because: string;
}

/** The tree of code versions under their thresholds. */
export interface TuningRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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

/** A node of a tuning tree; which fields it has depends on its kind. */
export interface TreeNode {
  kind: "branch" | "kernel" | "loop" | "choice";
  spans: Span[];
  /** of a branch, with what follows: the amount of parallelism that is compared with it */
  threshold?: string;
  amount?: string;
  /** the same as data */
  work?: Polynomial;
  /** the threshold's value */
  default?: number;
  /** what must hold besides */
  also?: string;
  /** of a choice */
  condition?: string;
  /** of a loop */
  times?: string;
  /** of a kernel, with what follows */
  number?: number;
  operator?: string;
  level?: string;
  per_block?: boolean;
  /** index and bound */
  space?: [string, string][];
  /** how many threads */
  points?: string;
  results?: string[];
  /** sequential ones in each thread */
  loops?: number;
  then?: TreeNode[];
  orelse?: TreeNode[];
  body?: TreeNode[];
}

/** The sum types of the program's values, as constructors against the slots that they share. */
export interface SumsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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
 * How a value of a sum type lies: an `i8`, its constructor's tag, then slots. In an array of such
 * values each of them is an array of its own.
 */
export interface SumInfo {
  type: string;
  /** their types */
  slots: string[];
  /** by their tags */
  constructors: Constructor[];
  /** of a value; left out where it holds arrays */
  bytes?: number;
  /** bytes that it would take without slots that constructors share */
  apart?: number;
}

/** A constructor of a sum type. */
export interface Constructor {
  name: string;
  tag: number;
  /**
   * of each slot, what this constructor keeps in it: the number of its value, and the type; or
   * nothing, where the slot holds zeros
   */
  holds: string[];
  /** where it is applied or matched */
  src: Span[];
}

/** Whether two LMADs ever share a cell, under assumptions. */
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
  /** whether the checker, or a witness, confirms it */
  checked: boolean;
  witness: Witness | null;
  reason: string;
  /** what would have to be not negative */
  missing: Polynomial | null;
  /** what, if not negative, implies it, without some of its names */
  enough: Polynomial[];
  /** what is not negative */
  facts: Polynomial[];
  steps: Step[];
  /** as it was read */
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

/** What is not negative, since it is a sum of products of facts. */
export interface Need {
  claim: Polynomial;
  /** what the claim is multiplied by */
  scale: number;
  /**
   * products, all added; the last one may be a number above `-scale`: a whole number of which a
   * multiple is above minus the factor is not negative
   */
  sum: Product[];
}

/** A product of facts. */
export interface Product {
  coefficient: number;
  factors: Polynomial[];
}

/** Claims with their proofs, as `docs/certificates.md` says. */
export interface Certificate {
  format: string;
  version: number;
  sha256: string;
  claims: Record<string, unknown>[];
}

/** The cells of LMADs for values of their names. */
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
  /** proposed where none are given */
  values: Record<string, number>;
  /** assumed to be not negative, and negative for these values */
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
  /** whether these are all */
  complete: boolean;
}

/** Attempts to build arrays in their places, and what had to be proved. */
export interface AttemptsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** All attempts. */
export interface AttemptsAnswer {
  ok: true;
  attempts: Attempt[];
}

/** An attempt to build an array in its place. */
export interface Attempt {
  /** which remarks of it have, too */
  number: number;
  /** what each name below is called by the program's author */
  names: Record<string, string>;
  rule: string;
  source: string;
  destination: string;
  src: Span[];
  /** where the source is made */
  made: Span[];
  done: boolean;
  /** which one failed; 0: none */
  condition: number;
  /** of the condition */
  title: string;
  /** its kind, by its id in the list of refusals, or empty */
  refusal: string;
  because: string;
  hint: string;
  /** what a run on small inputs has shown of a refusal */
  witness: Clash | null;
  way_out: WayOut | null;
  place: MemoryPlace;
  creation: string;
  /** the place of the array that is created */
  projected: MemoryPlace;
  moved: Moved[];
  lifted: string[];
  obligations: Obligation[];
  /** bytes that are saved; of several, one of them */
  copied: Polynomial[];
  allocated: Polynomial[];
}

/** The inputs of a run that shows what would go wrong. */
export interface Clash {
  values: Record<string, number>;
  /** all of them as text */
  input: string;
}

/** What to insert into the source so that an attempt succeeds. */
export interface WayOut {
  line: number;
  col: number;
  text: string;
  says: string;
}

/** Where an array lies; empty where that is not known. */
export interface MemoryPlace {
  block?: string;
  lmad?: Cells;
}

/** An array and where it lies now. */
export interface Moved {
  block?: string;
  lmad?: Cells;
  array: string;
}

/** Two accesses that must not meet. */
export interface Obligation {
  verdict: "disjoint" | "overlap" | "unknown";
  /** whether the checker, or a witness, confirms it */
  checked: boolean;
  witness: Witness | null;
  reason: string;
  /** what would have to be not negative */
  missing: Polynomial | null;
  /** what, if not negative, implies it, without some of its names */
  enough: Polynomial[];
  /** what is not negative */
  facts: Polynomial[];
  steps: Step[];
  write: Cells;
  use: Cells;
  why: string;
  /** of each fact */
  origins: Origin[];
}

/** Where a fact comes from, in a few words, and its places in the source. */
export interface Origin {
  why: string;
  src: Span[];
}

/** What became of the check of each access to an array, and on what proof. */
export interface BoundsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** The accesses, in order of the text. */
export interface BoundsAnswer {
  ok: true;
  accesses: Access[];
}

/** An index, slice or update, and what became of its check. */
export interface Access {
  src: Span;
  /** what stands in brackets */
  at: Span;
  kind: "index" | "slice" | "update";
  /** `hoisted`: made once, before a loop or parallel operation; `unused`: nothing is made of it */
  state: "dropped" | "hoisted" | "kept" | "unused";
  because: string;
  claims: Claim[];
  /** what is checked when the program runs */
  missing: string[];
}

/** What is proved of an access, and the facts that it rests on. */
export interface Claim {
  says: string;
  facts: string[];
}

/** All that was proved of the program, for `stridescope verify`. */
export interface CertificateRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
}

/** What was proved. */
export interface CertificateAnswer {
  ok: true;
  certificate: Certificate;
}

/** The steps of the thesis' NOOVERLAP for two LMADs, beside this prover and Z3. */
export interface NoOverlapRequest {
  /** in the notation of `docs/proving.md` */
  assumptions?: Record<string, unknown>;
  a: string | Record<string, unknown>;
  b: string | Record<string, unknown>;
}

/** One question, asked of three. */
export interface NoOverlapAnswer {
  ok: true;
  /** as it was read */
  a: Cells;
  b: Cells;
  thesis: ByProcedure;
  ours: ByProver;
  z3: ByProver;
}

/** What the procedure comes to. */
export interface ByProcedure {
  disjoint: boolean;
  /** why not, of the step that failed */
  because: (string | Polynomial)[];
  steps: ProcedureStep[];
  /** of the processor, as the others */
  ms: number;
}

/** A step of the thesis' procedure, with both sets after it. */
export interface ProcedureStep {
  rule: "normalise" | "match" | "distribute" | "split" | "apart";
  says: (string | Polynomial)[];
  a: StridedSum;
  b: StridedSum;
  /** not negative, which the step rests on */
  shown: Polynomial[];
  /** what could not be shown not to be negative */
  missing: Polynomial[];
  failed: boolean;
  /** the steps of each case that a split makes */
  parts: ProcedureStep[][];
}

/** A sum of strided intervals: an offset, and for each dimension what may be added. */
export interface StridedSum {
  offset: Polynomial;
  /** stride, low, high */
  intervals: [Polynomial, Polynomial, Polynomial][];
}

/** What a prover comes to. */
export interface ByProver {
  verdict: "disjoint" | "overlap" | "unknown" | "absent";
  /** why it is not decided, or the cell that both hold */
  because: string;
  ms: number;
}

/**
 * What each access of the CUDA program costs, from the index functions alone. Nothing is run, so
 * that sizes may be as large as on a device.
 */
export interface AccessesRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /** names of sizes and numbers: where `input` is left out, inputs are random and have these */
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

/** The costs, and of what. */
export interface AccessesAnswer {
  ok: true;
  kernels: KernelRun[];
  accesses: WarpAccess[];
  faults: Fault[];
  /** of the run, with what the host waits for */
  foretold?: ForetoldTime[];
  /** why these times may be far off; empty if nothing is known to speak for that */
  unsure?: string;
  /** how far off those of the device that was measured are, in words */
  how_far?: string;
  /** of the C program; those that touch most lines of 64 bytes come first */
  loops: LoopAccess[];
  sizes: Record<string, number>;
  observed: boolean;
  /** why there was no run, or why it did not come to its end; empty if it did */
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
  /** whether it is memory that a block of threads shares */
  shared: boolean;
  /** of an element, in bytes */
  size: number;
  /** what a request costs on average, in words */
  says: string;
  /** from the index functions alone */
  predicted: RequestCounts;
  /** why a run may differ from that */
  because: string;
  /** left out where it depends on data */
  stride?: Stride;
  /** what was done so that neighbours find their elements next to each other, or why not */
  remarks: Remark[];
  /** the first requests of the first warps, as they were seen or else as predicted */
  samples: WarpRequest[];
  /** in the run that was observed */
  seen?: RequestCounts;
  /** whether both say the same; a difference is a defect of this compiler */
  agrees?: boolean;
  /** whether only the first requests of each block of threads were taken apart */
  partial?: boolean;
}

/** What an access costs in all launches of its kernel. */
export interface RequestCounts {
  /** of warps: what the threads that are in the same iteration of all loops ask for at once */
  requests: number;
  /** threads that take part in them */
  lanes: number;
  /** different ones in each request, added up */
  bytes: number;
  /** of 32 bytes that are fetched; of shared memory none */
  sectors: number;
  /** sectors that would do for as many bytes */
  fewest: number;
  /** over the banks of shared memory */
  passes: number;
  /** passes that would do */
  least: number;
}

/** How far apart the cells of neighbouring lanes are, but at the end of a row of indices. */
export interface Stride {
  /** in the author's names */
  elements: string;
  /** what makes that so in `cell` */
  factors: [number, number][];
  /** where it stands in the texts of stages for a GPU, if more is fetched than would do */
  places: Underlined[];
}

/** Where a line of a stage has something. */
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
   * the first byte in the block of memory that each of the 32 lanes touches; -1 of one that rests
   */
  lanes: number[];
}

/** What no program may do on a device. */
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
  /** whether the text asks the C compiler for vector code there; what it makes is not known */
  simd: boolean;
  /**
   * how many elements further on the next iteration's cell is, in the author's names; left out
   * where that depends on data
   */
  elements?: string;
  says: string;
  /** the first bytes that 16 iterations touch, counted from the lowest; none where not known */
  touched: number[];
}

/** As `accesses`, and what is seen in a run on the processor, where there is a C++ compiler. */
export interface ObserveRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  /** its name; empty: `main`, or the first one */
  entry?: string;
  /** values in Futhark's notation, those of records and sums too (`language.md`) */
  input?: string;
  /** names of sizes and numbers: where `input` is left out, inputs are random and have these */
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

/** What each place of the source costs: copies, sectors of a GPU, checks; worst first. */
export interface CostsRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
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
  /** of the entry points' arguments, by the author's names: what the numbers are for */
  sizes: Record<string, number>;
  /** by entry point, for these sizes; answers of older links have none */
  foretold?: EntryTime[];
  /** what is not known of the program, in sentences */
  unknown: string[];
}

/** Something that is paid, or (`built`, `fused`) not paid, for a place of the source. */
export interface SourceCost {
  kind: "copied" | "fetched" | "written" | "allocated" | "checked" | "missed" | "unknown" | "built" | "fused";
  src: Span[];
  /** in a few words, with numbers */
  says: string;
  /** the same beside the line of the source */
  short: string;
  /** a sentence, or empty */
  because: string;
  /** moved or taken more than needed, or saved, as far as it is counted for these sizes */
  bytes: number;
  /** where the page tells more */
  pane: "proof" | "warps" | "bounds" | "remarks";
  /** the number of the attempt that it is of */
  attempt: number | null;
  /** that decided it, or empty */
  rule: string;
  fix: Remedy | null;
}

/** What may help. */
export interface Remedy {
  says: string;
  /** passes and rules that are switched off, and would see to it */
  enable?: string[];
  /** what to insert into the source, which has been tried */
  way_out?: WayOut;
}

/** Read the file of a lesson or a puzzle, and measure what it asks for. */
export interface LessonRequest {
  lesson: string;
}

/** A lesson, or a puzzle, with its number. */
export interface LessonAnswer {
  ok: true;
  title: string;
  /** what is said first */
  html: string;
  /** HTML: what is said once the answer is known */
  after: string;
  source: string;
  options: Options;
  /** where one looks, or nothing */
  stage: string;
  /** the part of the program that is selected, or nothing */
  code: string;
  /** its place */
  src: Span | null;
  /** of the page, or nothing */
  tab: string;
  /** the array that the tab draws, or nothing */
  object: string;
  /** HTML */
  question: string;
  choices: number[];
  /** what the file says */
  answer: number | null;
  measure: string;
  /** what the compiler says */
  value: number;
  /** of the inputs */
  sizes: Record<string, number>;
  /** how the two differ, in a sentence, or nothing */
  wrong: string;
  puzzle?: Puzzle;
}

/** What a puzzle asks for: a program with the same results and a smaller number. */
export interface Puzzle {
  /** with so many it is solved */
  goal: number;
  /** what can be reached */
  par: number;
  /** HTML */
  hints: string[];
  /** a program that reaches par, or nothing */
  solution: string;
}

/**
 * Score a program as the solution of a puzzle, and compare it with the puzzle's own program. The
 * puzzle says how it is compiled. Both programs are run by the reference interpreter, on the inputs
 * of the puzzle and on generated ones.
 */
export interface SolveRequest {
  /** the program's text */
  source: string;
  /** how to compile */
  options?: Options;
  /** the texts of what it may import, by path: `lib/sums.fut` */
  files?: Record<string, string>;
  /** the path of `source` itself, which is not among `files`; empty: at the top, without a name */
  main?: string;
  lesson: string;
}

/** What somebody's program scores. */
export interface SolveAnswer {
  ok: true;
  value: number;
  /** whether it gives what the puzzle's program gives */
  same: boolean;
  /** on which input it does not, in a sentence; or on how many it does */
  because: string;
  /** the same, with no more than the goal */
  solved: boolean;
}

/** Each operation, by its id. */
export interface Operations {
  /** The stages in order, and the passes and rules that can be switched off. */
  manifest: { request: ManifestRequest; answer: ManifestAnswer };
  /** The back ends, and why one cannot run on this machine. */
  backends: { request: BackendsRequest; answer: BackendsAnswer };
  /** Parse and type-check: entry points, warnings, errors. */
  check: { request: CheckRequest; answer: CheckAnswer };
  /** The Futhark program that a FlatPack program (`main` ends in `.fp`) stands for. */
  translate: { request: TranslateRequest; answer: TranslateAnswer };
  /** Compile: stages as text lines, counts, remarks. */
  show: { request: ShowRequest; answer: ShowAnswer; partial: ShowPart };
  /** The text of one stage, for who compiled with `show` and wanted other texts only. */
  text: { request: TextRequest; answer: TextAnswer };
  /** The expressions that lines of stages come from: of the types and of the core language. */
  places: { request: PlacesRequest; answer: PlacesAnswer };
  /** What the rules do that the remarks name, and how often each was applied or missed. */
  rules: { request: RulesRequest; answer: RulesAnswer };
  /** What a rule or a pass does, shown at a tiny program that is compiled with it and without. */
  rule: { request: RuleRequest; answer: RuleAnswer };
  /** Several requests about one program, which run nothing: each with its `op` and fields. */
  batch: { request: BatchRequest; answer: BatchAnswer; partial: BatchPart };
  /** What stands at a place: its type, its documentation, where it is declared and used. */
  inspect: { request: InspectRequest; answer: InspectAnswer };
  /** What may be written at a place, also in a text that is not done. */
  complete: { request: CompleteRequest; answer: CompleteAnswer };
  /** The changes of a new name, which is refused if the program would then say another thing. */
  rename: { request: RenameRequest; answer: RenameAnswer };
  /** The changes of which an error's hint speaks, as far as there are fewer errors then. */
  fixes: { request: FixesRequest; answer: FixesAnswer };
  /** The declarations of a file, and what folds in it. */
  outline: { request: OutlineRequest; answer: OutlineAnswer };
  /** A text in the one layout of all programs; one with errors of syntax has none. */
  format: { request: FormatRequest; answer: FormatAnswer };
  /** What each stage has of an expression of the program. */
  occurrences: { request: OccurrencesRequest; answer: OccurrencesAnswer };
  /** Run an entry point on one back end. */
  run: { request: RunRequest; answer: RunAnswer };
  /**
   * Evaluate an expression over the definitions of a program, in the language of the program.
   * Places in it are in the file `<expression>`.
   */
  eval: { request: EvalRequest; answer: EvalAnswer };
  /** Run every stage on one input and compare the results. */
  validity: { request: ValidityRequest; answer: ValidityAnswer };
  /** Inputs for an entry point, from sizes and a seed. */
  generate: { request: GenerateRequest; answer: GenerateAnswer };
  /**
   * Run an entry point in C, and measure its kernels, copies and allocations. Of CUDA the kernels
   * run on the processor, each access watched, and what they fetch is counted.
   */
  profile: { request: ProfileRequest; answer: ProfileAnswer };
  /** Run an entry point by the interpreter of a stage, and tell what every statement gives. */
  flow: { request: FlowRequest; answer: FlowAnswer };
  /** Which statement hands which array, block or scalar on to which, at a stage. */
  dataflow: { request: DataflowRequest; answer: DataflowAnswer };
  /** Producers and consumers before fusion and after it, and why not where it was not done. */
  fusion: { request: FusionRequest; answer: FusionAnswer };
  /** What another compiler makes of a target's text: assembly, PTX, SASS. Nothing is run. */
  listing: { request: ListingRequest; answer: ListingAnswer };
  /** The tests in a program's comments, in order; a block that is malformed is an error. */
  tests: { request: TestsRequest; answer: TestsAnswer };
  /** Run one of a program's tests. */
  test: { request: TestRequest; answer: TestAnswer };
  /** Foretell what one of a program's tests takes on a GPU. Nothing is run. */
  foretell: { request: ForetellRequest; answer: ForetellAnswer };
  /** Measure one of a program's tests, once it has given what it should. */
  bench: { request: BenchRequest; answer: BenchAnswer };
  /** Run the directives of a literate program. */
  literate: { request: LiterateRequest; answer: LiterateAnswer };
  /** Blocks and arrays; an array's cells, or a kernel's, for given sizes. */
  memory: { request: MemoryRequest; answer: MemoryAnswer | CellsAnswer | ThreadsAnswer | BothAnswer };
  /** Which blocks and arrays are needed where, and how many bytes that is. */
  lifetimes: { request: LifetimesRequest; answer: LifetimesAnswer };
  /** Which blocks are needed at the same time, and which can share memory. */
  interference: { request: InterferenceRequest; answer: InterferenceAnswer };
  /** Each change of layout, as three generations of index functions express it. */
  index_functions: { request: IndexFunctionsRequest; answer: IndexFunctionsAnswer };
  /** The tree of code versions under their thresholds. */
  tuning: { request: TuningRequest; answer: TuningAnswer };
  /** The sum types of the program's values, as constructors against the slots that they share. */
  sums: { request: SumsRequest; answer: SumsAnswer };
  /** Whether two LMADs ever share a cell, under assumptions. */
  prove: { request: ProveRequest; answer: ProveAnswer };
  /** The cells of LMADs for values of their names. */
  cells: { request: CellsRequest; answer: CellsOfLmadsAnswer };
  /** Attempts to build arrays in their places, and what had to be proved. */
  attempts: { request: AttemptsRequest; answer: AttemptsAnswer };
  /** What became of the check of each access to an array, and on what proof. */
  bounds: { request: BoundsRequest; answer: BoundsAnswer };
  /** All that was proved of the program, for `stridescope verify`. */
  certificate: { request: CertificateRequest; answer: CertificateAnswer };
  /** The steps of the thesis' NOOVERLAP for two LMADs, beside this prover and Z3. */
  no_overlap: { request: NoOverlapRequest; answer: NoOverlapAnswer };
  /**
   * What each access of the CUDA program costs, from the index functions alone. Nothing is run, so
   * that sizes may be as large as on a device.
   */
  accesses: { request: AccessesRequest; answer: AccessesAnswer };
  /** As `accesses`, and what is seen in a run on the processor, where there is a C++ compiler. */
  observe: { request: ObserveRequest; answer: AccessesAnswer };
  /** What each place of the source costs: copies, sectors of a GPU, checks; worst first. */
  costs: { request: CostsRequest; answer: CostsAnswer };
  /** Read the file of a lesson or a puzzle, and measure what it asks for. */
  lesson: { request: LessonRequest; answer: LessonAnswer };
  /**
   * Score a program as the solution of a puzzle, and compare it with the puzzle's own program. The
   * puzzle says how it is compiled. Both programs are run by the reference interpreter, on the
   * inputs of the puzzle and on generated ones.
   */
  solve: { request: SolveRequest; answer: SolveAnswer };
}
