import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { LogLine } from "../../../../src/api/contract/logs.ts";
import { Button } from "../../components/controls/button.tsx";
import { rowWindow } from "../../components/layout/row-window.ts";
import { plainText } from "../../components/text/plain-text.ts";
import { logTime } from "../../words/format.ts";
import { pageWords } from "../../words/page-words.ts";
import styles from "./log-list.module.css";
import { keyOf, type LogRow, type LogRows } from "./log-rows.ts";

const { logs: text } = pageWords;
const ROW_PX = 22;
/** Rows drawn at once: a tall screen and some more. */
const DRAWN = 90;
/** How near the top the older lines are read. */
const NEAR_TOP_PX = 600;

interface LogListProps {
  readonly log: LogRows;
  readonly selected: string | undefined;
  /** New lines are not shown while it is paused. */
  readonly isPaused: boolean;
  readonly isReadingOlder: boolean;
  /** A number that changes whenever the end shall be shown. */
  readonly endRequest: number;
  onOlder(): void;
  onSelect(line: LogLine): void;
  onPause(isPaused: boolean): void;
  /** Shown above the first row. */
  readonly top: ReactNode;
}

/** The lines. The view follows the end only while the end is visible; scrolling up pauses it. */
export function LogList(props: LogListProps) {
  const { log, selected, isPaused, isReadingOlder, endRequest, onOlder, onSelect, onPause, top } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const count = log.rows.length;
  const view = rowWindow({ count, rowHeight: ROW_PX, scrollTop, drawn: DRAWN });
  const shown = useRef({ first: "", count: 0, dropped: 0 });

  const toEnd = useCallback((): void => {
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  }, []);
  // Rows that come or go at the top do not move the ones that are being read.
  useLayoutEffect(() => {
    const box = scroller.current;
    const [first] = log.rows;
    const before = shown.current;
    shown.current = { first: first ? keyOf(first) : "", count, dropped: log.dropped };
    if (box === null) return;
    if (!isPaused) {
      toEnd();
      return;
    }
    const dropped = log.dropped - before.dropped;
    if (dropped > 0) box.scrollTop -= dropped * ROW_PX;
    else if (before.first !== "" && first !== undefined && keyOf(first) !== before.first)
      box.scrollTop += (count - before.count) * ROW_PX;
  }, [log, count, isPaused, toEnd]);
  // A smaller view, for instance above the details of a line, still shows the end.
  useEffect(() => {
    const box = scroller.current;
    if (box === null || isPaused) return;
    const observer = new ResizeObserver(toEnd);
    observer.observe(box);
    return () => observer.disconnect();
  }, [isPaused, toEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: at each request
  useEffect(toEnd, [endRequest, toEnd]);

  return (
    <div
      ref={scroller}
      className={styles.scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={text.label}
      onScroll={({ currentTarget: box }) => {
        setScrollTop(Math.floor(box.scrollTop / ROW_PX / 3) * ROW_PX * 3);
        const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < ROW_PX * 2;
        if (isAtEnd === isPaused && !(isAtEnd && count === 0)) onPause(!isAtEnd);
        if (box.scrollTop < NEAR_TOP_PX && log.older !== null && !isReadingOlder && !isAtEnd) onOlder();
      }}
    >
      {top}
      <ul style={{ paddingTop: view.above, paddingBottom: view.below }}>
        {log.rows.slice(view.first, view.end).map((row) => (
          <li key={keyOf(row)}>
            <Row row={row} isSelected={keyOf(row) === selected} onSelect={onSelect} />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  readonly row: LogRow;
  readonly isSelected: boolean;
  onSelect(line: LogLine): void;
}

function Row({ row, isSelected, onSelect }: RowProps) {
  if ("skipped" in row) return <p className={styles.skipped}>{text.skipped(row.skipped)}</p>;
  const { at, level, component, text: message, details } = row;
  return (
    <button
      type="button"
      className={styles.row}
      aria-pressed={isSelected}
      data-level={level ?? undefined}
      onClick={() => onSelect(row)}
    >
      <time>{at === null ? "" : logTime(at)}</time>
      <b>{level === null ? "" : text.levels[level]}</b>
      <i>{plainText(component)}</i>
      <span>
        {oneLine(message)} {details !== "" && <em>{oneLine(details)}</em>}
      </span>
    </button>
  );
}

const oneLine = (content: string): string => plainText(content).replaceAll("\n", " ⏎ ");

/** Jumps to the end, and says how much is new there. */
export function ToEnd({ count, onClick }: { readonly count: number; onClick(): void }) {
  return (
    <Button small icon="down" className={styles.end} onClick={onClick}>
      {text.toEnd(count)}
    </Button>
  );
}
