// The sizes that pictures and figures are for, by the names that the program's author gave them: chosen in one pane,
// they are those of all.

type Listener = (by: object) => void;

export class Sizes {
  private chosen = new Map<string, number>();
  private readonly listeners = new Set<Listener>();

  /** `listener`: other sizes were chosen, by whom. */
  on(listener: Listener): void {
    this.listeners.add(listener);
  }

  get(name: string): number | undefined {
    return this.chosen.get(name);
  }

  /** Those of these names that were chosen. */
  of(names: Iterable<string>): Record<string, number> {
    const found = [...names].flatMap((name) => {
      const value = this.chosen.get(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return Object.fromEntries(found);
  }

  choose(name: string, value: number, by: object): void {
    if (this.chosen.get(name) === value) return;
    this.chosen.set(name, value);
    this.tell(by);
  }

  /** All, for a link and the next visit. */
  get now(): Record<string, number> {
    return Object.fromEntries(this.chosen);
  }

  /** Those that somebody kept; what is none is left out. */
  restore(kept: unknown): void {
    const sound = Object.entries(kept && typeof kept === "object" ? kept : {}).filter(
      (pair): pair is [string, number] => Number.isSafeInteger(pair[1]) && pair[1] >= 0,
    );
    if (JSON.stringify(Object.fromEntries(sound)) === JSON.stringify(this.now)) return;
    this.chosen = new Map(sound);
    this.tell(this);
  }

  private tell(by: object): void {
    for (const listener of this.listeners) listener(by);
  }
}
