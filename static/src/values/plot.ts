// Arrays of one dimension as lines over their indices, several in one picture, and as histograms.
import { h, s } from "../dom";
import { part, range } from "./grid";
import { isWhole, sampled, type Source } from "./source";
import { elements, type Values } from "./values";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [560, 190, 74, 34, 8, 10];
const MOST_POINTS = 4096; // of a source that is not fetched as a whole
const COLUMNS = 480; // places across: more points are drawn by their least and largest
const BINS = 32;
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

export interface Line {
  name: string;
  source: Source;
}

interface Read extends Line {
  values: Values;
  step: number;
}

async function read(line: Line): Promise<Read> {
  const cuts = isWhole(line.source.shape) ? undefined : sampled(line.source.shape, [MOST_POINTS]);
  return { ...line, values: await line.source.part(cuts), step: cuts?.[0]?.[2] ?? 1 };
}

const sparse = ({ step }: Read): string => (step > 1 ? `Every ${step}th element is drawn. ` : "");

function others(values: Values, name = ""): string {
  const { odd } = range(values);
  return odd.size ? `${name}${[...odd].map(([what, count]) => `${count} ${what}`).join(", ")}: not drawn. ` : "";
}

/** Round numbers that divide a range. */
function ticks(low: number, high: number): number[] {
  const raw = high / 4 - low / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? raw;
  const found: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-12) && found.length < 8; at += 1)
    found.push(at * step);
  return found;
}

const short = (value: number): string =>
  Math.abs(value) >= 1e6 || (value && Math.abs(value) < 1e-3)
    ? value.toExponential(1)
    : String(Number(value.toPrecision(5)));

interface Frame {
  svg: SVGElement;
  x(value: number): number;
  y(value: number): number;
}

function frame(label: string, across: [number, number], up: [number, number], names: [string, string]): Frame {
  const x = (value: number) => LEFT + part(value, ...across) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - part(value, ...up) * (HEIGHT - BOTTOM - TOP);
  const svg = s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": label },
    ...ticks(...up).flatMap((value) => [
      s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "gridline" }),
      s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)),
    ]),
    ...ticks(...across)
      .filter((value) => Number.isInteger(value) || names[0] !== "index")
      .map((value) => s("text", { x: x(value), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, short(value))),
    s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "axis" }),
    s("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, names[0]),
    s("text", { x: 12, y: HEIGHT / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${HEIGHT / 2})` }, names[1]),
  );
  return { svg, x, y };
}

/** A range that has a width. */
function widened(low: number, high: number): [number, number] {
  if (high > low) return [low, high];
  const by = Math.abs(low) / 10 || 0.5;
  return [low - by, high + by];
}

/** The lines of arrays, and what is at the index that is pointed at. */
export async function lines(wanted: readonly Line[]): Promise<HTMLElement> {
  const all = (await Promise.all(wanted.map(read))).filter(({ values }) => values.size);
  const ranges = all.map(({ values }) => ({ values, ...range(values) })).filter(({ least }) => least >= 0);
  if (!ranges.length)
    return h(
      "p",
      { class: "quiet" },
      all.length ? all.map(({ values }) => others(values)).join("") : "It has no elements.",
    );
  const low = Math.min(...ranges.map(({ values, least }) => values.number(least)));
  const high = Math.max(...ranges.map(({ values, largest }) => values.number(largest)));
  const last = Math.max(1, ...all.map(({ source }) => source.shape[0]! - 1));
  const names = all.map(({ name }) => name).join(", ");
  const { svg, x, y } = frame(
    `${names || "Elements"} over the index, from ${short(low)} to ${short(high)}`,
    [0, last],
    widened(low, high),
    ["index", "value"],
  );
  for (const [k, line] of all.entries()) {
    const look = { stroke: `var(--hue-${k % 8})`, "stroke-dasharray": DASHES[Math.floor(k / 2) % DASHES.length] };
    svg.append(...paths(line, x, y).map((d) => s("path", { d, class: "series", ...look })));
  }
  const readout = h("output", { class: "readout" });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const across = (((event as PointerEvent).clientX - box.left) / box.width) * WIDTH;
    const index = Math.min(last, Math.max(0, Math.round(((across - LEFT) / (WIDTH - LEFT - RIGHT)) * last)));
    readout.textContent = all
      .map(({ name, values, step }) => {
        const at = Math.min(values.size - 1, Math.round(index / step));
        return `${name}[${at * step}] = ${values.typed(at)}`;
      })
      .join("   ");
  });
  const legend =
    all.length > 1
      ? h(
          "p",
          { class: "legend-row" },
          ...all.flatMap(({ name }, k) => [
            s(
              "svg",
              { width: 26, height: 8, "aria-hidden": "true" },
              s("line", {
                x1: 0,
                x2: 26,
                y1: 4,
                y2: 4,
                class: "series",
                stroke: `var(--hue-${k % 8})`,
                "stroke-dasharray": DASHES[Math.floor(k / 2) % DASHES.length],
              }),
            ),
            h("code", {}, name),
          ]),
        )
      : null;
  const exact = ranges
    .map(({ values, least, largest }) => `${values.typed(least)} to ${values.typed(largest)}`)
    .join("; ");
  const notes = all.map((line) => sparse(line) + others(line.values, line.name && `${line.name}: `)).join("");
  return h(
    "div",
    { class: "plot-view" },
    svg,
    legend ?? "",
    h("p", { class: "quiet" }, readout, ` ${exact}. ${notes}`),
  );
}

/** The drawn parts of a line, which ends where an element is no finite number. */
function paths({ values, step }: Read, x: (value: number) => number, y: (value: number) => number): string[] {
  const found: string[] = [];
  let points: string[] = [];
  const end = (): void => {
    if (points.length === 1) points.push(`l0.01 0`);
    if (points.length) found.push(`M${points.join("L").replace("Ll", "l")}`);
    points = [];
  };
  const every = Math.max(1, Math.ceil(values.size / COLUMNS));
  for (let from = 0; from < values.size; from += every) {
    const group = Array.from({ length: Math.min(every, values.size - from) }, (_, k) => from + k).filter((k) =>
      Number.isFinite(values.number(k)),
    );
    if (!group.length) {
      end();
      continue;
    }
    const extremes =
      group.length > 2
        ? [
            group.reduce((a, b) => (values.number(b) < values.number(a) ? b : a)),
            group.reduce((a, b) => (values.number(b) > values.number(a) ? b : a)),
          ].sort((a, b) => a - b)
        : group;
    points.push(...extremes.map((k) => `${x(k * step).toFixed(1)} ${y(values.number(k)).toFixed(1)}`));
    if (every === 1 && group.length < 1) end();
  }
  end();
  return found;
}

/** Draw a histogram of the elements. */
export async function histogram(source: Source): Promise<HTMLElement> {
  const cuts = isWhole(source.shape)
    ? undefined
    : sampled(
        source.shape,
        source.shape.map((_, k) => (k ? 64 : MOST_POINTS)),
      );
  const values = await source.part(cuts);
  const { least, largest } = range(values);
  if (least < 0) return h("p", { class: "quiet" }, others(values) || "It has no elements.");
  const [low, high] = [values.number(least), values.number(largest)];
  const whole = !values.prim.startsWith("f") && high - low < BINS;
  const count = low === high ? 1 : whole ? high - low + 1 : BINS;
  const bins = new Array<number>(count).fill(0);
  for (let k = 0; k < values.size; k += 1) {
    const value = values.number(k);
    if (Number.isFinite(value))
      bins[count === 1 ? 0 : Math.min(count - 1, Math.floor(whole ? value - low : part(value, low, high) * count))]! +=
        1;
  }
  const edge = (k: number) => (whole || count === 1 ? low + k : low * (1 - k / count) + high * (k / count));
  const most = Math.max(...bins);
  const { svg, x, y } = frame(
    `Histogram of ${elements(values.shape)} elements`,
    whole || count === 1 ? [low - 0.5, high + 0.5] : [low, high],
    [0, most],
    ["value", "elements"],
  );
  const says = (k: number) => (whole || count === 1 ? short(edge(k)) : `${short(edge(k))} to ${short(edge(k + 1))}`);
  bins.forEach((number, k) => {
    const [from, to] = whole || count === 1 ? [x(edge(k) - 0.45), x(edge(k) + 0.45)] : [x(edge(k)), x(edge(k + 1))];
    svg.append(
      s(
        "rect",
        { x: from, width: Math.max(0.5, to - from - 1), y: y(number), height: y(0) - y(number), class: "bar" },
        s("title", {}, `${says(k)}: ${number}`),
      ),
    );
  });
  const sample = cuts ? `Of ${values.size} of the ${elements(source.shape)} elements. ` : "";
  return h(
    "div",
    { class: "plot-view" },
    svg,
    h("p", { class: "quiet" }, `${values.typed(least)} to ${values.typed(largest)}. ${sample}${others(values)}`),
    h(
      "details",
      {},
      h("summary", {}, "Counts as a table"),
      h(
        "table",
        { class: "numbers" },
        h("thead", {}, h("tr", {}, h("th", {}, "value"), h("th", {}, "elements"))),
        h("tbody", {}, ...bins.map((number, k) => h("tr", {}, h("td", {}, says(k)), h("td", {}, number)))),
      ),
    ),
  );
}
