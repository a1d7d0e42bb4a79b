// Questions about a program. Those that are asked together go in one request, and those that panes asked
// about the text before go along when the next one is compiled: they will be asked again.
import { programOf, type Text } from "./text";
import type { Failure, Problem } from "./types";

/** The result of a question: an answer or a failure. */
export type Answer<T> = T | Failure;

export interface Question {
  op: string;
  [field: string]: unknown;
}

/** Callbacks of a batch in progress. */
export interface BatchEvents {
  queued(position: number): void;
  /** The answer to the question of that number; there may be several, of which the last is not partial. */
  answer(number: number, answer: Answer<object>): void;
}

/** Sends a batch; null, or why it did not come to its end. */
export type Send = (
  text: Text,
  requests: Question[],
  events: BatchEvents,
  signal: AbortSignal | null,
) => Promise<Failure | null>;

interface Open {
  question: Question;
  resolve(answer: Answer<object>): void;
  partial?(answer: object): void;
}

const UNANSWERED: Failure = {
  ok: false,
  error: { kind: "internal", message: "The server did not answer a request.", hint: "", span: null },
};
const LAST = "costs"; // takes longest, and nobody waits for it
const MOST = 16; // questions that are asked again
const KEPT = 64; // answers about one text
const SETTLED = 500; // ms after which panes have asked what they ask

export class Questions {
  private program = "";
  private text: Text = { source: "", options: {} };
  private readonly known = new Map<string, Promise<Answer<object>>>();
  private asked = new Map<string, Question>();
  private again: Question[] = [];
  private settled = false;
  private waiting: Open[] = [];

  constructor(
    private readonly send: Send,
    private readonly trouble: (problem: Problem) => void,
  ) {}

  /** Begin with a text: these questions, and those that were asked about the one before. */
  begin(
    text: Text,
    first: readonly (Omit<Open, "resolve"> & { resolve?(answer: Answer<object>): void })[],
    queued: (position: number) => void,
    signal: AbortSignal,
  ): Promise<Failure | null> {
    if (this.settled || this.asked.size) this.again = [...this.asked.values()].slice(-MOST);
    this.turnTo(text);
    const repeated = this.again
      .filter(({ op }) => !first.some(({ question }) => question.op === op))
      .sort((a, b) => Number(a.op === LAST) - Number(b.op === LAST));
    const open = first.map(
      ({ question, resolve, partial }): Open => ({
        question,
        resolve: resolve ?? (() => undefined),
        ...(partial ? { partial } : {}),
      }),
    );
    for (const question of repeated) this.promise(question, (one) => open.push(one));
    return this.batch(open, queued, signal);
  }

  /** One question, about this text or whichever is the last one. */
  ask<T extends object>(question: Question, text = this.text): Promise<Answer<T>> {
    if (programOf(text) !== this.program) this.turnTo(text);
    this.asked.delete(slotOf(question));
    this.asked.set(slotOf(question), question);
    const found =
      this.known.get(JSON.stringify(question)) ??
      this.promise(question, (one) => {
        if (!this.waiting.length) setTimeout(() => void this.flush(), 0);
        this.waiting.push(one);
      });
    return found as Promise<Answer<T>>;
  }

  private turnTo(text: Text): void {
    void this.flush();
    this.program = programOf(text);
    this.text = text;
    this.known.clear();
    this.asked = new Map();
    this.settled = false;
  }

  private promise(question: Question, open: (one: Open) => void): Promise<Answer<object>> {
    const key = JSON.stringify(question);
    const made = new Promise<Answer<object>>((resolve) => open({ question, resolve }));
    this.known.set(key, made);
    const [oldest] = this.known.keys();
    if (this.known.size > KEPT && oldest !== undefined) this.known.delete(oldest);
    return made;
  }

  private flush(): Promise<unknown> {
    const waiting = this.waiting.splice(0, this.waiting.length);
    return waiting.length ? this.batch(waiting, () => undefined, null) : Promise.resolve();
  }

  private async batch(
    open: readonly Open[],
    queued: (position: number) => void,
    signal: AbortSignal | null,
  ): Promise<Failure | null> {
    const { program, known } = this;
    const left = new Map(open.map((one, number) => [number, one]));
    const failed = await this.send(
      this.text,
      open.map(({ question }) => question),
      {
        queued,
        answer: (number, answer) => {
          const one = left.get(number);
          if ("partial" in answer && answer.partial) return one?.partial?.(answer);
          left.delete(number);
          one?.resolve(answer);
        },
      },
      signal,
    );
    for (const { question, resolve } of left.values()) {
      if (this.program === program) known.delete(JSON.stringify(question)); // so that it can be asked again
      resolve(failed ?? UNANSWERED);
    }
    if (failed && !signal?.aborted && ["busy", "network"].includes(failed.error.kind)) this.trouble(failed.error);
    // What was asked in vain is asked again with the text.
    if (!failed) setTimeout(() => (this.settled ||= this.program === program), SETTLED);
    return failed;
  }
}

/** Return a key for a question without its values, sizes and seed. */
function slotOf({ values: _values, sizes: _sizes, seed: _seed, ...about }: Question): string {
  return JSON.stringify(about);
}
