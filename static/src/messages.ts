// What is told of a problem: its message, its code, its hint, and the places that it has to do with.
import { h, quoted } from "./dom";
import { placeName } from "./spans";
import type { Problem, Span } from "./types";

const NAMES: Record<string, string> = {
  syntax: "Syntax",
  type: "Type",
  usage: "Program",
  runtime: "Run",
  limitation: "Not supported yet",
  timeout: "Too long",
  internal: "Our fault",
  busy: "Busy",
  unavailable: "Not now",
  network: "No answer",
  warning: "Warning",
};

export const kindName = (kind: string): string => NAMES[kind] ?? kind;

/**
 * A problem's message with its kind, its code, the place if that is another file's, and its hint, and what
 * else there is about it.
 */
export function messageElement(
  problem: Problem,
  className = "",
  more: HTMLElement | null = null,
  others: HTMLElement[] = [],
  where: HTMLElement | null = null,
): HTMLElement {
  return h(
    "div",
    { class: `problem-text ${className} kind-${problem.kind}`, role: "note" },
    h("span", { class: "problem-kind" }, kindName(problem.kind)),
    " ",
    h("span", { class: "problem-message" }, ...quoted(problem.message)),
    " ",
    problem.code ? explanation(problem.code) : null,
    where && " ",
    where,
    ...others,
    problem.hint ? h("span", { class: "problem-hint" }, ...quoted(problem.hint)) : null,
    more,
  );
}

const explanation = (code: string): HTMLElement =>
  h(
    "a",
    {
      class: "problem-code",
      href: `/explain/${code}`,
      target: "_blank",
      title: "What this means, with a wrong and a fixed program",
    },
    code,
  );

/** The other places that an error has to do with, each with what is there. */
export function relatedTo({ related = [] }: Problem, goTo: (span: Span) => void): HTMLElement[] {
  return related.map(({ span, message }) =>
    h(
      "span",
      { class: "problem-related" },
      span ? h("button", { class: "link place", onclick: () => goTo(span) }, placeName(span)) : null,
      span ? ": " : "",
      ...quoted(message),
    ),
  );
}

/** The calls that led to the place of a failure, the innermost first. */
export function callsTo({ calls = [] }: Problem, goTo: (span: Span) => void): HTMLElement | null {
  if (!calls.length) return null;
  return h(
    "p",
    { class: "calls" },
    "Called from ",
    ...calls.flatMap((span, k) => [
      k ? ", in turn from " : "",
      h("button", { class: "link place", onclick: () => goTo(span) }, placeName(span)),
    ]),
  );
}
