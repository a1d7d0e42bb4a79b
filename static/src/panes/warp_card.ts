// One request of a warp: its 32 lanes above, the memory that they ask for below, and what of it they use.
import { h, s } from "../dom";
import type { WarpAccess, WarpRequest } from "../types";

const SECTOR = 32;
const LANES = 32;
const WORD = 4;
const [WIDTH, BOX, DOWN] = [640, 26, 84];
let drawings = 0;

/** A sector of 32 bytes, or a word of a bank: where it begins, and the bytes in it that some lane touches. */
interface Unit {
  start: number;
  used: Set<number>;
}

type Of = Pick<WarpAccess, "says" | "shared" | "size">;

/** Return the units of `unit` bytes, or words of shared memory, that a request fetches, in order. */
function units({ shared, size }: Pick<Of, "shared" | "size">, lanes: readonly number[], unit = SECTOR): Unit[] {
  const long = shared ? WORD : unit;
  const found = new Map<number, Unit>();
  for (const first of lanes) {
    for (let byte = first; first >= 0 && byte < first + size; byte += 1) {
      const start = Math.floor(byte / long) * long;
      const unit = found.get(start) ?? { start, used: new Set() };
      found.set(start, unit);
      unit.used.add(byte - start);
    }
  }
  return [...found.values()].sort((a, b) => a.start - b.start);
}

/**
 * The picture. A sector's bytes that no lane needs are hatched; banks stand beside each other, with a row for each
 * word that they give in turn, and dashed lines to what waits for a later pass.
 */
export function drawRequest(
  access: Of,
  lanes: readonly number[],
  { unit, of } = { unit: SECTOR, of: "lane" },
): SVGElement {
  const id = `unused-${++drawings}`;
  const found = units(access, lanes, unit);
  const lane = WIDTH / LANES;
  const rows = new Map<number, number>();
  const place = new Map<number, { x: number; y: number; wide: number }>();
  for (const [k, { start }] of found.entries()) {
    const bank = (start / WORD) % LANES;
    const row = rows.get(bank) ?? 0;
    rows.set(bank, row + 1);
    const wide = access.shared ? lane : WIDTH / Math.max(found.length, 4);
    place.set(start, { x: access.shared ? bank * lane : k * wide, y: DOWN + (access.shared ? row * BOX : 0), wide });
  }
  const long = access.shared ? WORD : unit;
  const passes = Math.max(1, ...(access.shared ? rows.values() : []));
  const low = DOWN + BOX * passes + 2;
  const fewest = Math.ceil(found.reduce((sum, { used }) => sum + used.size, 0) / unit);
  const ghosts = access.shared || fewest >= found.length ? 0 : fewest;
  const high = low + (ghosts ? BOX + 2 : access.shared ? BOX : 0);
  const xOf = (byte: number): { x: number; y: number } => {
    const { x, y, wide } = place.get(Math.floor(byte / long) * long)!;
    return { x: x + 1 + (((byte % long) + Math.min(access.size, long) / 2) / long) * (wide - 2), y };
  };
  return s(
    "svg",
    { class: "warp", viewBox: `0 0 ${WIDTH} ${high}`, role: "img", "aria-label": access.says },
    s(
      "defs",
      {},
      s(
        "pattern",
        { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { class: "ground", width: 5, height: 5 }),
        s("rect", { class: "ink", width: 1.5, height: 5 }),
      ),
    ),
    ...lanes.flatMap((byte, k) =>
      byte < 0
        ? []
        : [
            s("line", {
              class: xOf(byte).y > DOWN ? "thread later" : "thread",
              x1: (k + 0.5) * lane,
              y1: BOX,
              x2: xOf(byte).x,
              y2: xOf(byte).y,
            }),
          ],
    ),
    ...(access.shared
      ? Array.from({ length: passes * LANES }, (_, k) =>
          s("rect", {
            class: "bank",
            x: (k % LANES) * lane + 1,
            y: DOWN + Math.floor(k / LANES) * BOX,
            width: lane - 2,
            height: BOX - 2,
          }),
        )
      : []),
    ...(access.shared
      ? Array.from({ length: LANES / 4 }, (_, k) =>
          s("text", { class: "bank-number", x: 4 * k * lane + 3, y: low + BOX - 5 }, 4 * k),
        )
      : []),
    ...lanes.map((byte, k) =>
      s(
        "g",
        { class: byte < 0 ? "lane rests" : "lane" },
        s("title", {}, byte < 0 ? `${of} ${k} rests` : `${of} ${k}: byte ${byte}`),
        s("rect", { x: k * lane + 1, y: 1, width: lane - 2, height: BOX - 2 }),
      ),
    ),
    // As many numbers as can be read where a pane is narrow.
    ...lanes.flatMap((_, k) => (k % 4 ? [] : [s("text", { x: k * lane + 3, y: BOX - 4 }, k)])),
    ...found.map(({ start, used }) => {
      const { x, y, wide } = place.get(start)!;
      const byte = (wide - 2) / long;
      return s(
        "g",
        { class: "sector" },
        s("title", {}, `bytes ${start} to ${start + long - 1}: ${used.size} of ${long} used`),
        used.size < long
          ? s("rect", { class: "unused", x: x + 1, y, width: wide - 2, height: BOX - 2, fill: `url(#${id})` })
          : null,
        ...[...used].map((at) =>
          s("rect", { class: "used", x: x + 1 + at * byte, y, width: byte + 0.1, height: BOX - 2 }),
        ),
      );
    }),
    ...Array.from({ length: ghosts }, (_, k) =>
      s(
        "rect",
        {
          class: "ghost",
          x: (k * WIDTH) / Math.max(found.length, 4) + 1,
          y: low + 2,
          width: WIDTH / Math.max(found.length, 4) - 2,
          height: BOX - 2,
        },
        s("title", {}, `${ghosts} would do if the used bytes were contiguous`),
      ),
    ),
  );
}

/** Return the bytes between accesses of neighbouring lanes if they are the same for all, else null. */
export function strideOf({ lanes }: WarpRequest): number | null {
  const steps = lanes.flatMap((byte, k) => (k && byte >= 0 && lanes[k - 1]! >= 0 ? [byte - lanes[k - 1]!] : []));
  return steps.length && steps.every((one) => one === steps[0]) ? steps[0]! : null;
}

/** The same as a table. */
export function requestTable(access: WarpAccess, request: WarpRequest): HTMLElement {
  const unit = access.shared ? "Bank" : "Sector";
  const of = (byte: number): number => (access.shared ? Math.floor(byte / WORD) % LANES : Math.floor(byte / SECTOR));
  return h(
    "table",
    { class: "cells-table" },
    h("caption", { class: "visually-hidden" }, `Lanes of warp ${request.warp}`),
    h("thead", {}, h("tr", {}, ...["Lane", "First byte", unit].map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...request.lanes.map((byte, k) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, k),
          h("td", {}, byte < 0 ? "rests" : byte),
          h("td", {}, byte < 0 ? "" : of(byte)),
        ),
      ),
    ),
  );
}
