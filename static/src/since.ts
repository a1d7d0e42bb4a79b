// What is new in a stage's text since that of the stage before.
import { diff, type Piece } from "./diff";
import { counted } from "./rail";
import type { Line } from "./types";

/** Lines that are new, and in front of which something is gone; all counted from 0. */
export interface Since {
  added: ReadonlySet<number>;
  gone: ReadonlySet<number>;
  removed: number;
}

export function since(before: readonly Line[], now: readonly Line[]): Since {
  const texts = (lines: readonly Line[]): string[] => lines.map(({ text }) => text);
  return marked(diff(texts(before), texts(now)));
}

export function marked(pieces: readonly Piece[]): Since {
  const [added, gone] = [new Set<number>(), new Set<number>()];
  let [last, removed] = [-1, 0];
  for (const piece of pieces) {
    if (piece.kind === "removed") {
      removed += 1;
      gone.add(last + 1);
      continue;
    }
    last = piece.new;
    if (piece.kind === "added") added.add(piece.new);
  }
  return { added, gone, removed };
}

/** The same in a sentence; `before` is what the stage before is called. */
export function inWords({ added, removed }: Since, before: string): string {
  if (!added.size && !removed) return `The same lines as ${before}.`;
  return `${added.size ? counted(added.size, "new line") : "No new line"}, ${removed || "none"} gone since ${before}.`;
}
