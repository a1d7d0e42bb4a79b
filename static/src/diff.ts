// Line differences between two texts (Myers' greedy algorithm), names compared without their tags.

export interface Piece {
  kind: "same" | "added" | "removed";
  /** Line numbers from 0 in the old and in the new text; -1 where it has none. */
  old: number;
  new: number;
}

const AROUND = 3; // equal lines beside a change
const FOLDED = 8; // more equal lines than this are folded

/** Runs of equal lines to fold, as from and to: all but those beside changes. */
export function folds(pieces: readonly Piece[]): [number, number][] {
  const found: [number, number][] = [];
  for (let from = 0; from < pieces.length;) {
    let to = from;
    while (to < pieces.length && pieces[to]!.kind === "same") to += 1;
    const [first, last] = [from ? from + AROUND : 0, to < pieces.length ? to - AROUND : to];
    if (last - first > FOLDED) found.push([first, last]);
    from = to + 1;
  }
  return found;
}

const MOST_EDITS = 800;

/** `x_12` and `x_40` are the same name to the reader of a difference. */
const plain = (line: string): string => line.replace(/(?<=[A-Za-z'])_\d+\b/g, "").trimEnd();

export function diff(before: readonly string[], after: readonly string[]): Piece[] {
  const a = before.map(plain);
  const b = after.map(plain);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) {
    tail += 1;
  }
  const pieces: Piece[] = [];
  for (let i = 0; i < head; i += 1) pieces.push({ kind: "same", old: i, new: i });
  for (const piece of middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail))) {
    pieces.push({
      kind: piece.kind,
      old: piece.old < 0 ? -1 : piece.old + head,
      new: piece.new < 0 ? -1 : piece.new + head,
    });
  }
  for (let i = tail; i > 0; i -= 1) pieces.push({ kind: "same", old: a.length - i, new: b.length - i });
  return pieces;
}

function middle(a: readonly string[], b: readonly string[]): Piece[] {
  const trace = search(a, b);
  return trace ? walkBack(a, b, trace) : wholesale(a, b);
}

/** Everything removed, everything added: what is left when two texts have nothing in common. */
function wholesale(a: readonly string[], b: readonly string[]): Piece[] {
  return [
    ...a.map((_, i): Piece => ({ kind: "removed", old: i, new: -1 })),
    ...b.map((_, i): Piece => ({ kind: "added", old: -1, new: i })),
  ];
}

/** Furthest reaching points per number of edits, or null after too many edits. */
function search(a: readonly string[], b: readonly string[]): Map<number, number>[] | null {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  let reach = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    const next = new Map<number, number>();
    trace.push(reach);
    for (let k = -edits; k <= edits; k += 2) {
      let x = goesDown(reach, k, edits) ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      next.set(k, x);
      if (x >= a.length && y >= b.length) return trace;
    }
    reach = next;
  }
  return null;
}

function goesDown(reach: ReadonlyMap<number, number>, k: number, edits: number): boolean {
  return k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
}

function walkBack(a: readonly string[], b: readonly string[], trace: Map<number, number>[]): Piece[] {
  const pieces: Piece[] = [];
  let x = a.length;
  let y = b.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits]!;
    const k = x - y;
    const before = goesDown(reach, k, edits) ? k + 1 : k - 1;
    const fromX = edits === 0 ? 0 : (reach.get(before) ?? 0);
    const fromY = edits === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      x -= 1;
      y -= 1;
      pieces.push({ kind: "same", old: x, new: y });
    }
    if (edits === 0) break;
    if (x === fromX) pieces.push({ kind: "added", old: -1, new: --y });
    else pieces.push({ kind: "removed", old: --x, new: -1 });
  }
  return pieces.reverse();
}
