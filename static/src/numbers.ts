// The number at the end of a name: out of the way where it tells apart nothing.
import { load } from "./storage";

export const NAME = /\b([A-Za-z][\w']*?)(?:_(\d+))?(?![\w'])/g;

/** True if the numbers of all names are shown. */
export const numbered = (): boolean => load<boolean>("numbers") === true;

const WORD = /\b[A-Za-z][\w']*/g;

/** Names that occur in texts with one number only, and never without. */
export class Numbers {
  /** The number of each name; "" where there are several, or none. */
  private readonly of = new Map<string, string>();

  read(text: string): void {
    WORD.lastIndex = 0;
    for (let found = WORD.exec(text); found; found = WORD.exec(text)) {
      const [word] = found;
      const cut = /\d$/.test(word) ? word.lastIndexOf("_") : -1;
      const its = cut > 0 && /^\d+$/.test(word.slice(cut + 1)) ? word.slice(cut + 1) : "";
      const name = its ? word.slice(0, cut) : word;
      const before = this.of.get(name);
      if (before === undefined) this.of.set(name, its);
      else if (before !== its) this.of.set(name, "");
    }
  }

  get alone(): ReadonlySet<string> {
    return new Set([...this.of].filter(([, its]) => its).map(([name]) => name));
  }
}

/** Takes numbers out of a text that shows no other names than these texts do. */
export function unnumbered(texts: Iterable<string>): (text: string) => string {
  if (numbered()) return (text) => text;
  const numbers = new Numbers();
  for (const text of texts) numbers.read(text);
  const names = numbers.alone;
  return (text) => text.replace(NAME, (whole: string, name: string) => (names.has(name) ? name : whole));
}
