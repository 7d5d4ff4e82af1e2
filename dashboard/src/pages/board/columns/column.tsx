import { type CSSProperties, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Status } from "../../../../../src/api/contract/boards.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { rowWindow, scrollToRow, WINDOWED_FROM } from "../../../components/layout/row-window.ts";
import { number } from "../../../words/format.ts";
import { words } from "../../../words/words.ts";
import { useBoard, useColumn } from "../board-context.tsx";
import { useColumnDrop } from "../drag/use-column-drop.ts";
import { Card } from "./card.tsx";
import styles from "./columns.module.css";
import { STATUS_ICONS } from "./status-icons.ts";

const { board: text } = words;

/** Heights of cards in a windowed column; a running or blocked card has one more line. */
const HEIGHTS = { wide: { plain: 96, tall: 124 }, phone: { plain: 122, tall: 160 } };
const GAP = 6;
/** How long the pointer must rest on a rail to open it. */
const POINTED_MS = 350;

interface ColumnProps {
  readonly status: Status;
  /** Whether the column is drawn as a narrow rail, because it is empty or closed. */
  readonly isRail: boolean;
  /** Whether the page has room for one column only. */
  readonly isPhone: boolean;
  /** The pointer or a dragged card rests on the rail. */
  onPeek(): void;
  onLeave(): void;
  onOpen(): void;
  onClose(): void;
}

/**
 * A column, or a narrow rail while it is empty or closed. Both are the same element, so that a card can be dropped on a rail
 * that opens under it.
 */
export function Column({ status, isRail, isPhone, onPeek, onLeave, onOpen, onClose }: ColumnProps) {
  const { count } = useColumn(status);
  const section = useRef<HTMLElement>(null);
  const { dropVerdict, isOver } = useColumnDrop(status, section);
  const [isPointed, setPointed] = useState(false);
  const opens = isRail && (isOver || isPointed);
  useEffect(() => {
    if (!opens) return;
    const timer = setTimeout(onPeek, isOver ? 0 : POINTED_MS);
    return () => clearTimeout(timer);
  }, [opens, isOver, onPeek]);
  const name = text.status[status];
  return (
    <section
      ref={section}
      className={isRail ? styles.rail : styles.column}
      data-status={status}
      data-drop={dropVerdict === undefined ? undefined : dropVerdict === "allowed" ? "allowed" : "refused"}
      data-over={isOver || undefined}
      aria-label={text.column(name, count)}
      onPointerEnter={({ pointerType }) => setPointed(pointerType === "mouse")}
      onPointerLeave={() => {
        setPointed(false);
        onLeave();
      }}
    >
      {isRail ? (
        <button type="button" aria-label={text.rail(name, number(count))} onClick={onOpen}>
          <Icon name={STATUS_ICONS[status]} />
          <span className={styles.railName} aria-hidden="true">
            {name} {number(count)}
          </span>
        </button>
      ) : (
        <>
          <Head status={status} onClose={onClose} />
          <Cards status={status} isPhone={isPhone} />
          {dropVerdict !== undefined && dropVerdict !== "already-here" && (
            <div className={styles.verdict} aria-hidden="true">
              <span>{dropVerdict === "allowed" ? text.dropHere(name) : text.refusals[dropVerdict]}</span>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function Head({ status, onClose }: { readonly status: Status; onClose(): void }) {
  const { board } = useBoard();
  const { count } = useColumn(status);
  const cap = status === "running" ? (board?.caps.board ?? board?.caps.host ?? null) : null;
  const name = text.status[status];
  return (
    <header className={styles.head}>
      <Icon name={STATUS_ICONS[status]} />
      <h2>{name}</h2>
      <span className={styles.count}>{number(count)}</span>
      {cap !== null && <span className={styles.cap}>{text.cap(count, cap)}</span>}
      <Button
        kind="quiet"
        small
        icon="back"
        className={styles.close}
        aria-label={text.closeColumn(name)}
        onClick={onClose}
      />
    </header>
  );
}

/** The cards of a column. Of a long column, only those around the visible part are in the document. */
function Cards({ status, isPhone }: { readonly status: Status; readonly isPhone: boolean }) {
  const { loadMore, marks } = useBoard();
  const { count, ids, next } = useColumn(status);
  const scroller = useRef<HTMLDivElement>(null);
  const isWindowed = count > WINDOWED_FROM;
  const heights = isPhone ? HEIGHTS.phone : HEIGHTS.wide;
  const height = status === "running" || status === "blocked" ? heights.tall : heights.plain;
  const rowHeight = height + GAP;
  const [first, setFirst] = useState(0);
  const view = isWindowed
    ? rowWindow({ count, rowHeight, scrollTop: first * rowHeight })
    : { first: 0, end: Math.min(count, ids.length), above: 0, below: 0 };

  useEffect(() => {
    if (next !== null && view.end > ids.length) loadMore(status);
  }, [next, view.end, ids.length, loadMore, status]);

  // The keyboard can move to a card that is not in the document yet.
  const focused = useSyncExternalStore(
    (listener) => marks.subscribe("*", listener),
    () => (isWindowed ? marks.focused() : undefined),
  );
  const place = focused === undefined ? -1 : ids.indexOf(focused);
  useEffect(() => {
    const box = scroller.current;
    if (place < 0 || box === null) return;
    const { scrollTop, clientHeight } = box;
    const top = scrollToRow(place, { rowHeight, scrollTop, viewHeight: clientHeight });
    if (top !== undefined) box.scrollTop = top;
  }, [place, rowHeight]);

  const shown = ids.slice(view.first, view.end);
  const missing = Math.max(0, view.end - view.first - shown.length);
  return (
    <div
      ref={scroller}
      className={styles.cards}
      data-windowed={isWindowed || undefined}
      data-scroll-restoration-id={`column-${status}`}
      style={{ "--card-height": `${height}px` } as CSSProperties}
      onScroll={({ currentTarget }) => {
        if (isWindowed) setFirst(Math.floor(currentTarget.scrollTop / rowHeight / 3) * 3);
      }}
    >
      {count === 0 && <p className={styles.none}>{text.emptyColumn}</p>}
      <ul style={{ paddingTop: view.above, paddingBottom: view.below }} data-cards={status}>
        {shown.map((id, index) => (
          <Card key={id} id={id} place={view.first + index + 1} of={count} />
        ))}
        {Array.from({ length: missing }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bone has only its place
          <Bone key={view.first + shown.length + index} />
        ))}
      </ul>
    </div>
  );
}

/** The placeholder of a card that is being loaded. */
export function Bone() {
  return (
    <li className={styles.bone} aria-hidden="true">
      <span className="bone" />
      <span className="bone" />
      <span className="bone" />
    </li>
  );
}
