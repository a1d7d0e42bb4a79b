// Back and forward: an entry of the browser's history for each program and set of panes.
import type { Layout } from "./layouts";
import { load, save } from "./storage";
import type { Work } from "./work";

/** The state of a history entry: the work, and the permalink, if it was one. */
export interface Stop extends Work {
  frozen: string;
  /** Where panes stand; null for the standard layout. */
  layout?: Layout | null;
}

interface Entry {
  key: string;
  stop: Stop;
}

/** The last entry of this tab: what is written while a page goes away, its history does not get. */
const LAST = "entry";

const fresh = (): string => crypto.getRandomValues(new Uint32Array(3)).join("-");

export class Travel {
  private key = entryIn(history.state)?.key ?? fresh();

  /** Until what an entry holds is there, it is not overwritten by what was there before. */
  private going = 0;

  /** `here`: what is shown, and `hash` what is selected in it, as the end of an address. */
  constructor(
    private readonly here: () => Stop,
    private readonly hash: () => string,
    go: (stop: Stop) => Promise<void>,
  ) {
    window.addEventListener("popstate", (event) => {
      const entry = entryIn(event.state);
      if (!entry) return location.reload(); // one that was made by hand
      this.key = entry.key;
      this.going += 1;
      void go(entry.stop).finally(() => (this.going -= 1));
    });
  }

  /** The state of this entry before the page was reloaded; null at its first visit. */
  static get kept(): Stop | null {
    const entry = entryIn(history.state);
    const last = entryIn(load<Entry>(LAST, true));
    return entry && last?.key === entry.key ? last.stop : (entry?.stop ?? null);
  }

  /** Keep what is here now in the current entry. */
  keep(): void {
    if (!this.going) this.write("replaceState", location.pathname);
  }

  /** Say in the address what is selected; what the entry holds stays: the text may be another one already. */
  point(): void {
    const address = location.pathname + this.hash();
    if (!this.going && address !== location.pathname + location.hash) history.replaceState(history.state, "", address);
  }

  /** Begin an entry with what is here now; the one before stays as it was kept. */
  arrive(path = location.pathname): void {
    this.key = fresh();
    this.write("pushState", path);
  }

  private write(how: "pushState" | "replaceState", path: string): void {
    const entry: Entry = { key: this.key, stop: this.here() };
    save(LAST, entry, true);
    try {
      history[how](entry, "", path + this.hash());
    } catch {
      // Too large, or too often for this browser: the entry is kept by its address alone.
      if (path !== location.pathname) history[how](null, "", path + this.hash());
    }
  }
}

function entryIn(state: unknown): Entry | null {
  const entry = state as Partial<Entry> | null;
  return typeof entry?.key === "string" && typeof entry.stop?.source === "string" && Array.isArray(entry.stop.panes)
    ? (entry as Entry)
    : null;
}
