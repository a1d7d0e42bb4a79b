// The reader's work as this browser keeps it: in progress, earlier texts, deleted files, settings of runs.
import { isEmpty, sameProgram, type Deleted, type Saved } from "./files";
import type { Evaluated } from "./kept";
import type { Options } from "./types";
import type { RunSettings } from "./panes/run";
import { load, save } from "./storage";

/** Panes keep what they draw in further fields, by their `keep`. */
export interface Work extends Saved {
  /** The example that it began as. */
  example: string;
  options: Options;
  panes: { stage: string; compare: string }[];
  tab: string;
  run: Partial<RunSettings>;
  expressions?: Evaluated[];
}

/** Settings of the runs of each example, and under "" those of own programs. */
type Runs = Record<string, Partial<RunSettings>>;

const HISTORY = 30;

export interface Earlier extends Saved {
  when: string;
}

const LONGEST = 1_000_000; // characters of all that is kept in a list

/** Put something before what is in a list; what is oldest goes. */
function keepIn<T>(name: string, list: readonly T[]): void {
  let length = 0;
  const kept = list
    .slice(0, HISTORY)
    .filter((entry, k) => (length += JSON.stringify(entry).length) <= LONGEST || k === 0);
  save(name, kept);
}

/** Keep a program before something replaces it. */
export function remember(program: Saved): void {
  if (isEmpty(program)) return;
  const { source, files = {}, main, open } = program;
  const kept: Saved = Object.keys(files).length && main && open ? { source, files, main, open } : { source };
  keepIn("history", [
    { ...kept, when: new Date().toISOString() },
    ...earlierTexts().filter((entry) => !sameProgram(entry, kept)),
  ]);
}

export const earlierTexts = (): Earlier[] => load<Earlier[]>("history") ?? [];

/** Keep a file that is taken out of a program. */
export function discard(file: Deleted): void {
  if (file.text.trim())
    keepIn("deleted", [file, ...discarded().filter(({ name, text }) => name !== file.name || text !== file.text)]);
}

export const discarded = (): Deleted[] => load<Deleted[]>("deleted") ?? [];

export const runOf = (example: string): Partial<RunSettings> => load<Runs>("runs")?.[example] ?? {};

export function saveRun(example: string, settings: RunSettings): void {
  save("runs", { ...load<Runs>("runs"), [example]: settings });
}
