// The values that a run gave: each with its type, and the ways to look at it that the type has.
import { late } from "../arriving";
import { h, replace } from "../dom";
import { sourcesOf, type Results, type Source } from "../values/source";
import { elements } from "../values/values";

type View = "text" | "table" | "heat map" | "image" | "line" | "histogram";

const SHORT = 300; // characters of a result that is read as it is

/** Views chosen for results, by number and type; the next results get the same views. */
export type Looks = Map<string, { view?: View; row: number }>;

/** `of`: what gave it, where several results stand below each other; without, it is what a run gave. */
export function resultOf(answer: Results, looks: Looks = new Map(), of = ""): HTMLElement {
  const { output, results = [], cut } = answer;
  const texts = output.split("\n");
  const typed = results.length > 0 && texts.length === results.length;
  const region = of
    ? { role: "group", "aria-label": `Result of ${of}`, tabindex: 0 }
    : { role: "region", "aria-label": "Result", tabindex: 0 };
  if (!output) return h("p", { class: "quiet", ...region }, "It has no results.");
  const sources = typed ? sourcesOf(answer) : [];
  return h(
    "div",
    { class: "values", ...region },
    together(sources, results),
    ...(typed ? texts : [output]).map((text, k) =>
      h(
        "div",
        {},
        typed ? h("p", { class: "quiet" }, results.length > 1 ? `${k + 1}: ` : "", h("code", {}, results[k])) : null,
        ...looked(text, sources[k] ?? null, `${k} ${results[k]}`, looks),
      ),
    ),
    cut ? h("p", { class: "quiet" }, `${cut} more characters are not in this link.`) : null,
  );
}

/** The ways to look at an array, the usual one first. */
function viewsOf({ prim, shape }: Source): View[] {
  const [rows, columns, channels] = shape;
  if (shape.length === 3 && prim === "u8" && (channels === 3 || channels === 4)) return ["image", "table", "text"];
  if (prim !== "bool" && shape.length === 2) {
    const packed = /^[iu]32$/.test(prim) && rows! > 1 && columns! > 1;
    return ["heat map", ...(packed ? ["image" as const] : []), "table", "histogram", "text"];
  }
  if (shape.length === 2) return ["heat map", "table", "text"];
  if (shape.length === 1) return prim === "bool" ? ["table", "line", "text"] : ["line", "histogram", "table", "text"];
  return ["table", ...(prim === "bool" ? [] : ["histogram" as const]), "text"];
}

/** An array that is here, in the ways that its type has. */
export const viewsIn = (source: Source): HTMLElement =>
  h("div", { class: "values" }, ...looked(null, source, "", new Map()));

function looked(text: string | null, source: Source | null, key: string, looks: Looks): HTMLElement[] {
  const shown = h("div", { class: "value-view" });
  if (!source?.shape.length) {
    replace(shown, h("pre", { class: "value" }, text));
    return [shown];
  }
  const views = viewsOf(source).filter((view) => text !== null || view !== "text");
  const look = looks.get(key) ?? { row: 0 };
  looks.set(key, look);
  const show = (view: View): void => {
    for (const button of bar.children) button.setAttribute("aria-pressed", String(button.textContent === view));
    replace(shown, viewed(view, text ?? "", source, look));
  };
  const bar = h(
    "div",
    { class: "views", role: "group", "aria-label": "Shown as" },
    ...views.map((view) =>
      h(
        "button",
        {
          onclick: () => {
            look.view = view;
            show(view);
          },
        },
        view,
      ),
    ),
  );
  show(look.view ?? (text !== null && text.length <= SHORT && views[0] !== "image" ? "text" : views[0]!));
  return [bar, shown];
}

function viewed(view: View, text: string, source: Source, look: { row: number }): HTMLElement {
  if (view === "text") return h("pre", { class: "value" }, text);
  return later(drawn(view, source, look));
}

/** Return a drawing, whose code comes with the first one. */
async function drawn(view: View, source: Source, look: { row: number }): Promise<HTMLElement> {
  const { Grid, Table, histogram, lines } = await late();
  if (view === "table") return new Table(source, look.row, (row) => (look.row = row)).element;
  if (view === "heat map") return new Grid(source, "heat").element;
  if (view === "image") return new Grid(source, source.shape.length === 2 ? "argb" : "rgb").element;
  return view === "line" ? lines([{ name: "", source }]) : histogram(source);
}

/** An element whose content comes. */
function later(content: Promise<HTMLElement>): HTMLElement {
  const place = h("div", {}, h("p", { class: "quiet busy" }, "Drawing…"));
  content.then(
    (element) => replace(place, element),
    (error: Error) => replace(place, h("p", { class: "problem-text", role: "alert" }, error.message)),
  );
  return place;
}

/** Several arrays of numbers with as many elements, in one plot. */
function together(sources: readonly (Source | null)[], results: readonly string[]): HTMLElement | null {
  const found = sources.flatMap((source, k) =>
    source?.shape.length === 1 && source.prim !== "bool" && elements(source.shape) > 1
      ? [{ name: `result ${k + 1}`, source }]
      : [],
  );
  if (found.length < 2) return null;
  const box = h(
    "details",
    { class: "together" },
    h("summary", {}, `${found.length} of ${results.length} results in one plot`),
  );
  const plot = async (): Promise<HTMLElement> => (await late()).lines(found);
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(later(plot())));
  return box;
}
