import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { RunLog, RunLogPiece } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { FailureNote } from "../../../components/layout/note.tsx";
import { rowWindow } from "../../../components/layout/row-window.ts";
import { useAppData } from "../../../data/app-data.tsx";
import { words } from "../../../words/words.ts";
import { taskPath } from "../board-queries.ts";
import { appendLog, type LogBuffer, MAX_LINES, openLog, plainLine, prependLog } from "../model/log-buffer.ts";
import styles from "./log-tab.module.css";

const { log: text } = words.task;
const LINE_HEIGHT_PX = 19;
/** Rows drawn at once: a tall screen and some more. */
const DRAWN = 90;
/** How much of the log one request reads: its end, or an earlier piece. */
const READ_BYTES = 64_000;

interface LogViewProps {
  readonly slug: string;
  readonly taskId: string;
  readonly runId: number;
  readonly isRunning: boolean;
  /** Shows only the last lines, in a box of fixed height. */
  readonly isShort?: boolean;
}

/** A growing log. It follows its end only while the end is visible, and draws at most once per frame. */
export function LogView(props: LogViewProps) {
  const { log, error, retry, earlier, isReadingEarlier } = useRunLog(props);
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [isAtEnd, setAtEnd] = useState(true);
  const [seen, setSeen] = useState(0);
  const lines = log?.lines ?? [];
  const count = lines.at(-1) === "" ? lines.length - 1 : lines.length;
  const total = count + (log?.dropped ?? 0);
  const hasLog = log !== undefined;

  const toEnd = useCallback((): void => {
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each new line
  useLayoutEffect(() => {
    if (isAtEnd) toEnd();
  }, [total, isAtEnd, toEnd]);
  useEffect(() => {
    if (isAtEnd) setSeen(total);
  }, [isAtEnd, total]);

  if (error !== undefined) return <FailureNote error={error} retry={retry} />;
  const view = rowWindow({ count, rowHeight: LINE_HEIGHT_PX, scrollTop: top, drawn: DRAWN });
  return (
    <section
      className={styles.view}
      data-fills={props.isShort === true ? undefined : true}
      data-short={props.isShort || undefined}
      aria-label={text.label}
    >
      <div className={styles.head}>
        <h3>{text.label}</h3>
        {hasLog && <span className="faint">{props.isRunning ? text.live(total) : text.ended(total)}</span>}
      </div>
      <div
        ref={scroller}
        className={styles.scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={text.label}
        onScroll={({ currentTarget: box }) => {
          setTop(Math.floor(box.scrollTop / LINE_HEIGHT_PX / 3) * LINE_HEIGHT_PX * 3);
          setAtEnd(box.scrollHeight - box.scrollTop - box.clientHeight < LINE_HEIGHT_PX * 2);
        }}
      >
        {hasLog && count === 0 && <p className="faint">{text.empty}</p>}
        {hasLog && log.from > 0 && log.dropped === 0 && lines.length < MAX_LINES && (
          <button
            type="button"
            className={styles.earlier}
            disabled={isReadingEarlier}
            onClick={() => void earlier()}
          >
            {text.earlier}
          </button>
        )}
        <div className={styles.lines} style={{ paddingTop: view.above, paddingBottom: view.below }}>
          {lines.slice(view.first, view.end).map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line has only its number
            <div key={view.first + index + (log?.dropped ?? 0)}>{plainLine(line)}</div>
          ))}
        </div>
      </div>
      {!isAtEnd && (
        <Button
          small
          icon="down"
          className={styles.end}
          onClick={() => {
            setAtEnd(true);
            toEnd();
          }}
        >
          {text.toEnd(Math.max(0, total - seen))}
        </Button>
      )}
    </section>
  );
}

function useRunLog({ slug, taskId, runId, isRunning }: LogViewProps) {
  const { api, live } = useAppData();
  const [log, setLog] = useState<LogBuffer>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  const [isReadingEarlier, setReadingEarlier] = useState(false);
  const path = `${taskPath(slug, taskId)}/runs/${runId}/log`;

  // biome-ignore lint/correctness/useExhaustiveDependencies: another round reads again
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    let current: LogBuffer | undefined;
    let frame = 0;
    let isReading = false;
    let stop: (() => void) | undefined;
    // Pieces that arrive while the log is being read again; parts that it already contains are skipped.
    let pieces: RunLogPiece[] = [];

    const draw = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setLog(current));
    };
    const take = (piece: RunLogPiece): void => {
      if (current === undefined) {
        pieces.push(piece);
        return;
      }
      const next = appendLog(current, piece);
      if (next === undefined) {
        current = undefined;
        pieces = [piece];
        read();
      } else if (next !== current) {
        current = next;
        draw();
      }
    };
    const read = (): void => {
      if (isReading) return;
      isReading = true;
      api
        .get<RunLog>(`${path}?bytes=${READ_BYTES}`, signal)
        .then((answer) => {
          current = openLog(answer);
          const waiting = pieces;
          pieces = [];
          for (const piece of waiting) {
            const next = appendLog(current, piece);
            if (next !== undefined) current = next;
          }
          draw();
          // Only from here on, because `at` is the position from which no line is missed.
          if (isRunning && answer.at !== null)
            stop ??= live.follow(`run:${slug}/${runId}`, answer.at, ({ name, data }) => {
              if (name === "run-line") take(data as RunLogPiece);
            });
        })
        .catch((thrown: unknown) => {
          if (!signal.aborted) setError(thrown);
        })
        .finally(() => {
          isReading = false;
        });
    };
    setError(undefined);
    const stopEvents = live.onEvent(({ name }) => {
      if (name === "reset") read();
    });
    read();
    return () => {
      ended.abort();
      cancelAnimationFrame(frame);
      stop?.();
      stopEvents();
    };
  }, [api, live, path, slug, runId, isRunning, round]);

  async function earlier(): Promise<void> {
    if (log === undefined) return;
    setReadingEarlier(true);
    try {
      const piece = await api.get<RunLog>(`${path}?before=${log.from}&bytes=${READ_BYTES}`);
      setLog((now) => now && prependLog(now, piece));
    } catch (thrown) {
      setError(thrown);
    } finally {
      setReadingEarlier(false);
    }
  }

  return { log, error, retry: () => setRound((count) => count + 1), earlier, isReadingEarlier };
}
