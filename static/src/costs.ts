// What places of the source cost, as the compiler tells it: which of it is about a place or a line.
import { contains, fileOf } from "./spans";
import type { SourceCost, Span } from "./types";

type Kind = SourceCost["kind"];

/** A sign for each kind: colours only help. */
const SIGNS: Record<Kind, string> = {
  copied: "»",
  fetched: "↓",
  written: "↑",
  allocated: "+",
  checked: "?",
  missed: "–",
  unknown: "?",
  built: "✓",
  fused: "✓",
};

export const signOf = ({ kind }: Pick<SourceCost, "kind">): string => SIGNS[kind];

/** True if the entry is a gain: all others are costs. */
export const isGain = ({ kind }: Pick<SourceCost, "kind">): boolean => kind === "built" || kind === "fused";

const MARKED: ReadonlySet<Kind> = new Set(["copied", "fetched", "written", "allocated", "checked"]);

/** True if it is marked beside its line: gains and unknown costs are told on request. */
export const isMarked = ({ kind }: Pick<SourceCost, "kind">): boolean => MARKED.has(kind);

/** Return the tone of a cost: bytes are bad, a gain is good, all else is open. */
export const toneOf = (cost: Pick<SourceCost, "kind" | "bytes">): string =>
  isGain(cost) ? "good" : cost.bytes > 0 ? "bad" : "open";

/**
 * Those about a place: worst first what lies in it, then what is about an expression around it. Of what is put
 * together there those parts that are made elsewhere in it are left out.
 */
export function costsAt(costs: readonly SourceCost[], place: Span): SourceCost[] {
  const inside = costs.filter(({ src }) => src.slice(0, 1).some((span) => contains(place, span)));
  const around = costs.filter(
    (one) => !inside.includes(one) && one.src.slice(0, 1).some((span) => contains(span, place)) && !isOther(one, place),
  );
  return [...inside, ...around];
}

/** True if it is about an array that another part of its place makes. */
function isOther({ src, made = [] }: SourceCost, place: Span): boolean {
  const parts = made.filter((part) => src.slice(0, 1).some((span) => contains(span, part)));
  return parts.length > 0 && !parts.some((part) => contains(part, place) || contains(place, part));
}

/** The first of those that say the same of a line: in short they are one. Those of one place are counted. */
export function distinct(costs: readonly SourceCost[]): SourceCost[] {
  const found = new Map<string, SourceCost>();
  for (const cost of costs) {
    const [place] = cost.src;
    const key = `${cost.says} ${place ? `${place[0]} ${fileOf(place)}` : ""}`;
    const first = found.get(key);
    if (!first) found.set(key, cost);
    else if (JSON.stringify(first.src) === JSON.stringify(cost.src))
      found.set(key, { ...first, times: timesOf(first) + timesOf(cost) });
  }
  return [...found.values()];
}

const timesOf = ({ times = 1 }: SourceCost): number => times;

/** A cost in a few words. */
export const saidOf = (cost: SourceCost): string =>
  timesOf(cost) > 1 && cost.kind !== "unknown" ? `${cost.says}, ${cost.times} times` : cost.says;

/** The mark beside a line. */
export interface LineCost {
  line: number;
  /** The worst one. */
  cost: SourceCost;
  /** All of the line, worst first. */
  all: SourceCost[];
  /** Its share of the worst line's bytes, from 1 to 4; 0: none. */
  level: number;
}

/** Return the costs of a file's lines, by the first line of each place. */
export function lineCosts(costs: readonly SourceCost[], path: string): LineCost[] {
  const lines = new Map<number, SourceCost[]>();
  for (const cost of costs) {
    const place = cost.src[0];
    if (place && fileOf(place) === path) lines.set(place[0], [...(lines.get(place[0]) ?? []), cost]);
  }
  const paid = (all: readonly SourceCost[]): number =>
    all.reduce((sum, cost) => sum + (isGain(cost) ? 0 : cost.bytes), 0);
  const most = Math.max(0, ...[...lines.values()].map(paid));
  return [...lines]
    .map(([line, all]) => ({ line, cost: all[0]!, all, level: most ? Math.ceil((4 * paid(all)) / most) : 0 }))
    .sort((a, b) => a.line - b.line);
}

/** A cost in a sentence or more: what, why, and its number as a formula. */
export const told = (cost: SourceCost): string =>
  [`${saidOf(cost)}.`, cost.because, cost.formula ? `${cost.formula}.` : ""].filter(Boolean).join(" ");
