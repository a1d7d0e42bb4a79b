// The attempts to build arrays in their places: asked for once per program, shared by the panes.
import * as client from "../client";
import type { Answer } from "../client";
import type { Model, Text } from "../model";
import { contains, keyOf } from "../spans";
import type { Attempt, Obligation } from "../kept";
import type { Remark, Span } from "../types";
import { namesIn, plainNames, renamed } from "../polynomial";

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
  update: "update",
  concat: "concatenation",
  copy: "copy",
  "kernel-result": "result of a kernel",
  "in-place-map": "map in place",
  guard: "check of a slice",
};

export function pointOf({ rule }: Attempt): string {
  const id = rule.replace(/^.*\//, "");
  return POINTS[id] ?? id;
}

/** Return the name in the source of an array of an attempt. */
export const called = ({ names }: Attempt, name: string): string => names[name] ?? name;

/** True if an attempt's array is made at a place, or goes where that is all of. */
const isThere = ({ src, made = [] }: Attempt, place: Span): boolean =>
  made.some((span) => contains(place, span) || contains(span, place)) ||
  src.slice(0, 1).some((span) => contains(place, span));

/**
 * The attempts about a place, closest first; only where no array of theirs is made there, those that put one
 * around it.
 */
export function about(attempts: readonly Attempt[], place: Span): Attempt[] {
  const around = ({ src: [span] }: Attempt): boolean => span !== undefined && contains(span, place);
  const distance = ({ src, made }: Attempt): number =>
    Math.min(
      ...[...src.slice(0, 1), ...(made ?? [])].map((span) =>
        contains(place, span) ? 0 : contains(span, place) ? 1 + span[2] - span[0] : Infinity,
      ),
    );
  const there = attempts.filter((attempt) => isThere(attempt, place));
  return (there.length ? there : attempts.filter(around)).sort((a, b) => distance(a) - distance(b));
}

/** Return a function to each attempt's array, by its name in the source where that is unique. */
export function sourcesOf(attempts: readonly Attempt[]): (attempt: Attempt) => string {
  const names = new Map<string, number>();
  for (const attempt of attempts) names.set(nameOf(attempt), (names.get(nameOf(attempt)) ?? 0) + 1);
  return (attempt) => (names.get(nameOf(attempt)) === 1 ? called(attempt, attempt.source) : attempt.source);
}

/** Return a key of an attempt by names in the source. */
const nameOf = (one: Attempt): string =>
  JSON.stringify([called(one, one.source), called(one, one.destination), one.rule]);

/** The key that finds an attempt again, after another compilation or in a link. */
export type Key = Pick<Attempt, "rule" | "source" | "destination">;

export const sameAs =
  (key: Key) =>
  ({ rule, source, destination }: Attempt): boolean =>
    rule === key.rule && source === key.source && destination === key.destination;

const NOWHERE: Span = [0, 0, 0, 0];

type Wanted = (attempt: Attempt) => boolean;
type Found = Answer<{ ok: true; attempts: Attempt[] }>;

export class Attempts {
  private of: Text | null = null;
  private answer: Promise<Found> | null = null;

  private shower: ((wanted: Wanted) => void) | null = null;
  /** The attempt to show when there is somebody who shows it. */
  private wanted: Wanted | null = null;

  /** `opens`: open the pane that shows them. */
  constructor(
    private readonly model: Model,
    private readonly opens: () => void,
  ) {}

  /** Set the function that shows an attempt. */
  onShow(shower: (wanted: Wanted) => void): void {
    this.shower = shower;
    if (this.wanted) shower(this.wanted);
    this.wanted = null;
  }

  show(attempt: Attempt): void {
    this.shows(sameAs(attempt));
  }

  private shows(wanted: Wanted): void {
    this.opens();
    if (this.shower) this.shower(wanted);
    else this.wanted = wanted;
  }

  /** Show the attempt that a remark is about. Links from before attempts had numbers know the place only. */
  showOf(remark: Pick<Remark, "attempt" | "rule" | "src">): void {
    this.shows((one) =>
      remark.attempt === undefined
        ? one.rule === remark.rule && keyOf(one.src[0] ?? NOWHERE) === keyOf(remark.src[0] ?? NOWHERE)
        : one.number === remark.attempt,
    );
  }

  /** Those of the program that was compiled last, or that the link holds. */
  load(): Promise<Found> {
    const { made, frozen, now } = this.model;
    if (this.answer && this.of === made) return this.answer;
    this.of = made;
    this.answer = frozen?.attempts
      ? Promise.resolve({ ok: true, attempts: frozen.attempts.map(readable) })
      : ask(made ?? now);
    return this.answer;
  }
}

async function ask(of: Text): Promise<Found> {
  const answer = await client.ask("attempts", {}, of);
  return answer.ok ? { ok: true, attempts: answer.attempts.map(readable) } : answer;
}

/** Each pair once (statements that touch the same cells ask the same question), in plain names. */
function readable(attempt: Attempt): Attempt {
  const each = new Map(attempt.obligations.map((one) => [JSON.stringify([one.write, one.use, one.why]), one]));
  const told = plainly(plainly(attempt, "place", "projected", "moved"), "copied", "allocated");
  return { ...told, obligations: [...each.values()].map((one) => inPlainNames(one, attempt.names)) };
}

/** Some of an attempt's fields, in which names are as their author wrote them. */
function plainly(attempt: Attempt, ...keys: (keyof Attempt)[]): Attempt {
  const told = Object.fromEntries(keys.map((key) => [key, attempt[key]]));
  return { ...attempt, ...renamed(told, plainNames(namesIn(told), attempt.names)) };
}

function inPlainNames(one: Obligation, called: Readonly<Record<string, string>>): Obligation {
  const name = plainNames([...namesIn(one), ...Object.keys(one.witness?.values ?? {})], called);
  const shown = renamed(one, name);
  if (shown.witness)
    shown.witness.values = Object.fromEntries(
      Object.entries(shown.witness.values).map(([key, value]) => [name(key), value]),
    );
  return shown;
}
