// The interference graph: blocks that are needed at once are joined; blocks of one colour share memory.
import { bytes, h, s } from "../dom";
import { pretty } from "../polynomial";
import type { Interference, Polynomial } from "../types";

export type SizeOf = (size: Polynomial) => number | null;

const RADIUS = 11;
const LABEL = 7.3; // width of a character

const amount = (poly: Polynomial, size: SizeOf): string => {
  const value = size(poly);
  return value === null ? `${pretty(poly)} B` : bytes(value);
};

/** Nodes on a circle, in order of their first use; edges between those that are needed at once. */
export function drawGraph(graph: Interference, width: number, size: SizeOf): SVGElement {
  const { nodes, edges } = graph;
  const room = Math.max(...nodes.map(({ name }) => name.length)) * LABEL + RADIUS;
  const radius = Math.max(34, Math.min(150, nodes.length * 13, (width - 2 * room) / 2 - RADIUS));
  const total = 2 * (radius + room + RADIUS);
  const middle = { x: total / 2, y: radius + RADIUS + 6 };
  const places = nodes.map((_, k) => {
    const angle = ((k + 0.5) / nodes.length) * 2 * Math.PI - Math.PI / 2;
    return {
      x: middle.x + radius * Math.cos(angle),
      y: middle.y + radius * Math.sin(angle),
      right: Math.cos(angle) >= 0,
    };
  });
  const meets = (k: number): number[] =>
    edges.filter((edge) => edge.a === k || edge.b === k).map((edge) => (edge.a === k ? edge.b : edge.a));
  return s(
    "svg",
    {
      viewBox: `0 0 ${total} ${2 * middle.y}`,
      width: total,
      height: 2 * middle.y,
      role: "img",
      class: "interference",
      "aria-label": `${nodes.length} blocks, ${edges.length} pairs live at once, ${graph.colours.length} colours.`,
    },
    ...edges.map(({ a, b, at }) =>
      s(
        "line",
        {
          class: "edge",
          "data-a": a,
          "data-b": b,
          x1: places[a]!.x,
          y1: places[a]!.y,
          x2: places[b]!.x,
          y2: places[b]!.y,
        },
        s("title", {}, `${nodes[a]!.name} and ${nodes[b]!.name} are both needed at “${graph.points[at]?.label ?? ""}”`),
      ),
    ),
    ...nodes.map((node, k) => {
      const { x, y, right } = places[k]!;
      const others = meets(k)
        .map((other) => nodes[other]!.name)
        .join(", ");
      return s(
        "g",
        { class: `node hue hue-${node.colour % 8}`, "data-node": k },
        s(
          "title",
          {},
          `${node.name}, ${amount(node.bytes, size)}, colour ${node.colour + 1}; ` +
            `${others ? `needed at once with ${others}` : "needed alone"}`,
        ),
        s("circle", { cx: x, cy: y, r: RADIUS }),
        s("text", { x, y: y + 3.5, "text-anchor": "middle", class: "colour" }, node.colour + 1),
        s(
          "text",
          { x: right ? x + RADIUS + 4 : x - RADIUS - 4, y: y + 3.5, "text-anchor": right ? "start" : "end" },
          node.name,
        ),
      );
    }),
  );
}

/** The same as tables: each block with what it meets, each colour with its blocks. */
export function graphTables(graph: Interference, size: SizeOf, choose: (node: number) => void): HTMLElement[] {
  const { nodes, edges, points, colours } = graph;
  const name = (k: number) => h("button", { class: "link", onclick: () => choose(k) }, nodes[k]!.name);
  const head = (...names: string[]) =>
    h("thead", {}, h("tr", {}, ...names.map((one) => h("th", { scope: "col" }, one))));
  const meets = (k: number): string =>
    edges
      .filter((edge) => edge.a === k || edge.b === k)
      .map((edge) => nodes[edge.a === k ? edge.b : edge.a]!.name)
      .join(", ");
  return [
    h(
      "table",
      { class: "cells-table life-table" },
      h("caption", {}, "Colours: blocks that share memory"),
      head("Colour", "Bytes", "Saved", "Blocks"),
      h(
        "tbody",
        {},
        ...colours.map((colour, k) =>
          h(
            "tr",
            {},
            h("td", {}, k + 1),
            h("td", {}, amount(colour.bytes, size)),
            h("td", {}, amount(colour.saved, size)),
            h("td", { class: "inside" }, ...colour.members.flatMap((one, at) => [at ? ", " : "", name(one)])),
          ),
        ),
      ),
    ),
    h(
      "table",
      { class: "cells-table life-table" },
      h("caption", {}, "Blocks"),
      head("Block", "Colour", "Bytes", "From", "Until", "Live at once with"),
      h(
        "tbody",
        {},
        ...nodes.map((node, k) =>
          h(
            "tr",
            {},
            h("td", { class: "inside" }, name(k)),
            h("td", {}, node.colour + 1),
            h("td", {}, amount(node.bytes, size)),
            h("td", { title: points[node.from]?.label }, node.from),
            h("td", { title: points[node.until]?.label }, node.until),
            h("td", { class: "inside" }, meets(k) || "none"),
          ),
        ),
      ),
    ),
  ];
}
