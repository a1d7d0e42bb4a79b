// What a few words find among all that can be done: by its name first, then by what it is about.

export interface Named {
  group: string;
  name: string;
  /** Further words to search by, which its name does not contain. */
  about?: string;
}

/** Find those that contain all words, best first: names that begin with the first, names that contain all, others. */
export function found<T extends Named>(all: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ group, name, about = "" }: T): number => {
    const [named, told] = [`${group} ${name}`.toLowerCase(), about.toLowerCase()];
    if (!words.every((word) => named.includes(word) || told.includes(word))) return -1;
    if (!words.every((word) => named.includes(word))) return 2;
    return words.length && name.toLowerCase().startsWith(words[0]!) ? 0 : 1;
  };
  return all
    .map((one) => ({ one, at: rank(one) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
