// Line differences between two texts, names compared without their tags.

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
  for (let from = 0; from < pieces.length; ) {
    let to = from;
    while (to < pieces.length && pieces[to]!.kind === "same") to += 1;
    const [first, last] = [from ? from + AROUND : 0, to < pieces.length ? to - AROUND : to];
    if (last - first > FOLDED) found.push([first, last]);
    from = to + 1;
  }
  return found;
}

/** `x_12` and `x_40` are the same name to the reader of a difference. */
const TAG = /(?<=[A-Za-z'])_\d+\b/g;

/**
 * The differences of two texts by lines. They are the fewest (Myers' greedy algorithm) up to
 * `MOST_EDITS`; beyond, lines that both texts have once divide them, and parts that have none of
 * those, or for which `MOST_WORK` does not last, differ from end to end.
 */
export function diff(before: readonly string[], after: readonly string[]): Piece[] {
  const numbers = new Map<string, number>();
  const search = new Search(numbered(before, numbers), numbered(after, numbers));
  return search.pieces();
}

const MOST_EDITS = 400;
/** Steps of the search, and lines that it compares; a step takes some nanoseconds. */
const MOST_WORK = 500_000;

/** A number for each line, the same for lines that are equal to their reader. */
function numbered(lines: readonly string[], numbers: Map<string, number>): Int32Array {
  return Int32Array.from(lines, (line) => {
    const plain = line.replace(TAG, "").trimEnd();
    let found = numbers.get(plain);
    if (found === undefined) numbers.set(plain, (found = numbers.size));
    return found;
  });
}

class Search {
  private readonly found: Piece[] = [];
  private work = MOST_WORK;

  constructor(
    private readonly a: Int32Array,
    private readonly b: Int32Array,
  ) {}

  pieces(): Piece[] {
    this.between(0, this.a.length, 0, this.b.length);
    return this.found;
  }

  private same(old: number, now: number, count: number): void {
    for (let i = 0; i < count; i += 1) this.found.push({ kind: "same", old: old + i, new: now + i });
  }

  /** Everything removed, everything added. */
  private wholesale(a0: number, a1: number, b0: number, b1: number): void {
    for (let i = a0; i < a1; i += 1) this.found.push({ kind: "removed", old: i, new: -1 });
    for (let i = b0; i < b1; i += 1) this.found.push({ kind: "added", old: -1, new: i });
  }

  /** The differences of lines `a0` to `a1` of the one text and `b0` to `b1` of the other. */
  private between(a0: number, a1: number, b0: number, b1: number): void {
    const { a, b } = this;
    const head = this.equal(a0, b0, a1, b1);
    this.same(a0, b0, head);
    a0 += head;
    b0 += head;
    let tail = 0;
    while (tail < a1 - a0 && tail < b1 - b0 && a[a1 - 1 - tail] === b[b1 - 1 - tail]) tail += 1;
    a1 -= tail;
    b1 -= tail;
    if (a0 === a1 || b0 === b1) this.wholesale(a0, a1, b0, b1);
    else if (!this.shortest(a0, a1, b0, b1)) this.divided(a0, a1, b0, b1);
    this.same(a1, b1, tail);
  }

  /** Return the number of equal lines from there on. */
  private equal(i: number, j: number, a1: number, b1: number): number {
    const from = i;
    while (i < a1 && j < b1 && this.a[i] === this.b[j]) {
      i += 1;
      j += 1;
    }
    this.work -= i - from;
    return i - from;
  }

  /** The fewest edits; false if they are too many to find. */
  private shortest(a0: number, a1: number, b0: number, b1: number): boolean {
    const most = Math.min(a1 - a0 + b1 - b0, MOST_EDITS);
    const width = a1 - a0;
    const height = b1 - b0;
    const reach = new Int32Array(2 * most + 3); // how far each diagonal comes, from -most - 1
    const trace: Int32Array[] = [];
    for (let edits = 0; edits <= most && this.work > 0; edits += 1) {
      const middle = most + 1;
      trace.push(reach.slice(middle - edits, middle + edits + 1));
      this.work -= edits;
      for (let k = -edits; k <= edits; k += 2) {
        const [left, right] = [reach[middle + k - 1]!, reach[middle + k + 1]!];
        let x = edits === 0 ? 0 : k === -edits || (k !== edits && left < right) ? right : left + 1;
        x += this.equal(a0 + x, b0 + x - k, a1, b1);
        reach[middle + k] = x;
        if (x >= width && x - k >= height) {
          this.walkBack(a0, b0, width, height, trace);
          return true;
        }
      }
    }
    return false;
  }

  /** The edits that led there; `trace` has, for each number of edits, the diagonals before it. */
  private walkBack(a0: number, b0: number, x: number, y: number, trace: readonly Int32Array[]): void {
    const pieces: Piece[] = [];
    for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
      const reach = trace[edits]!;
      const k = x - y;
      const [left, right] = [reach[edits + k - 1] ?? 0, reach[edits + k + 1] ?? 0];
      const isDown = k === -edits || (k !== edits && left < right);
      const fromX = edits === 0 ? 0 : isDown ? right : left;
      const fromY = edits === 0 ? 0 : fromX - (isDown ? k + 1 : k - 1);
      while (x > fromX && y > fromY) pieces.push({ kind: "same", old: a0 + --x, new: b0 + --y });
      if (edits === 0) break;
      if (isDown) pieces.push({ kind: "added", old: -1, new: b0 + --y });
      else pieces.push({ kind: "removed", old: a0 + --x, new: -1 });
    }
    for (const piece of pieces.reverse()) this.found.push(piece);
  }

  /** Divide where both texts have a line once, the most of those that are in the same order. */
  private divided(a0: number, a1: number, b0: number, b1: number): void {
    const anchors = rising(this.once(a0, a1, b0, b1));
    if (!anchors.length) {
      this.wholesale(a0, a1, b0, b1);
      return;
    }
    for (const [i, j] of anchors) {
      if (i < a0) continue; // it was found to be equal already, after the anchor before it
      this.between(a0, i, b0, j);
      const count = this.equal(i, j, a1, b1);
      this.same(i, j, count);
      a0 = i + count;
      b0 = j + count;
    }
    this.between(a0, a1, b0, b1);
  }

  /** Where lines are that occur once there in each of the texts, in the order of the first. */
  private once(a0: number, a1: number, b0: number, b1: number): [number, number][] {
    const [inA, inB] = [places(this.a, a0, a1), places(this.b, b0, b1)];
    const found: [number, number][] = [];
    for (const [line, i] of inA) {
      const j = inB.get(line) ?? -1;
      if (i >= 0 && j >= 0) found.push([i, j]);
    }
    return found.sort((one, other) => one[0] - other[0]);
  }
}

/** Where each line is; -1 if it is there more than once. */
function places(lines: Int32Array, from: number, to: number): Map<number, number> {
  const found = new Map<number, number>();
  for (let i = from; i < to; i += 1) found.set(lines[i]!, found.has(lines[i]!) ? -1 : i);
  return found;
}

/** The most pairs whose second numbers rise as well (by patience sorting). */
function rising(pairs: readonly [number, number][]): [number, number][] {
  const tops: number[] = []; // the pair with the least second number that ends so many
  const before = new Int32Array(pairs.length);
  pairs.forEach(([, j], at) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (pairs[tops[mid]!]![1] < j) low = mid + 1;
      else high = mid;
    }
    before[at] = low ? tops[low - 1]! : -1;
    tops[low] = at;
  });
  const found: [number, number][] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at]!) found.push(pairs[at]!);
  return found.reverse();
}
