import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { LinksAnswer, TaskName } from "../../../../../src/api/contract/boards.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { FailureNote, Note } from "../../../components/layout/note.tsx";
import { useAppData } from "../../../data/app-data.tsx";
import { words } from "../../../words/words.ts";
import { useBoard, useCard } from "../board-context.tsx";
import { Skeleton } from "../columns/skeleton.tsx";
import { STATUS_ICONS } from "../columns/status-icons.ts";
import { type GraphNode, layOutGraph, NODE } from "./graph-layout.ts";
import styles from "./graph-view.module.css";

const { graph: text } = words.board;
const ZOOMS = [0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.5] as const;

/** Tasks and what they wait for, in layers from left to right. */
export function GraphView() {
  const { api, live } = useAppData();
  const { slug, openId } = useBoard();
  const [zoom, setZoom] = useState(1);
  const scroller = useRef<HTMLElement>(null);
  const links = useQuery({
    queryKey: ["links", slug],
    queryFn: ({ signal }) => api.get<LinksAnswer>(`boards/${encodeURIComponent(slug)}/links`, signal),
    staleTime: 0,
  });
  const { data, refetch } = links;
  const at = data?.at;
  useEffect(() => {
    if (at === undefined) return;
    // Only the events in `LINKING` change links; other changes reach the nodes through the store.
    return live.follow(`board:${slug}`, at, ({ data: change }) => {
      const { events } = change as { events?: readonly { kind: string }[] };
      if (events?.some(({ kind }) => LINKING.has(kind))) void refetch();
    });
  }, [live, slug, at, refetch]);
  const drawn = useMemo(() => (data === undefined ? undefined : layOutGraph(data)), [data]);
  const tasks = new Map(data?.tasks.map((task) => [task.id, task]));

  if (links.error !== null && data === undefined)
    return <FailureNote error={links.error} retry={() => void refetch()} />;
  if (drawn === undefined || data === undefined) return <Skeleton />;
  if (drawn.nodes.length === 0)
    return (
      <div className={styles.empty}>
        <b>{text.empty.title}</b>
        <p>{text.empty.text}</p>
      </div>
    );

  const { left: omitted } = data;
  const step = (by: number): void => {
    const index = ZOOMS.findIndex((value) => value >= zoom);
    setZoom(ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, index + by))] ?? 1);
  };
  const fit = (): void => {
    const box = scroller.current;
    if (box === null) return;
    const wanted = Math.min(box.clientWidth / drawn.width, box.clientHeight / drawn.height, 1);
    setZoom(Math.max(ZOOMS[0], wanted));
  };
  return (
    <div className={styles.graph}>
      <div className={styles.tools}>
        <Button small kind="quiet" onClick={fit}>
          {text.fit}
        </Button>
        <Button small kind="quiet" aria-label={text.zoomOut} onClick={() => step(-1)}>
          −
        </Button>
        <Button small kind="quiet" aria-label={text.zoomIn} onClick={() => step(1)}>
          +
        </Button>
      </div>
      {omitted > 0 && <Note>{text.omitted(omitted)}</Note>}
      <section
        ref={scroller}
        className={styles.scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        aria-label={text.label}
      >
        <div
          className={styles.sheet}
          style={{ width: drawn.width, height: drawn.height, zoom: String(zoom) }}
        >
          <svg width={drawn.width} height={drawn.height} aria-hidden="true">
            {drawn.edges.map(({ key, path, from, to }) => (
              <path key={key} d={path} data-chosen={from === openId || to === openId || undefined} />
            ))}
          </svg>
          {drawn.nodes.map((node) => {
            const task = tasks.get(node.id);
            return task && <Node key={node.id} node={node} task={task} />;
          })}
        </div>
      </section>
    </div>
  );
}

/** A task in the graph, kept current if its card is loaded. */
function Node({ node: { id, x, y }, task }: { readonly node: GraphNode; readonly task: TaskName }) {
  const { openId, openTask, hrefOf } = useBoard();
  const card = useCard(id);
  const { seq, title, status, assignee } = card ?? task;
  return (
    <a
      href={hrefOf(id)}
      className={styles.node}
      data-status={status}
      aria-current={id === openId || undefined}
      aria-label={text.node(
        `${title} ${words.board.number(seq)} ${assignee ?? ""}`.trim(),
        words.board.status[status],
      )}
      title={title}
      style={{ left: x, top: y, width: NODE.width, height: NODE.height }}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        openTask(id);
      }}
    >
      <Icon name={STATUS_ICONS[status]} />
      <span className={styles.title}>{title}</span>
      <small>
        {words.board.number(seq)} {assignee}
      </small>
    </a>
  );
}

const LINKING: ReadonlySet<string> = new Set([
  "linked",
  "unlinked",
  "created",
  "archived",
  "purged",
  "decomposed",
]);
