import { useEffect, useRef, useState } from "react";
import type { Status } from "../../../../../src/api/contract/boards.ts";
import { Icon } from "../../../components/controls/icon.tsx";
import { rowWindow } from "../../../components/layout/row-window.ts";
import { Ago } from "../../../components/text/time.tsx";
import { useKeys } from "../../../shell/keys/keys.tsx";
import { moveToRow } from "../../../shell/keys/move-to-row.ts";
import { money } from "../../../words/format.ts";
import { words } from "../../../words/words.ts";
import { useBoard, useCard, useIsSelected, useSummary } from "../board-context.tsx";
import { Priority, reasonText } from "../columns/card.tsx";
import { STATUS_ICONS } from "../columns/status-icons.ts";
import styles from "./list-view.module.css";

const { board: text } = words;
const { list } = text;
const ROW = 34;

/** The tasks as a table, column by column. Only the rows around the visible part are in the document. */
export function ListView() {
  const { store, statuses, loadMore, openId } = useBoard();
  const { counts } = useSummary(store);
  const [scrollTop, setScrollTop] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const sections = sectionsOf(statuses, counts);
  const count = sections.reduce((sum, section) => sum + section.count, 0);
  const view = rowWindow({ count, rowHeight: ROW, scrollTop });
  const rows = rowsOf(sections, view.first, view.end);

  const move = (step: 1 | -1) => (): boolean => {
    if (openId === undefined) moveToRow(step);
    return openId === undefined;
  };
  useKeys({ j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1) });

  useEffect(() => {
    for (const { status, first, end } of rows) {
      const { ids, next } = store.column(status);
      if (next !== null && end > ids.length && first <= end) loadMore(status);
    }
  });

  return (
    <div
      ref={scroller}
      className={styles.list}
      data-scroll-restoration-id="list"
      onScroll={({ currentTarget }) => setScrollTop(Math.floor(currentTarget.scrollTop / ROW / 3) * ROW * 3)}
    >
      <table aria-label={list.label} aria-rowcount={count}>
        <thead>
          <tr>
            <th scope="col">{list.task}</th>
            <th scope="col">{list.status}</th>
            <th scope="col">{list.assignee}</th>
            <th scope="col">{list.priority}</th>
            <th scope="col">{list.reason}</th>
            <th scope="col" className="num">
              {list.changed}
            </th>
            <th scope="col" className="num">
              {list.cost}
            </th>
          </tr>
        </thead>
        <tbody>
          {view.above > 0 && <tr style={{ height: view.above }} />}
          {rows.flatMap(({ status, first, end }) => {
            const { ids } = store.column(status);
            return Array.from({ length: end - first }, (_, index) => {
              const id = ids[first + index];
              return <Row key={id ?? `${status} ${first + index}`} id={id} />;
            });
          })}
          {view.below > 0 && <tr style={{ height: view.below }} />}
        </tbody>
      </table>
    </div>
  );
}

interface Section {
  readonly status: Status;
  readonly count: number;
}

/** Tasks that need a person come first, done ones last. */
const ORDER: readonly Status[] = [
  "blocked",
  "review",
  "running",
  "ready",
  "todo",
  "scheduled",
  "triage",
  "done",
  "archived",
];

function sectionsOf(
  statuses: readonly Status[],
  counts: Readonly<Partial<Record<Status, number>>>,
): readonly Section[] {
  return ORDER.filter((status) => statuses.includes(status)).map((status) => ({
    status,
    count: counts[status] ?? 0,
  }));
}

/** Splits a window of rows into ranges of the sections. */
function rowsOf(
  sections: readonly Section[],
  from: number,
  to: number,
): readonly { readonly status: Status; readonly first: number; readonly end: number }[] {
  let start = 0;
  return sections.flatMap(({ status, count }) => {
    const first = Math.max(0, from - start);
    const end = Math.min(count, to - start);
    start += count;
    return first < end ? [{ status, first, end }] : [];
  });
}

/** A row of the table; a placeholder while its card is being loaded. */
function Row({ id = "" }: { readonly id: string | undefined }) {
  const card = useCard(id);
  const { hrefOf, openTask, marks } = useBoard();
  const isSelected = useIsSelected(id);
  if (card === undefined) return <BoneRow />;
  return (
    <tr
      aria-selected={isSelected}
      data-row-of="tasks"
      className={`${styles.row} ${card.changes > 0 ? "changed" : ""}`}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        if (event.shiftKey) marks.toggle(id);
        else openTask(id);
      }}
    >
      <td>
        <div className={styles.task}>
          <span className="mono faint">{text.number(card.seq)}</span>
          <a href={hrefOf(id)} className="clip" data-row="">
            {card.title}
          </a>
        </div>
      </td>
      <td>
        <span className={styles.status} data-status={card.status}>
          <Icon name={STATUS_ICONS[card.status]} /> {text.status[card.status]}
        </span>
      </td>
      <td className="clip">{card.assignee ?? <span className="faint">{text.nobody}</span>}</td>
      <td>
        <Priority value={card.priority} />
      </td>
      <td className="clip soft">{card.notice?.text ?? (card.reason !== null && reasonText(card.reason))}</td>
      <td className="num faint">
        <Ago at={card.updatedAt} />
      </td>
      <td className="num faint">{card.costUsd > 0 && money(card.costUsd)}</td>
    </tr>
  );
}

function BoneRow() {
  return (
    <tr className={styles.row}>
      <td colSpan={7}>
        <span className="bone" style={{ display: "block", width: "40%" }} />
      </td>
    </tr>
  );
}
