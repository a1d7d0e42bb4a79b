// Where panes stand: columns of groups below each other, a group's panes as tabs; and what can be done with that.

export interface Group {
  panes: string[];
  /** The pane whose tab is open. */
  open: string;
  /** A share of the column's height. */
  size: number;
}

export interface Column {
  groups: Group[];
  /** A share of the width. */
  size: number;
}

export type Layout = Column[];
export type Side = "left" | "right" | "above" | "below" | "tab";

/** A column that would be narrower shares one with its neighbour, as tabs. */
export const NARROW = 320;
export const LOW = 120;

export const SOURCE = "source";

/** The stages that are shown where nothing else is known, of those that there are. */
export function firstStages(manifest: readonly { id: string }[]): string[] {
  const ids = manifest.map(({ id }) => id);
  const chosen = ["fused", ...(window.innerWidth >= 1700 ? ["funmem"] : [])].filter((id) => ids.includes(id));
  return chosen.length ? chosen : ids.slice(0, 1);
}

/** The text that the source is compared with. */
export const PROGRAM_A = "program-a";
const isText = (id: string): boolean => id === SOURCE || id === PROGRAM_A;
export const isStage = (id: string): boolean => id.startsWith("stage-");
export const isDetail = (id: string): boolean => !isText(id) && !isStage(id);

export const group = (panes: readonly string[], size = 1, open = panes[0]!): Group => ({
  panes: [...panes],
  open,
  size,
});
export const column = (size: number, ...groups: Group[]): Column => ({
  groups: groups.filter(({ panes }) => panes.length),
  size,
});

export const panesOf = (layout: Layout): string[] =>
  layout.flatMap(({ groups }) => groups.flatMap(({ panes }) => panes));

export function groupOf(layout: Layout, id: string): Group | null {
  return layout.flatMap(({ groups }) => groups).find(({ panes }) => panes.includes(id)) ?? null;
}

/** Without some panes; groups and columns that become empty go. */
export function without(layout: Layout, away: (id: string) => boolean): Layout {
  return layout.flatMap(({ groups, size }) => {
    const left = groups.flatMap((one) => {
      const panes = one.panes.filter((id) => !away(id));
      return panes.length ? [{ ...one, panes, open: panes.includes(one.open) ? one.open : panes[0]! }] : [];
    });
    return left.length ? [{ groups: left, size }] : [];
  });
}

/** With a pane (of the layout, or a new one) beside, above, below or in the group of another pane. */
export function placed(layout: Layout, id: string, side: Side, at: string): Layout {
  const here = groupOf(layout, at)?.panes.find((other) => other !== id);
  if (!here) return layout;
  return without(layout, (other) => other === id).flatMap((one) => {
    const number = one.groups.findIndex(({ panes }) => panes.includes(here));
    const found = one.groups[number];
    if (!found) return [one];
    if (side === "left" || side === "right") {
      const half = one.size / 2;
      const beside = column(half, group([id]));
      return side === "left" ? [beside, { ...one, size: half }] : [{ ...one, size: half }, beside];
    }
    const half = found.size / 2;
    const with_ =
      side === "tab"
        ? [{ ...found, panes: [...found.panes, id], open: id }]
        : side === "above"
          ? [group([id], half), { ...found, size: half }]
          : [{ ...found, size: half }, group([id], half)];
    return [{ ...one, groups: one.groups.toSpliced(number, 1, ...with_) }];
  });
}

/** Move a pane one step: out of its group, then into the next one, then out on its other side. */
export function stepped(layout: Layout, id: string, to: Exclude<Side, "tab">): Layout {
  const across = to === "left" || to === "right";
  const by = to === "left" || to === "above" ? -1 : 1;
  const at = layout.findIndex(({ groups }) => groups.some(({ panes }) => panes.includes(id)));
  const { groups } = layout[at]!;
  const number = groups.findIndex(({ panes }) => panes.includes(id));
  const others = across ? panesOf([layout[at]!]) : groups[number]!.panes;
  const other = others.find((one) => one !== id);
  if (other) return placed(layout, id, to, other);
  const next = across ? layout[at + by]?.groups.at(0) : groups[number + by];
  return next ? placed(layout, id, "tab", next.panes[0]!) : layout;
}

/** A layout of exactly these panes: what is new stands with its like. */
export function completed(layout: Layout, ids: readonly string[]): Layout {
  let whole = without(layout, (id) => !ids.includes(id));
  for (const id of ids) {
    const there = panesOf(whole);
    if (there.includes(id)) continue;
    if (id === PROGRAM_A && there.includes(SOURCE)) {
      whole = abreast(whole);
      continue;
    }
    const like = there.filter(isStage(id) ? isStage : isDetail).at(-1);
    if (!there.length) whole = [column(1, group([id]))];
    else if (!like && id === SOURCE) whole = [column(whole[0]!.size, group([id])), ...whole];
    else if (!like) whole = [...whole, column(whole.at(-1)!.size, group([id]))];
    else if (isStage(id)) whole = placed(whole, id, "right", like);
    else
      whole = placed(whole, id, "tab", like).map((one) => ({
        ...one,
        groups: one.groups.map((g) => (g.open === id ? { ...g, open: g.panes[0]! } : g)),
      }));
  }
  return whole;
}

const MOST_ABREAST = 0.36; // of the width, for each of two texts

/** With A's text right of the source and as wide, for which the columns of others give room. */
function abreast(layout: Layout): Layout {
  const at = layout.findIndex((one) => panesOf([one]).includes(SOURCE));
  const whole = layout.reduce((sum, { size }) => sum + size, 0);
  const before = layout[at]!.size;
  const after = layout.length > 1 ? Math.min(before, MOST_ABREAST * whole) : before;
  const others = layout.map((one) => ({ ...one, size: (one.size * (whole - 2 * after)) / (whole - before) }));
  return others.toSpliced(at, 1, { ...layout[at]!, size: after }, column(after, group([PROGRAM_A])));
}

/** Columns that would be too narrow get room from the others, if there is enough for all. */
export function roomy(layout: Layout, width: number): Layout {
  const whole = layout.reduce((sum, { size }) => sum + size, 0);
  const px = layout.map(({ size }) => (size / whole) * width);
  const lacking = px.reduce((sum, one) => sum + Math.max(0, NARROW - one), 0);
  const spare = px.reduce((sum, one) => sum + Math.max(0, one - NARROW), 0);
  if (!lacking || lacking > spare) return layout;
  return layout.map((one, k) => ({
    ...one,
    size: px[k]! < NARROW ? NARROW : px[k]! - ((px[k]! - NARROW) * lacking) / spare,
  }));
}

/** As there is room for: columns that would be too narrow, and groups too low, become tabs of those beside them. */
export function fitted(layout: Layout, width: number, height: number): Layout {
  const columns = layout.map((one) => ({
    ...one,
    groups: joined(one.groups, height, LOW, (a, b) => ({ ...merged(a, b), size: a.size + b.size })),
  }));
  return joined(columns, width, NARROW, (a, b) => {
    const size = a.size + b.size;
    const [last, first] = [a.groups.at(-1)!, b.groups[0]!];
    return { size, groups: [...a.groups.slice(0, -1), merged(last, first), ...b.groups.slice(1)] };
  });
}

const merged = (a: Group, b: Group): Group => ({
  panes: [...a.panes, ...b.panes],
  open: a.panes.includes(SOURCE) ? b.open : a.open,
  size: a.size,
});

function joined<T extends { size: number; groups?: Group[]; panes?: string[] }>(
  list: T[],
  room: number,
  least: number,
  join: (a: T, b: T) => T,
): T[] {
  const whole = list.reduce((sum, { size }) => sum + size, 0);
  const small = list.findIndex(({ size }) => Math.round((size / whole) * room) < least);
  if (small < 0 || list.length < 2) return list;
  // Rather with its like than with the source, which is read beside all others.
  const kind = (one: T | undefined): string =>
    one ? kindOf(one.panes ?? panesOf([{ size: 1, groups: one.groups! }])) : "";
  const [before, after] = [list[small - 1], list[small + 1]];
  const rate = (other: T | undefined): number =>
    !other ? 0 : kind(other) === kind(list[small]) ? 3 : kind(other) === SOURCE ? 1 : 2;
  const at = rate(before) >= rate(after) ? small - 1 : small;
  return joined(list.toSpliced(at, 2, join(list[at]!, list[at + 1]!)), room, least, join);
}

const kindOf = (panes: readonly string[]): string =>
  panes.some(isText) ? SOURCE : panes.some(isStage) ? "stages" : "details";

/** Below each other, as on a phone. */
export function stacked(layout: Layout): Layout {
  const ids = panesOf(layout);
  const details = ids.filter(isDetail);
  const open = layout.flatMap(({ groups }) => groups.map((one) => one.open)).find(isDetail);
  const texts = ids.filter(isText);
  const front = layout.flatMap(({ groups }) => groups.map((one) => one.open)).find((id) => texts.includes(id));
  return [column(1, group(texts, 1, front), ...ids.filter(isStage).map((id) => group([id])), group(details, 1, open))];
}

/** So many columns with one stage each are a filmstrip: they stand beside each other, however narrow the window. */
const FILM = 4;

export const isFilm = (layout: Layout): boolean =>
  layout.filter(({ groups }) => groups.length === 1 && groups[0]!.panes.length === 1 && isStage(groups[0]!.panes[0]!))
    .length >= FILM;

// --- what is offered -----------------------------------------------------------------------------

export interface Preset {
  name: string;
  /** Its purpose, in words. */
  says: string;
  /** The tab that it opens, and how many stages it shows at least. */
  tab: string;
  stages: number;
  /** True if it shows all stages that changed something, side by side. */
  film?: boolean;
  layout(stages: readonly string[], details: readonly string[], width: number): Layout;
}

/** Pixels for 55 characters of source and what stands before them. */
const READABLE = 480;
const beside = (stages: readonly string[], room: number): Column[] =>
  stages.map((id) => column(room / stages.length, group([id])));

function standard(stages: readonly string[], details: readonly string[], width: number): Layout {
  const large = width >= 1600;
  const source = Math.max(width * (large ? 0.25 : 0.3), READABLE);
  const side = width * (large ? 0.23 : 0.27);
  return [
    column(source, group([SOURCE])),
    ...beside(stages, Math.max(1, width - source - side)),
    column(side, group(details)),
  ];
}

/** Source and stages in one column, for what is drawn beside them. */
const drawn: Preset["layout"] = (stages, details, width) => [
  column(READABLE, group([SOURCE], 2), group(stages, 3)),
  column(Math.max(NARROW, width - READABLE), group(details)),
];

export const PRESETS: readonly Preset[] = [
  { name: "Read", says: "source, stage and details", tab: "", stages: 1, layout: standard },
  {
    name: "Compare",
    says: "two stages side by side",
    tab: "",
    stages: 2,
    layout: (stages, details, width) => [
      column(READABLE, group([SOURCE], 3), group(details, 2)),
      ...beside(stages, Math.max(1, width - READABLE)),
    ],
  },
  {
    name: "Filmstrip",
    says: "all stages that changed something, scrolling together",
    tab: "",
    stages: 1,
    film: true,
    layout: (stages, details, width) => [
      column(READABLE, group([SOURCE], 3), group(details, 2)),
      ...stages.map((id) => column(Math.max(NARROW + 60, (width - READABLE) / stages.length), group([id]))),
    ],
  },
  { name: "Memory", says: "blocks and cells drawn large", tab: "memory", stages: 1, layout: drawn },
  { name: "Proof", says: "a proof and its drawing drawn large", tab: "proof", stages: 1, layout: drawn },
  {
    name: "Lecture",
    says: "source beside one large pane of tabs",
    tab: "",
    stages: 1,
    layout: (stages, details, width) => [
      column(width * 0.45, group([SOURCE])),
      column(width * 0.55, group([...stages, ...details])),
    ],
  },
];

/** Parse a stored layout; null if it is none. */
export function layoutIn(value: unknown): Layout | null {
  const share = (one: unknown): boolean => typeof one === "number" && Number.isFinite(one) && one > 0;
  const isGroup = (one: Partial<Group> | null): boolean =>
    !!one &&
    share(one.size) &&
    Array.isArray(one.panes) &&
    one.panes.length > 0 &&
    one.panes.every((id) => typeof id === "string") &&
    one.panes.includes(one.open!);
  const isColumn = (one: Partial<Column> | null): boolean =>
    !!one && share(one.size) && Array.isArray(one.groups) && one.groups.length > 0 && one.groups.every(isGroup);
  const columns = value as Layout;
  const sound = Array.isArray(columns) && columns.length > 0 && columns.every(isColumn);
  return sound && new Set(panesOf(columns)).size === panesOf(columns).length ? columns : null;
}
