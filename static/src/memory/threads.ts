// Which points of a kernel touch each cell of a block: all of them, writers apart from readers.
import * as client from "../client";
import type { Text } from "../model";
import { contains } from "../spans";
import { namesIn } from "../polynomial";
import type { ArrayInfo, KernelInfo, MemoryFunction, ThreadAccess } from "../types";

export interface Touches {
  /** In words: which kernel, and whether it reads or writes. */
  label: string;
  verb: "reads" | "writes";
  /** The points of the kernel's space, in order: the place in this list is a thread's number. */
  points: readonly number[][];
  /** The numbers of those that touch a cell, in order. */
  by: ReadonlyMap<number, readonly number[]>;
  /** The names on which its number of points depends. */
  symbols: readonly string[];
  /** Notes about parts that are not drawn, or may not happen in each run. */
  notes: string[];
}

const MOST_KERNELS = 6;

/** Return each kernel's accesses to the block of an array, writes first. */
export async function touchesOf(
  of: Text,
  stage: string,
  fun: MemoryFunction,
  array: ArrayInfo,
  values: Record<string, number>,
): Promise<Touches[]> {
  const found: Touches[] = [];
  for (const kernel of candidates(fun, array)) {
    const answer = await client.ask("memory", { stage, kernel: kernel.name, values }, of);
    if (!answer.ok || !("accesses" in answer)) continue;
    const here = answer.accesses.filter((access) => access.block === array.block);
    for (const writes of [true, false]) {
      const same = here.filter((access) => access.writes === writes);
      if (same.length) found.push(together(kernel, writes, same));
    }
  }
  return found.sort((a, b) => Number(b.verb === "writes") - Number(a.verb === "writes"));
}

/** Kernels from the same place in the source first; inner ones are steps of the threads of others. */
function candidates(fun: MemoryFunction, array: ArrayInfo): KernelInfo[] {
  const place = array.src[0];
  const near = (kernel: KernelInfo) =>
    kernel.name === array.name ? -1 : place && kernel.src[0] && contains(kernel.src[0], place) ? 0 : 1;
  return fun.kernels
    .filter(({ level }) => level === "grid")
    .sort((a, b) => near(a) - near(b))
    .slice(0, MOST_KERNELS);
}

/** All accesses of a kernel to a block, of one kind. */
function together(kernel: KernelInfo, writes: boolean, accesses: readonly ThreadAccess[]): Touches {
  const verb = writes ? "writes" : "reads";
  const points = accesses
    .map((access) => access.points)
    .reduce((a, b) => (b.length > a.length ? b : a))
    .map(({ point }) => point);
  const numbers = new Map(points.map((point, k) => [point.join(), k]));
  const by = new Map<number, Set<number>>();
  for (const { point, cells } of accesses.flatMap((access) => access.points)) {
    for (const cell of cells) by.set(cell, (by.get(cell) ?? new Set()).add(numbers.get(point.join()) ?? -1));
  }
  const notes = accesses.flatMap((access) => {
    const hidden =
      !access.points.length && access.because
        ? [`What it ${verb} of ${access.array} is not drawn: ${access.because}.`]
        : [];
    const unsure =
      access.points.length && access.because ? [`It ${verb} cells of ${access.array} ${access.because}.`] : [];
    const cut =
      access.points.length && !access.complete ? [`Only its first ${access.points.length} threads are drawn.`] : [];
    return [...hidden, ...unsure, ...cut];
  });
  return {
    label: `${kernel.kind} ${kernel.name} ${verb} it`,
    verb,
    points,
    by: new Map([...by].map(([cell, set]) => [cell, [...set].sort((a, b) => a - b)])),
    symbols: [...new Set(namesIn(kernel.space))],
    notes: [...new Set(notes)],
  };
}

/** A thread by its number and point. */
export const threadName = (touches: Touches, number: number): string =>
  `t${number} (${touches.points[number]?.join(", ") ?? ""})`;

/** Threads in a list that does not grow too long. */
export function threadList(touches: Touches, numbers: readonly number[], most: number): string {
  const listed = numbers
    .slice(0, most)
    .map((number) => threadName(touches, number))
    .join(", ");
  return numbers.length > most ? `${listed}, … and ${numbers.length - most} more` : listed;
}
