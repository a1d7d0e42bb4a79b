// The files of a program, by their paths from its top folder: `main.fut`, `lib/sums.fut`. One is the main
// one: in spans it has no name.

/** An import in a text: what it names, and where. */
export interface Import {
  path: string;
  /** Offsets of its string, with the quotes. */
  from: number;
  to: number;
}

/** Comments and strings are passed over; an `import` may have comments before its string. */
const TOKENS = /--[^\n]*|(?<![\w'])import((?:\s|--[^\n]*\n)*)"([^"\n]*)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'/g;

export function importsIn(text: string): Import[] {
  if (!text.includes("import")) return [];
  return [...text.matchAll(TOKENS)]
    .filter((match) => match[2] !== undefined)
    .map((match) => {
      const from = match.index + "import".length + match[1]!.length;
      return { path: match[2]!, from, to: from + match[2]!.length + 2 };
    });
}

export const ENDING = ".fut";
/** The file extension of FlatPack. */
export const FLATPACK = ".fp";
export const MAIN = `main${ENDING}`;
/** Says which packages a program requires, in which versions: what is told of errors about packages. */
export const MANIFEST = "futhark.pkg";
export const isManifest = (name: string): boolean => baseOf(name) === MANIFEST;
const LONGEST = 200; // characters of a path
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** A program as it is kept: `source` is the main file's text, `files` are the others. */
export interface Saved {
  source: string;
  files?: Record<string, string> | undefined;
  main?: string | undefined;
  /** The file in the editor. */
  open?: string | undefined;
}

export interface Deleted {
  name: string;
  text: string;
}

export class Files {
  main = MAIN;
  open = MAIN;
  private texts = new Map<string, string>([[MAIN, ""]]);
  private known: Record<string, string> | null = null;

  /** The main one first, the others in order of their paths. */
  names(): string[] {
    return [this.main, ...[...this.texts.keys()].filter((name) => name !== this.main).sort()];
  }

  has(name: string): boolean {
    return this.texts.has(name);
  }

  text(name: string): string {
    return this.texts.get(name) ?? "";
  }

  get source(): string {
    return this.text(this.main);
  }

  /** Files that the main file may import; the same object while they are unchanged. */
  get others(): Record<string, string> {
    return (this.known ??= Object.fromEntries(
      this.names()
        .slice(1)
        .map((name) => [name, this.text(name)]),
    ));
  }

  /** Return the name of a file in spans: "" for the main one. */
  pathOf(name: string): string {
    return name === this.main ? "" : name;
  }

  /** The file that spans call so. */
  nameOf(path: string): string {
    return path || this.main;
  }

  write(name: string, text: string): void {
    if (this.texts.get(name) === text) return;
    if (name !== this.main) this.known = null;
    this.texts.set(name, text);
  }

  remove(name: string): void {
    this.texts.delete(name);
    if (this.main === name) this.main = mainOf(this.texts);
    if (this.open === name) this.open = this.main;
    this.known = null;
  }

  rename(name: string, to: string): void {
    const text = this.text(name);
    this.texts.delete(name);
    this.texts.set(to, text);
    if (this.main === name) this.main = to;
    if (this.open === name) this.open = to;
    this.known = null;
  }

  setMain(name: string): void {
    this.main = name;
    this.known = null;
  }

  saved(): Required<Saved> {
    const { source, others, main, open } = this;
    return { source, files: others, main, open };
  }

  load({ source, files = {}, main: named, open }: Saved): void {
    const main =
      named ||
      [MAIN, ...Array.from(Object.keys(files), (_, k) => `main_${k + 2}${ENDING}`)].find((name) => !(name in files))!;
    this.texts = new Map([...Object.entries(files), [main, source]]);
    this.main = main;
    this.open = open && this.texts.has(open) ? open : main;
    this.known = null;
  }

  /** Why a file cannot have this name, or "". */
  refusal(name: string, instead = ""): string {
    const refused = refusalOf(
      instead === this.main && name.endsWith(FLATPACK) ? name.slice(0, -FLATPACK.length) + ENDING : name,
    );
    if (refused) return refused;
    const same = [...this.texts.keys()].find(
      (other) => other !== instead && other.toLowerCase() === name.toLowerCase(),
    );
    if (!same) return "";
    return same === name ? `There is a file \`${name}\` already.` : `\`${same}\` and \`${name}\` differ in case only.`;
  }
}

/** The same program, whichever of its files is open. */
export function sameProgram(a: Saved, b: Saved): boolean {
  const parts = ({ source, files = {}, main = MAIN }: Saved): string =>
    JSON.stringify([source, main, Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1))]);
  return parts(a) === parts(b);
}

export const isEmpty = ({ source, files = {} }: Saved): boolean =>
  !source.trim() && !Object.values(files).some((text) => text.trim());

/** The file that an import in another names; null where it names none that a program could have. */
export function imported(from: string, path: string): string | null {
  if (!path || path.startsWith("/") || path.includes("\\")) return null;
  const name = joined(folderOf(from), path) + ENDING;
  return name.startsWith("../") ? null : name;
}

/** The line of a manifest that names its package. */
const PACKAGE = /^\s*package\s+(\S+)/m;
/** A file of a package, where `futhark pkg sync` puts it. */
const IN_PACKAGE = /(?:^|\/)lib\/([^/]+\.[^/]+\/[^/]+\/[^/]+)\//;

/** Return a test for the program's own files: of no package, or of one with a manifest here. */
export function ownOf(texts: ReadonlyMap<string, string>): (name: string) => boolean {
  const own = new Set([
    undefined,
    ...[...texts].map(([name, text]) => (isManifest(name) ? PACKAGE.exec(text)?.[1] : undefined)),
  ]);
  return (name) => own.has(IN_PACKAGE.exec(name)?.[1]);
}

/**
 * The likely main file: one of its own with an entry point, that no other imports if there is one; the first with
 * the fewest folders.
 */
export const mainOf = (texts: ReadonlyMap<string, string>): string => candidates(texts)[0] ?? MAIN;

/** The files that can be the main one, those with an entry point; without any, all. The likely one comes first. */
export function candidates(texts: ReadonlyMap<string, string>): string[] {
  const programs = [...texts.keys()].filter((name) => !isManifest(name));
  const wanted = new Set(
    [...texts].flatMap(([name, text]) =>
      importsIn(text)
        .map(({ path }) => imported(name, path))
        .filter((other) => other !== name),
    ),
  );
  const isOwn = ownOf(texts);
  const rank = (name: string): number[] => [
    isOwn(name) ? 0 : 1,
    hasEntry(texts.get(name)!) ? 0 : 1,
    wanted.has(name) ? 1 : 0,
    name.split("/").length,
    baseOf(name) === MAIN ? 0 : 1,
  ];
  const ranked = programs.map((name) => ({ name, rank: rank(name) }));
  ranked.sort((a, b) => {
    const at = a.rank.findIndex((one, k) => one !== b.rank[k]);
    return at >= 0 ? a.rank[at]! - b.rank[at]! : a.name < b.name ? -1 : 1;
  });
  const all = ranked.map(({ name }) => name);
  const entered = all.filter((name) => hasEntry(texts.get(name)!));
  return entered.length ? entered : all;
}

/** A name with what cannot be seen, or turns the direction, made visible. */
export const visible = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");

/** True if a text has an entry point, as far as its lines tell. */
export const hasEntry = (text: string): boolean =>
  /^\s*(?:#\[[^\]]*\]\s*)*(?:entry\s|(?:def|let)\s+main\b)/m.test(text);

/** Why no file can have this path, or "". */
export function refusalOf(name: string): string {
  if (!isManifest(name) && (!name.endsWith(ENDING) || baseOf(name) === ENDING)) {
    const packed = name.endsWith(FLATPACK) ? "; only a main program can be in FlatPack" : "";
    return `A file's name ends in \`${ENDING}\`${packed}.`;
  }
  if (UNSEEN.test(name)) return "A name cannot contain invisible characters.";
  if (/["\\]/.test(name)) return 'An `import` cannot name a file with `"` or `\\` in its name.';
  if (name.split("/").some((part) => !part.trim() || part === "." || part === ".."))
    return "A folder between two `/` needs a name.";
  return name.length > LONGEST ? `A path may have at most ${LONGEST} characters.` : "";
}

/**
 * Return the changes of each file's imports after a file is renamed from `name` to `to`, such that they lead
 * to the same files as before.
 */
export function followed(
  files: Files,
  name: string,
  to: string,
): Map<string, { from: number; to: number; insert: string }[]> {
  const found = new Map<string, { from: number; to: number; insert: string }[]>();
  for (const file of files.names()) {
    const before = file === to ? name : file;
    const changes = importsIn(files.text(file)).flatMap(({ path, from, to: end }) => {
      const led = imported(before, path);
      const leads = led === name ? to : led;
      if (leads === null || !files.has(leads) || imported(file, path) === leads) return [];
      return [{ from, to: end, insert: `"${pathTo(file, leads)}"` }];
    });
    if (changes.length) found.set(file, changes);
  }
  return found;
}

/** Return the path for an import of another file. */
function pathTo(from: string, name: string): string {
  const [folder, parts] = [from.split("/").slice(0, -1), name.slice(0, -ENDING.length).split("/")];
  const at = folder.findIndex((one, k) => one !== parts[k] || k === parts.length - 1);
  const shared = at < 0 ? folder.length : at;
  return [...folder.slice(shared).map(() => ".."), ...parts.slice(shared)].join("/");
}

export const baseOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1);
export const folderOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));

/** A path from a folder, written from the top, without `.` and with `..` at its beginning at most. */
function joined(folder: string, path: string): string {
  const parts: string[] = [];
  for (const part of [...folder.split("/"), ...path.split("/")]) {
    if (part === ".." && parts.length && parts.at(-1) !== "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

export function firstWords({ source, files = {} }: Saved): string {
  const words = source
    .trim()
    .split("\n")[0]!
    .replace(/^-+\s*/, "")
    .slice(0, 40);
  const others = Object.keys(files).length;
  return others ? `${words} (${others + 1} files)` : words;
}
