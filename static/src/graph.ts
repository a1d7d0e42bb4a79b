// Graphs in layers: places are found in a worker; drawn with the arrays' sizes at the edges.
import { h, s } from "./dom";
import type { Pictured } from "./pictures";
import { pretty, renamed } from "./polynomial";
import type { FlowBody, FlowEdge, Polynomial } from "./types";

export interface Sizes {
  nodes: { width: number; height: number }[];
  edges: { source: number; target: number; width: number }[];
}

interface Point {
  x: number;
  y: number;
}

export interface Placed {
  width: number;
  height: number;
  nodes: Point[];
  edges: (Point & { points: Point[] })[];
}

export type Called = (name: string) => string;
/** Return an edge's mark: a class and its reason. */
export type Marks = (
  array: string,
  target: readonly string[],
) => { kind: "applied" | "missed"; because: string } | null;

/** So many statements are drawn at most, the first ones. */
export const MOST_DRAWN = 150;
const HEIGHT = 26;
const CHARACTER = 7.3;
/** Characters of the sign before the name of an array that fusion was tried with. */
const SIGN = 2;
const LONGEST = 30;
/** A drawing that is too wide is made smaller, down to this part of its size. */
const SMALLEST = 0.85;

let worker: Worker | null = null;
let asked = 0;
const waiting = new Map<number, (placed: Placed) => void>();

function places(sizes: Sizes): Promise<Placed> {
  if (!worker) {
    // This code is in a chunk: its folder lies beside the worker's file.
    worker = new Worker(new URL("../layout.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<{ id: number; placed: Placed }>) => {
      waiting.get(data.id)?.(data.placed);
      waiting.delete(data.id);
    };
  }
  const id = (asked += 1);
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker!.postMessage({ id, sizes });
  });
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

export const sizeText = (size: Polynomial, called: Called): string => `${pretty(renamed(size, called))} B`;

/** Return the label of an edge: the array, with its size if known. */
const carriedText = ({ base, bytes, carried }: FlowEdge, called: Called): string =>
  `${carried ? "↻ " : ""}${base}${bytes ? `: ${sizeText(bytes, called)}` : ""}`;

/** Return the properties of an edge that is not a plain read. */
const how = ({ carried, written }: FlowEdge): string[] => [
  ...(carried ? ["from the previous iteration, or another thread"] : []),
  ...(written ? ["to be written"] : []),
];

/** A picture of a body's statements, and of what (`between`) they hand on. */
export async function drawing(
  body: FlowBody,
  label: string,
  called: Called,
  marks: Marks,
  pictured: Pictured,
  between = "arrays",
): Promise<SVGElement> {
  const nodes = body.nodes.slice(0, MOST_DRAWN);
  const edges = body.edges.filter(({ source, target }) => source < nodes.length && target < nodes.length);
  const sizes = edges.map((edge) => carriedText(edge, called));
  const placed = await places({
    nodes: nodes.map(({ label }) => ({ width: cut(label).length * CHARACTER + 18, height: HEIGHT })),
    edges: edges.map(({ source, target }, k) => ({
      source,
      target,
      width: (cut(sizes[k]!).length + SIGN) * CHARACTER,
    })),
  });
  const picture = s(
    "svg",
    {
      class: "graph",
      role: "img",
      width: placed.width,
      height: placed.height,
      viewBox: `0 0 ${placed.width} ${placed.height}`,
      "aria-label": `${label}: ${nodes.length} statements and ${edges.length} ${between} between them`,
    },
    ...edges.map((edge, k) => {
      const { points, x, y } = placed.edges[k]!;
      const mark = marks(edge.array, nodes[edge.target]!.names);
      const end = points.at(-1)!;
      return s(
        "g",
        { class: `graph-edge ${mark?.kind ?? ""} ${edge.carried ? "carried" : ""} ${edge.written ? "written" : ""}` },
        s(
          "title",
          {},
          mark
            ? `${mark.kind === "applied" ? "Fused" : "Not fused"}: ${mark.because}`
            : [sizes[k]!, ...how(edge)].join(", "),
        ),
        s("path", { d: points.map((point, at) => `${at ? "L" : "M"}${point.x} ${point.y}`).join("") }),
        s("path", { class: "graph-head", d: `M${end.x} ${end.y}l-4 -7h8z` }),
        s(
          "text",
          { x, y: y + 4, "text-anchor": "middle" },
          `${mark ? (mark.kind === "applied" ? "✓ " : "✗ ") : ""}${cut(sizes[k]!)}`,
        ),
      );
    }),
    ...nodes.map((node, k) => {
      const { x, y } = placed.nodes[k]!;
      const width = cut(node.label).length * CHARACTER + 18;
      return pictured.part(
        s(
          "g",
          { class: `graph-node ${node.kind} ${node.bodies || node.kernel ? "opens" : ""}`, "data-node": k },
          s("title", {}, node.label),
          s("rect", {
            x: x - width / 2,
            y: y - HEIGHT / 2,
            width,
            height: HEIGHT,
            rx: node.kind === "given" || node.kind === "results" ? 13 : 3,
          }),
          s("text", { x, y: y + 4, "text-anchor": "middle" }, cut(node.label)),
        ),
        node.src,
      );
    }),
  );
  picture.style.minWidth = `${SMALLEST * placed.width}px`;
  return picture;
}

const MOST_ROWS = 400;

/** The same as a table: who takes which arrays of whom. */
export function table(body: FlowBody, label: string, called: Called, choose: (node: number) => void): HTMLElement {
  const taken = new Map<number, string[]>();
  for (const edge of body.edges) {
    const { source, target, base, bytes } = edge;
    const about = [...(bytes ? [sizeText(bytes, called)] : []), ...how(edge)].join(", ");
    const says = `${base} of ${body.nodes[source]!.label}${about ? ` (${about})` : ""}`;
    if (taken.has(target)) taken.get(target)!.push(says);
    else taken.set(target, [says]);
  }
  const more = body.nodes.length - MOST_ROWS;
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      { class: "cells-table" },
      h("caption", {}, label),
      h("thead", {}, h("tr", {}, ...["Statement", "Takes"].map((one) => h("th", { scope: "col" }, one)))),
      h(
        "tbody",
        {},
        ...body.nodes
          .slice(0, MOST_ROWS)
          .map((node, k) =>
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row" },
                node.src.length || node.bodies || node.kernel
                  ? h("button", { class: "link", onclick: () => choose(k) }, node.label)
                  : node.label,
              ),
              h("td", { class: "inside" }, (taken.get(k) ?? []).join("; ") || "nothing"),
            ),
          ),
      ),
    ),
    more > 0 ? h("p", { class: "quiet" }, `and ${more} more: ↓ saves all of them as data`) : null,
  );
}
