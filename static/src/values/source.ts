// Where the elements of a result are: here, or with the server, which sends parts of it.
import * as client from "../client";
import { elements, fromBinary, fromText, typeOf, type Cut, type Values } from "./values";
import type { RunAnswer } from "../kept";

/** Results: their text, their types, and the key under which the server keeps them. */
export type Results = Pick<RunAnswer, "output" | "results" | "kept" | "cut">;

export interface Source {
  readonly prim: string;
  readonly shape: readonly number[];
  /** A part, or all of it. Throws, in words, where it is not there any more. */
  part(cuts?: readonly Cut[]): Promise<Values>;
}

const MOST_AT_ONCE = 1 << 20; // elements that are fetched to know all of a result

/** Every so many of a dimension, so that a part has no more elements than are drawn or searched. */
export function sampled(shape: readonly number[], most: readonly number[]): Cut[] {
  return shape.map((size, k) => [0, size, Math.max(1, Math.ceil(size / (most[k] ?? size)))]);
}

export const isWhole = (shape: readonly number[]): boolean => elements(shape) <= MOST_AT_ONCE;

/** The results of a run, in order; null for those that cannot be looked at by parts. */
export function sourcesOf({ output, results = [], kept }: Results): (Source | null)[] {
  const lines = output.split("\n");
  return results.map((type, k) => {
    const found = typeOf(type);
    if (!found || lines.length !== results.length) return null;
    const here = fromText(lines[k]!, type);
    if (here) return { ...found, part: (cuts) => Promise.resolve(cuts ? here.cut(cuts) : here) };
    if (!kept) return null;
    return {
      ...found,
      part: async (cuts) => {
        const [values] = fromBinary(await client.resultPart(kept, k, cuts));
        if (!values) throw new Error("The server sent no data.");
        return values;
      },
    };
  });
}
