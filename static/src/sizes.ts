// The sizes that pictures and figures are for, by the names that the program's author gave them: chosen in one pane,
// they are those of all.

type Listener = (by: object) => void;

export class Sizes {
  private chosen = new Map<string, number>();
  private supposed: Readonly<Record<string, number>> = {};
  private offered: ReadonlySet<string> = new Set();
  private readonly listeners = new Set<Listener>();
  private readonly onlookers = new Set<() => void>();

  /** `listener`: other sizes were chosen, by whom. */
  on(listener: Listener): void {
    this.listeners.add(listener);
  }

  get(name: string): number | undefined {
    return this.chosen.get(name);
  }

  /** Set the values of names until the user chooses: those of a lesson. */
  suppose(values: Readonly<Record<string, number>>): void {
    this.supposed = values;
  }

  /** Those that were chosen or are supposed, for who asks about the whole program. */
  get wanted(): Record<string, number> {
    return { ...this.supposed, ...this.now };
  }

  /** These have their fields in the page's bar. */
  offer(names: readonly string[]): void {
    if (names.length === this.offered.size && names.every((name) => this.offered.has(name))) return;
    this.offered = new Set(names);
    for (const onlooker of this.onlookers) onlooker();
  }

  /** `onlooker`: other names have fields in the bar. */
  onOffer(onlooker: () => void): void {
    this.onlookers.add(onlooker);
  }

  isOffered(name: string): boolean {
    return this.offered.has(name);
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
