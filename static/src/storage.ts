// What this browser keeps: the work in progress, earlier texts, sizes of panes, the theme.
import type { Key } from "./proof/attempts";
import type { Options } from "./types";
import type { RunSettings } from "./panes/run";

export interface Work {
  source: string;
  /** The example that it began as. */
  example: string;
  options: Options;
  panes: { stage: string; compare: string }[];
  tab: string;
  /** The attempt that the proof pane shows. */
  attempt?: Key | null;
  run: Partial<RunSettings>;
}

/** What was chosen for the runs of each example, and under "" for those of one's own programs. */
type Runs = Record<string, Partial<RunSettings>>;

const PREFIX = "stridescope.";
const HISTORY = 30;

/** What belongs to the browser, or to this tab alone. */
const place = (tab: boolean): Storage => (tab ? sessionStorage : localStorage);

export function load<T>(name: string, tab = false): T | null {
  try {
    const text = place(tab).getItem(PREFIX + name);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

export function save(name: string, value: unknown, tab = false): void {
  try {
    place(tab).setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full or forbidden: the page works without.
  }
}

export function saveText(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // As above.
  }
}

export interface Earlier {
  source: string;
  when: string;
}

/** Keep a text before something replaces it. */
export function remember(source: string): void {
  if (!source.trim()) return;
  const earlier = (load<Earlier[]>("history") ?? []).filter((entry) => entry.source !== source);
  save("history", [{ source, when: new Date().toISOString() }, ...earlier].slice(0, HISTORY));
}

export const earlierTexts = (): Earlier[] => load<Earlier[]>("history") ?? [];

export const runOf = (example: string): Partial<RunSettings> => load<Runs>("runs")?.[example] ?? {};

export function saveRun(example: string, settings: RunSettings): void {
  save("runs", { ...load<Runs>("runs"), [example]: settings });
}
