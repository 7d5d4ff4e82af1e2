import { useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { LogLine } from "../../../../src/api/contract/logs.ts";
import { Button } from "../../components/controls/button.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { useKeys } from "../../shell/keys/keys.tsx";
import { useProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import { LogDetails } from "./log-details.tsx";
import { LogFilters } from "./log-filters.tsx";
import { LogList, ToEnd } from "./log-list.tsx";
import { keyOf, type LogRows, MAX_ROWS } from "./log-rows.ts";
import { type LogSearch, readLogSearch } from "./log-search.ts";
import styles from "./logs-page.module.css";
import { useLog } from "./use-log.ts";

const { logs: text } = pageWords;
const { shell } = words;

/** The log of the profile, from its end and growing. */
export function LogsPage() {
  usePageTitle(shell.pages.logs);
  const profile = useProfile();
  const search = readLogSearch(useSearch({ strict: false }));
  const change = useChangeSearch();
  const { rows: current, error, retry, readOlder, isReadingOlder } = useLog(profile, search);
  const [pausedAt, setPausedAt] = useState<number>();
  const [endRequest, setEndRequest] = useState(0);
  const [selected, setSelected] = useState<LogLine>();
  const field = useRef<HTMLInputElement>(null);

  const total = current === undefined ? 0 : current.rows.length + current.dropped;
  const isPaused = pausedAt !== undefined;
  const pause = (paused: boolean): void => setPausedAt(paused ? total : undefined);
  const toEnd = (): void => {
    setPausedAt(undefined);
    setEndRequest((count) => count + 1);
  };
  const moveHit = (by: 1 | -1): void => {
    const lines = (current?.rows ?? []).filter((row): row is LogLine => !("skipped" in row));
    const at = selected === undefined ? -1 : lines.findIndex((line) => keyOf(line) === keyOf(selected));
    const next = at < 0 ? lines.at(-1) : lines[at + by];
    if (next !== undefined) setSelected(next);
  };
  useKeys({
    "/": () => field.current?.focus(),
    " ": (event) => {
      if (event.target instanceof HTMLButtonElement) return false;
      if (isPaused) toEnd();
      else pause(true);
    },
    G: toEnd,
    End: toEnd,
    n: () => moveHit(1),
    N: () => moveHit(-1),
    Escape: () => setSelected(undefined),
  });
  const components = useComponents(current, search.component);

  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>{shell.pages.logs}</h1>
        {current !== undefined && <span className="faint">{text.count(current.rows.length)}</span>}
        <Button
          small
          icon={isPaused ? "running" : "pause"}
          className={styles.pause}
          aria-pressed={isPaused}
          onClick={() => (isPaused ? toEnd() : pause(true))}
        >
          {isPaused ? text.resume : text.pause}
        </Button>
      </header>
      <LogFilters search={search} components={components} inputRef={field} onChange={change} />
      {error !== undefined && <FailureNote error={error} retry={retry} />}
      <div className={styles.body}>
        {current === undefined ? (
          error === undefined && <Skeleton />
        ) : current.rows.length === 0 && current.older === null ? (
          <Nothing isFiltered={Object.keys(search).some((name) => name !== "file")} onClear={change} />
        ) : (
          <LogList
            log={current}
            selected={selected && keyOf(selected)}
            isPaused={isPaused}
            isReadingOlder={isReadingOlder}
            endRequest={endRequest}
            onOlder={() => void readOlder()}
            onSelect={setSelected}
            onPause={pause}
            top={<Top log={current} isReading={isReadingOlder} onOlder={() => void readOlder()} />}
          />
        )}
        {pausedAt !== undefined && <ToEnd count={Math.max(0, total - pausedAt)} onClick={toEnd} />}
      </div>
      {selected !== undefined && (
        <LogDetails
          line={selected}
          profile={profile}
          onChange={change}
          onClose={() => setSelected(undefined)}
        />
      )}
    </div>
  );
}

function useChangeSearch(): (change: Partial<LogSearch>) => void {
  const navigate = useNavigate();
  return (change) =>
    void navigate({
      to: ".",
      replace: true,
      resetScroll: false,
      search: (earlier) => ({ ...earlier, ...change }) as typeof earlier,
    });
}

/** The components of the shown lines, and the chosen one. */
function useComponents(log: LogRows | undefined, chosen: string | undefined): readonly string[] {
  const known = useRef(new Set<string>());
  for (const row of log?.rows ?? [])
    if (!("skipped" in row) && row.component !== "") known.current.add(row.component);
  if (chosen !== undefined) known.current.add(chosen);
  return [...known.current].sort();
}

interface TopProps {
  readonly log: LogRows;
  readonly isReading: boolean;
  onOlder(): void;
}

/** What is above the first row: older lines, or why there are none. */
function Top({ log, isReading, onOlder }: TopProps) {
  if (log.rows.length >= MAX_ROWS) return <p className={styles.top}>{text.full(MAX_ROWS)}</p>;
  if (log.older === null) return null;
  return (
    <div className={styles.top}>
      {log.rows.length === 0 && <p>{text.searchedSoFar}</p>}
      <Button small kind="quiet" busy={isReading} onClick={onOlder}>
        {isReading ? text.olderReading : text.older}
      </Button>
    </div>
  );
}

function Nothing({
  isFiltered,
  onClear,
}: {
  readonly isFiltered: boolean;
  onClear(change: Partial<LogSearch>): void;
}) {
  return (
    <div className={styles.nothing}>
      <b>{isFiltered ? text.noMatch : text.none}</b>
      {isFiltered ? (
        <Button
          onClick={() =>
            onClear({
              level: undefined,
              component: undefined,
              session: undefined,
              since: undefined,
              q: undefined,
            })
          }
        >
          {text.clear}
        </Button>
      ) : (
        <p>{text.noneHint}</p>
      )}
    </div>
  );
}

function Skeleton() {
  return (
    <div className={styles.skeleton} aria-busy="true">
      {[72, 48, 81, 60, 66, 39, 77].map((width) => (
        <div key={width} className="bone" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
