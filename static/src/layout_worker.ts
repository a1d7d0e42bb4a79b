// Places the nodes of a graph in layers, beside the page's own thread. Loaded when the first graph is drawn.
import { Graph, layout } from "@dagrejs/dagre";
import type { Placed, Sizes } from "./graph";

const here = self as unknown as {
  onmessage: (event: MessageEvent<{ id: number; sizes: Sizes }>) => void;
  postMessage: (answer: unknown) => void;
};

here.onmessage = ({ data: { id, sizes } }) => here.postMessage({ id, placed: placed(sizes) });

function placed({ nodes, edges }: Sizes): Placed {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 34, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [k, { width, height }] of nodes.entries()) graph.setNode(String(k), { width, height });
  for (const [k, { source, target, width }] of edges.entries()) {
    graph.setEdge(String(source), String(target), { width, height: 18, labelpos: "c" }, String(k));
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    nodes: nodes.map((_, k) => {
      const { x, y } = graph.node(String(k)) as { x: number; y: number };
      return { x, y };
    }),
    edges: edges.map(({ source, target }, k) => {
      const { points, x, y } = graph.edge(String(source), String(target), String(k)) as {
        points: { x: number; y: number }[];
        x: number;
        y: number;
      };
      return { points, x, y };
    }),
  };
}
