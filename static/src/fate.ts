// What became of an expression, as one sentence: what it was fused into, or what was fused into it.
import type { Remark, Span } from "./types";
import { contains, keyOf, placeName } from "./spans";

export interface Fate {
  text: string;
  /** The other statement that the sentence names. */
  other: Span;
}

interface Fusion {
  rule: string;
  reader: Span;
  /** Places of the producer that are none of the reader's, its own first. */
  producer: Span[];
  bytes: string | undefined;
}

const READERS: Record<string, string> = { hist: "histogram" };

function fusionOf({ kind, rule, src, fused, numbers }: Remark): Fusion | null {
  if (kind !== "applied" || !rule.startsWith("fuse/map-")) return null;
  // What was stored before fusions told of both apart has the reader's place first.
  const [readers, producers] = (fused as Span[][] | undefined) ?? [src.slice(0, 1), src.slice(1)];
  const [reader, ...others] = readers ?? [];
  const known = new Set([reader, ...others].map((span) => span && keyOf(span)));
  const producer = producers?.filter((span) => !known.has(keyOf(span))) ?? [];
  return reader && producer.length
    ? { rule, reader, producer, bytes: numbers.find(([name]) => name === "bytes not written")?.[1] }
    : null;
}

/** `: 4·n bytes never written`, or nothing. */
const saved = ({ bytes }: Fusion): string =>
  bytes ? `: ${bytes.replaceAll("*", "·").replace(/ ?(B|bytes)$/, "")} bytes never written` : "";

export function fateOf(remarks: readonly Remark[], place: Span): Fate | null {
  const fusions = remarks.flatMap((remark) => fusionOf(remark) ?? []);
  const touches = (span: Span): boolean => contains(place, span) || contains(span, place);
  const at = fusions.findIndex(({ reader, producer }) => !contains(place, reader) && producer.some(touches));
  const first = fusions[at];
  if (first) {
    // What it went into may itself have gone into something afterwards.
    const way = [first];
    for (const next of fusions.slice(at + 1))
      if (next.producer.some((span) => keyOf(span) === keyOf(way.at(-1)!.reader))) way.push(next);
    const { rule, reader } = way.at(-1)!;
    const word = rule.slice("fuse/map-".length);
    const rules = [...new Set(way.map((fusion) => fusion.rule))].join(" and ");
    return {
      text: `Fused into the ${READERS[word] ?? word} of ${placeName(reader)} by ${rules}${saved(first)}.`,
      other: reader,
    };
  }
  const found = fusions.find(({ reader }) => contains(place, reader));
  const producer = found?.producer.find((span) => !contains(place, span));
  return found && producer
    ? { text: `The map of ${placeName(producer)} is fused into it by ${found.rule}${saved(found)}.`, other: producer }
    : null;
}
