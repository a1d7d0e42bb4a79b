// The attempts to build arrays in their places: asked for once per program, shared by the panes.
import * as client from "../client";
import type { Model, Text } from "../model";
import { contains } from "../spans";
import type { Attempt, Failure, Obligation, Span } from "../types";
import { withPlainNames } from "./names";

export type Kind = "proved" | "refused" | "aside" | "guarded" | "checked";

export const KINDS: Record<Kind, { sign: string; tone: string; words: string }> = {
  proved: { sign: "✓", tone: "good", words: "built in place" },
  refused: { sign: "✗", tone: "bad", words: "refused" },
  aside: { sign: "–", tone: "aside", words: "does not apply" },
  guarded: { sign: "✓", tone: "good", words: "slice proved in order" },
  checked: { sign: "!", tone: "open", words: "slice checked when it runs" },
};

/** Guards of slices are proved or checked; nothing is built by them. */
export const isGuard = ({ rule }: Attempt): boolean => rule.endsWith("/guard");

/** Earlier conditions are about the program's form; from this one on, the array could go there. */
const FIRST_REFUSAL = 3;

export function kindOf(attempt: Attempt): Kind {
  if (isGuard(attempt)) return attempt.done ? "guarded" : "checked";
  if (attempt.done) return "proved";
  const open = attempt.obligations.some((one) => one.verdict !== "disjoint");
  return open || attempt.condition >= FIRST_REFUSAL ? "refused" : "aside";
}

const POINTS: Record<string, string> = {
  update: "update", concat: "concatenation", copy: "copy", "kernel-result": "result of a kernel", "in-place-map": "map in place", guard: "check of a slice",
};

export function pointOf({ rule }: Attempt): string {
  const id = rule.replace(/^.*\//, "");
  return POINTS[id] ?? id;
}

export const baseOf = (name: string): string => name.replace(/_\d+$/, "");

/** Where an attempt's array goes, and where it is made. */
const placesOf = ({ src, made }: Attempt): Span[] => [...src.slice(0, 1), ...made ?? []];

export function isAbout(attempt: Attempt, place: Span): boolean {
  return placesOf(attempt).some((span) => contains(place, span) || contains(span, place));
}

/** The attempts about a place, closest first. */
export function about(attempts: readonly Attempt[], place: Span): Attempt[] {
  const distance = (attempt: Attempt): number => Math.min(...placesOf(attempt)
    .map((span) => contains(place, span) ? 0 : contains(span, place) ? 1 + span[2] - span[0] : Infinity));
  return attempts.filter((attempt) => isAbout(attempt, place)).sort((a, b) => distance(a) - distance(b));
}

/** What an attempt is found by again, after another compilation or in a link. */
export type Key = Pick<Attempt, "rule" | "source" | "destination">;

export const sameAs = (key: Key) => ({ rule, source, destination }: Attempt): boolean =>
  rule === key.rule && source === key.source && destination === key.destination;

export class Attempts {
  private of: Text | null = null;
  private answer: Promise<Attempt[] | Failure> | null = null;
  private found: Attempt[] | null = null;

  constructor(private readonly model: Model) {}

  /** Those of the current program, if they have come already. */
  get known(): Attempt[] | null {
    return this.of === this.model.made ? this.found : null;
  }

  load(): Promise<Attempt[] | Failure> {
    const { made, frozen, now } = this.model;
    if (this.answer && this.of === made) return this.answer;
    this.of = made;
    this.found = null;
    const asked = frozen?.attempts ? Promise.resolve(frozen.attempts.map(readable)) : this.ask(made ?? now);
    this.answer = asked;
    void asked.then((found) => {
      if (this.answer === asked && Array.isArray(found)) this.found = found;
    });
    return asked;
  }

  private async ask({ source, options }: Text): Promise<Attempt[] | Failure> {
    const answer = await client.attempts(source, options);
    return answer.ok ? answer.attempts.map(readable) : answer;
  }
}

/** Each pair once (statements that touch the same cells ask the same question), in plain names. */
function readable(attempt: Attempt): Attempt {
  const each = new Map(attempt.obligations.map((one) => [[one.write, one.use, one.why].join("|"), one]));
  return { ...attempt, obligations: [...each.values()].map((one): Obligation => withPlainNames(one)) };
}
