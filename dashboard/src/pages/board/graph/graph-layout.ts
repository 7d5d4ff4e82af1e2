import { graphlib, layout } from "@dagrejs/dagre";
import type { LinksAnswer } from "../../../../../src/api/contract/boards.ts";

export interface GraphNode {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly GraphNode[];
  /** Lines from a task to those that wait for it. */
  readonly edges: readonly {
    readonly key: string;
    readonly path: string;
    readonly from: string;
    readonly to: string;
  }[];
}

export const NODE = { width: 208, height: 46 };

/** Arranges tasks in layers, each to the right of those that it waits for. */
export function layOutGraph({ tasks, links }: Pick<LinksAnswer, "tasks" | "links">): GraphLayout {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 54, marginx: 24, marginy: 24 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(tasks.map(({ id }) => id));
  for (const { id } of tasks) graph.setNode(id, { ...NODE });
  for (const { parent, child } of links)
    if (known.has(parent) && known.has(child)) graph.setEdge(parent, child);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: graph.nodes().map((id) => {
      const { x, y } = graph.node(id);
      return { id, x: x - NODE.width / 2, y: y - NODE.height / 2 };
    }),
    edges: graph.edges().map((edge) => {
      const { points = [] } = graph.edge(edge);
      return { key: `${edge.v} ${edge.w}`, from: edge.v, to: edge.w, path: curveOf(points) };
    }),
  };
}

function curveOf(points: readonly { readonly x: number; readonly y: number }[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const lines = rest.map(({ x, y }, index) => {
    const before = points[index] ?? first;
    const middle = (before.x + x) / 2;
    return `C ${middle} ${before.y} ${middle} ${y} ${x} ${y}`;
  });
  return `M ${first.x} ${first.y} ${lines.join(" ")}`;
}
