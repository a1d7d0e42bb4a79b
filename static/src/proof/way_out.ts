// After a failure: what its author could change, or state. What is proposed has been tried.
import * as client from "../client";
import { h, quoted, replace } from "../dom";
import type { Attempt, Obligation } from "../types";
import { baseOf, isGuard } from "./attempts";
import { condition, inWords } from "./words";

/** What to do about a condition (their numbers are the compiler's), where it gives no hint itself. */
function general({ condition: number, source, destination }: Attempt): string {
  const [from, to] = [baseOf(source), baseOf(destination)];
  return {
    1: `\`${from}\` comes in from outside, where it may still be needed. Make the array in the body that puts it into its place.`,
    2: "Make what goes into the place, and no more than that, by one map, tabulate or update.",
    3: `Let nothing read \`${from}\` once it is in its place: read \`${to}\` instead.`,
    4: `Compute the place's indices before \`${from}\` is made, and from nothing that depends on it.`,
    5: `Read the old values of \`${to}\` before they are overwritten, or let the two parts be further apart.`,
    6: `Use the old array for the last time before, or take it as unique (\`*\`) where it comes from.`,
  }[number] ?? "";
}

/** What could be done about the attempt, or null; what is missing for a proof is said beside it. */
export function wayOut(attempt: Attempt): HTMLElement | null {
  const open = attempt.obligations.some((one) => one.verdict === "unknown" && one.missing);
  const text = attempt.hint || (attempt.done || open || isGuard(attempt) ? "" : general(attempt));
  return text ? h("div", { class: "way-out" }, h("h3", {}, "A way out"), h("p", {}, ...quoted(text))) : null;
}

/** The assumption that would have sufficed: tried with the prover, then offered as a check. */
export function stated(attempt: Attempt, one: Obligation, source: string): HTMLElement | null {
  if (attempt.done || one.verdict !== "unknown" || !one.missing) return null;
  const element = h("div", { class: "way-out", role: "status" });
  void advise(element, attempt, one, source);
  return element;
}

async function advise(element: HTMLElement, attempt: Attempt, one: Obligation, source: string): Promise<void> {
  const sayable = [one.missing!, ...one.enough ?? []].find((claim) => isSayable(claim, source));
  const claim = sayable ?? one.missing!;
  const answer = await client.prove({ other: [...one.facts, claim] }, one.write, one.use);
  if (!answer.ok) return;
  const name = baseOf(attempt.destination);
  const said = inWords(claim);
  if (answer.verdict !== "disjoint") {
    return replace(element, h("h3", {}, "Not all that is missing"), h("p", {}, ...quoted(`Even if ${said}, the proof does not go through.`)));
  }
  replace(element, h("h3", {}, "A way out"),
    h("p", {}, ...quoted(`If ${said}, the proof goes through: this has been tried.`)),
    sayable ? h("p", {}, ...quoted(`If that always holds, state it where \`${name}\` is used before: \`assert (${condition(claim)}) ${name}\``)) : null);
}

/** Whether all names of an inequality are the author's own, so that they can be written there. */
function isSayable(claim: string, source: string): boolean {
  const names = claim.match(/[A-Za-z_][\w']*/g) ?? [];
  const own = new Set(source.replace(/--.*$/gm, "").match(/[A-Za-z_][\w']*/g) ?? []);
  return names.every((name) => own.has(name));
}
