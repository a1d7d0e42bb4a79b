// Files that come from this machine: dropped or chosen, alone, as folders or as .zip files.
import { bytes } from "./dom";
import { baseOf, ENDING, imported, importsIn, isManifest, MAIN, ownOf, refusalOf } from "./files";
import { BadZip, entriesOf } from "./zip";

export const MOST_FILES = 500;
/** Bytes of all texts of a program: about as much as a server takes. */
export const MOST_BYTES = 400_000;
/** Bytes of a zip file: it may hold more than programs. */
const MOST_ZIP = 50_000_000;
/** Files and folders whose name begins with a dot; `.` and `..` are no names. */
const HIDDEN = /(?:^|\/)(?:\.(?!\.?(?:\/|$))|__MACOSX(?:\/|$))/;

/** Files that were taken, by path, and a sentence about each that was refused. */
export interface Taken {
  texts: Map<string, string>;
  refused: string[];
  /** The number of files that are no programs. */
  passed: number;
}

/** A file by its path in what was dropped; how long it is and what is in it are asked when it is wanted. */
interface Found {
  path: string;
  open(): Promise<Opened>;
}

interface Opened {
  size: number;
  read(): Promise<Uint8Array>;
}

/** Read the files of a drop. The list of items is read at once: it is empty afterwards. */
export function dropped(transfer: DataTransfer): Promise<Taken> {
  const entries = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  return take(async (found) => {
    for (const { entry, file } of entries) {
      if (entry?.isDirectory) await walk(entry as FileSystemDirectoryEntry, found);
      else if (file) found.push(ofFile(file, file.name));
    }
  });
}

/** Read the choice of a dialog: files, or a folder with its contents. */
export function chosen(files: readonly File[]): Promise<Taken> {
  return take(async (found) => {
    for (const file of files) found.push(ofFile(file, file.webkitRelativePath || file.name));
  });
}

const ofFile = (file: File, path: string): Found => ({ path, open: () => Promise.resolve(opened(file)) });
const opened = (file: File): Opened => ({
  size: file.size,
  read: async () => new Uint8Array(await file.arrayBuffer()),
});

async function take(gather: (found: Found[]) => Promise<void>): Promise<Taken> {
  const found: Found[] = [];
  const taken: Taken = { texts: new Map(), refused: [], passed: 0 };
  try {
    await gather(found);
  } catch (error) {
    taken.refused.push(error instanceof TooMany ? error.message : "A folder cannot be read.");
  }
  const programs: Found[] = [];
  for (const one of found) {
    if (!one.path.toLowerCase().endsWith(".zip")) programs.push(one);
    else await unzip(one, programs, taken);
  }
  let length = 0;
  for (const one of byNeed(
    programs.filter(({ path }) => !HIDDEN.test(path)),
    taken.texts,
  )) {
    const wanted = one.path.endsWith(ENDING) || isManifest(one.path);
    const why = wanted ? refusalOf(one.path) : "";
    if (!wanted) taken.passed += 1;
    else if (why) refuse(taken, one.path, why);
    else if (taken.texts.size === MOST_FILES)
      refuse(taken, one.path, `A program may have at most ${MOST_FILES} files.`);
    else length += await keep(one, MOST_BYTES - length, taken);
  }
  taken.texts = withoutTop(taken.texts);
  return taken;
}

/**
 * Yield files by need, as a program may not have all of them: its own first, then their imports, step by step;
 * the other files of packages come last. `texts` has those that were taken so far.
 */
function* byNeed(found: Found[], texts: ReadonlyMap<string, string>): Generator<Found> {
  const waiting = new Map(found.sort(byDepth).map((one) => [one.path, one]));
  function* withImports(paths: string[]): Generator<Found> {
    for (const path of paths) {
      const one = waiting.get(path);
      if (!one) continue;
      waiting.delete(path);
      yield one;
      for (const named of importsIn(texts.get(path) ?? "")) paths.push(imported(path, named.path) ?? "");
    }
  }
  yield* withImports([...waiting.keys()].filter(isManifest));
  yield* withImports([...waiting.keys()].filter(ownOf(texts)));
  yield* waiting.values();
}

/** Order files by depth: those that import others lie near the top. */
const byDepth = (a: Found, b: Found): number => depthOf(a) - depthOf(b) || (a.path < b.path ? -1 : 1);
const depthOf = ({ path }: Found): number => path.split("/").length - (baseOf(path) === MAIN ? 0.5 : 0);

/** Read a text, of at most so many bytes; how many it has. */
async function keep(one: Found, most: number, taken: Taken): Promise<number> {
  try {
    const { size, read } = await one.open();
    if (size > most) {
      refuse(taken, one.path, `All files together may have at most ${bytes(MOST_BYTES)}.`);
      return 0;
    }
    const data = await read();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    if (text.includes("\0")) throw new TypeError();
    taken.texts.set(one.path, text);
    return data.length;
  } catch (error) {
    refuse(
      taken,
      one.path,
      error instanceof BadZip
        ? `In the zip file ${error.message}.`
        : error instanceof TypeError
          ? "It is not UTF-8 text."
          : "It cannot be read.",
    );
    return 0;
  }
}

async function unzip(zip: Found, programs: Found[], taken: Taken): Promise<void> {
  try {
    const { size, read } = await zip.open();
    if (size > MOST_ZIP) return refuse(taken, zip.path, `A zip file may have at most ${bytes(MOST_ZIP)}.`);
    for (const entry of entriesOf(await read()))
      programs.push({ path: entry.name.replace(/^(?:\.\/)+/, ""), open: () => Promise.resolve(entry) });
  } catch (error) {
    refuse(taken, zip.path, error instanceof BadZip ? `It is not read: ${error.message}.` : "It cannot be read.");
  }
}

const refuse = (taken: Taken, path: string, why: string): void =>
  void taken.refused.push(`\`${path}\` is left out. ${why}`);

class TooMany extends Error {}
const MOST_WALKED = 20_000;

/** The files of a folder, level by level. */
async function walk(top: FileSystemDirectoryEntry, found: Found[]): Promise<void> {
  for (const folders = [top]; folders.length; ) {
    const reader = folders.shift()!.createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) break;
      for (const entry of some.filter(({ name }) => !HIDDEN.test(name))) {
        if (found.length >= MOST_WALKED)
          throw new TooMany(`Of a folder with more than ${MOST_WALKED} files the rest was skipped.`);
        if (entry.isDirectory) folders.push(entry as FileSystemDirectoryEntry);
        else
          found.push({
            path: entry.fullPath.slice(1),
            open: async () => opened(await fileOf(entry as FileSystemFileEntry)),
          });
      }
    }
  }
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** Paths from the folder in which all are. */
function withoutTop(texts: Map<string, string>): Map<string, string> {
  const names = [...texts.keys()];
  const top = names[0]?.split("/").slice(0, -1) ?? [];
  let same = 0;
  while (
    same < top.length &&
    names.every((name) => name.split("/").length > same + 1 && name.split("/")[same] === top[same])
  )
    same += 1;
  return new Map([...texts].map(([name, text]) => [name.split("/").slice(same).join("/"), text]));
}
