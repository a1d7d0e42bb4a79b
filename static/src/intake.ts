// Files that come from this machine: dropped or chosen, alone, as folders or as .zip files.
import { bytes } from "./dom";
import { ENDING, refusalOf } from "./files";
import { BadZip, entriesOf } from "./zip";

export const MOST_FILES = 500;
/** Bytes of all texts of a program: about as much as a server takes. */
export const MOST_BYTES = 400_000;
/** Bytes of a zip file: it may hold more than programs. */
const MOST_ZIP = 50_000_000;
/** Files and folders whose name begins with a dot; `.` and `..` are no names. */
const HIDDEN = /(?:^|\/)(?:\.(?!\.?(?:\/|$))|__MACOSX(?:\/|$))/;

/** What was taken, by path, and what was not: sentences that name it. */
export interface Taken {
  texts: Map<string, string>;
  refused: string[];
  /** How many files were no programs. */
  passed: number;
}

/** A file by its path in what was dropped; its bytes are read when they are wanted. */
interface Found {
  path: string;
  size: number;
  read(): Promise<Uint8Array>;
}

/** What a drop holds. The list of items is read at once: it is empty afterwards. */
export function dropped(transfer: DataTransfer): Promise<Taken> {
  const entries = [...transfer.items].filter((item) => item.kind === "file").map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  return take(async (found) => {
    for (const { entry, file } of entries) {
      if (entry?.isDirectory) await walk(entry as FileSystemDirectoryEntry, found);
      else if (file) found.push(ofFile(file, file.name));
    }
  });
}

/** What was chosen in a dialog: files, or a folder with all that is in it. */
export function chosen(files: readonly File[]): Promise<Taken> {
  return take(async (found) => {
    for (const file of files) found.push(ofFile(file, file.webkitRelativePath || file.name));
  });
}

const ofFile = (file: File, path: string): Found => ({
  path, size: file.size, read: async () => new Uint8Array(await file.arrayBuffer()),
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
  for (const one of programs) {
    if (HIDDEN.test(one.path)) continue;
    const why = one.path.endsWith(ENDING) ? refusalOf(one.path) : "";
    if (!one.path.endsWith(ENDING)) taken.passed += 1;
    else if (why) refuse(taken, one.path, why);
    else if (taken.texts.size === MOST_FILES) refuse(taken, one.path, `A program has at most ${MOST_FILES} files here.`);
    else if (length + one.size > MOST_BYTES) refuse(taken, one.path, `All texts have at most ${bytes(MOST_BYTES)} together.`);
    else length += await keep(one, taken);
  }
  taken.texts = withoutTop(taken.texts);
  return taken;
}

/** Read a text; how many bytes it has. */
async function keep(one: Found, taken: Taken): Promise<number> {
  try {
    const data = await one.read();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    if (text.includes("\0")) throw new TypeError();
    taken.texts.set(one.path, text);
    return data.length;
  } catch (error) {
    refuse(taken, one.path, error instanceof BadZip ? `In the zip file ${error.message}.`
      : error instanceof TypeError ? "It is no text in UTF-8." : "It cannot be read.");
    return 0;
  }
}

async function unzip(zip: Found, programs: Found[], taken: Taken): Promise<void> {
  if (zip.size > MOST_ZIP) return refuse(taken, zip.path, `A zip file has at most ${bytes(MOST_ZIP)}.`);
  try {
    for (const { name, size, read } of entriesOf(await zip.read())) programs.push({ path: name.replace(/^(?:\.\/)+/, ""), size, read });
  } catch (error) {
    refuse(taken, zip.path, error instanceof BadZip ? `It is not read: ${error.message}.` : "It cannot be read.");
  }
}

const refuse = (taken: Taken, path: string, why: string): void => void taken.refused.push(`\`${path}\` is left out. ${why}`);

class TooMany extends Error {}
const MOST_WALKED = 20_000;

async function walk(folder: FileSystemDirectoryEntry, found: Found[]): Promise<void> {
  const reader = folder.createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const entry of some) {
      if (HIDDEN.test(entry.name)) continue;
      if (found.length >= MOST_WALKED) throw new TooMany(`A folder with more than ${MOST_WALKED} files is not read to its end.`);
      if (entry.isDirectory) await walk(entry as FileSystemDirectoryEntry, found);
      else found.push(await new Promise<Found>((resolve, reject) => (entry as FileSystemFileEntry).file(
        (file) => resolve(ofFile(file, entry.fullPath.slice(1))), reject)));
    }
  }
}

/** Paths from the folder in which all are. */
function withoutTop(texts: Map<string, string>): Map<string, string> {
  const names = [...texts.keys()];
  const top = names[0]?.split("/").slice(0, -1) ?? [];
  let same = 0;
  while (same < top.length && names.every((name) => name.split("/").length > same + 1 && name.split("/")[same] === top[same])) same += 1;
  return new Map([...texts].map(([name, text]) => [name.split("/").slice(same).join("/"), text]));
}
