// The number at the end of a name: out of the way where it tells apart nothing.
import { load } from "./storage";

export const NAME = /\b([A-Za-z][\w']*?)(?:_(\d+))?(?![\w'])/g;

/** Whether the numbers of all names are shown. */
export const numbered = (): boolean => load<boolean>("numbers") === true;

/** Names that stand in texts with one number only, and never without. */
export function alone(texts: Iterable<string>): ReadonlySet<string> {
  const first = new Map<string, string>();
  const many = new Set<string>();
  for (const text of texts) {
    for (const [, name, its = ""] of text.matchAll(NAME)) {
      if ((first.get(name!) ?? its) !== its || !its) many.add(name!);
      first.set(name!, its);
    }
  }
  return new Set([...first.keys()].filter((name) => !many.has(name)));
}

/** Takes numbers out of a text that shows no other names than these texts do. */
export function unnumbered(texts: Iterable<string>): (text: string) => string {
  if (numbered()) return (text) => text;
  const names = alone(texts);
  return (text) => text.replace(NAME, (whole: string, name: string) => names.has(name) ? name : whole);
}
