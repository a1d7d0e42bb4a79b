// Which point of a kernel writes (or reads) each cell of an array.
import * as client from "../client";
import type { Text } from "../model";
import { contains } from "../spans";
import type { ArrayInfo, Cell, KernelInfo, MemoryFunction } from "../types";
import type { Cell as Owned } from "./draw";

export interface Threads {
  cells: Owned[];
  /** In words: which kernel, and whether it reads or writes. */
  by: string;
}

const MOST_KERNELS = 6;

/** The cells with the points of the first kernel that writes the array, or else reads it. */
export async function withThreads(
  of: Text, stage: string, fun: MemoryFunction, array: ArrayInfo, cells: readonly Cell[], values: Record<string, number>,
): Promise<Threads> {
  const maker = fun.kernels.find((kernel) => kernel.name === array.name);
  if (maker) return { cells: byMaker(cells, maker), by: `${maker.kind} ${maker.name} writes it` };
  let reads: Threads | null = null;
  for (const kernel of candidates(fun, array)) {
    const answer = await client.threads(of.source, of.options, stage, kernel.name, values);
    if (!answer.ok) break;
    for (const access of answer.accesses ?? []) {
      if (access.array !== array.name || !access.points.length) continue;
      const found = { cells: owned(cells, access.points), by: `${kernel.kind} ${kernel.name} ${access.writes ? "writes" : "reads"} it` };
      if (access.writes) return found;
      reads ??= found;
    }
  }
  return reads ?? { cells: cells.map((cell) => ({ ...cell, thread: null })), by: "" };
}

/** The element of a kernel's result at an index is computed by the point of that index. */
function byMaker(cells: readonly Cell[], kernel: KernelInfo): Owned[] {
  return cells.map((cell) => ({ ...cell, thread: cell.index.slice(0, kernel.space.length) }));
}

/** Kernels from the same place in the source first. */
function candidates(fun: MemoryFunction, array: ArrayInfo): KernelInfo[] {
  const place = array.src[0];
  const near = (kernel: KernelInfo) => place && kernel.src[0] && contains(kernel.src[0], place) ? 0 : 1;
  return [...fun.kernels].sort((a, b) => near(a) - near(b)).slice(0, MOST_KERNELS);
}

function owned(cells: readonly Cell[], points: readonly { point: number[]; cells: number[] }[]): Owned[] {
  const owner = new Map<number, number[]>();
  for (const { point, cells: touched } of points) {
    for (const cell of touched) if (!owner.has(cell)) owner.set(cell, point);
  }
  return cells.map((cell) => ({ ...cell, thread: owner.get(cell.cell) ?? null }));
}
