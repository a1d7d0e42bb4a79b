// The text of a program as requests give it: its files and options.
import type { Options } from "./types";

/** The subject of a question: a program as requests give it. */
export interface Text {
  readonly source: string;
  readonly options: Options;
  /** The other files, and the main one's path. */
  readonly files?: Record<string, string>;
  readonly main?: string;
}

export const sameText = (a: Text, b: Text): boolean =>
  a.source === b.source && a.main === b.main && same(a.options, b.options) && same(a.files, b.files);

const same = (a: object | undefined, b: object | undefined): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);

/** Return the key of a program. */
export const programOf = ({ source, options, files, main }: Text): string =>
  JSON.stringify([source, options, files, main]);
