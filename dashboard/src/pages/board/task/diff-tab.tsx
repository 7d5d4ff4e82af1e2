import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { RunDiff, ShownTask } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { FailureNote } from "../../../components/layout/note.tsx";
import { rowWindow } from "../../../components/layout/row-window.ts";
import { useApi } from "../../../data/app-data.tsx";
import { words } from "../../../words/words.ts";
import { taskPath } from "../board-queries.ts";
import { parseDiff } from "../model/diff-lines.ts";
import { plainLine } from "../model/log-buffer.ts";
import styles from "./diff-tab.module.css";

const { diff: text } = words.task;
const LINE = 19;
const DRAWN = 90;

/** The changes of the worktree, read when the tab is first opened. */
export function useDiff(slug: string, { task, runs }: ShownTask, isOpen: boolean): UseQueryResult<RunDiff> {
  const api = useApi();
  const run = runs.at(-1);
  return useQuery({
    queryKey: ["diff", slug, task.id, run?.id],
    queryFn: ({ signal }) => api.get<RunDiff>(`${taskPath(slug, task.id)}/runs/${run?.id}/diff`, signal),
    enabled: run !== undefined && (isOpen || task.workspaceKind === "worktree"),
    staleTime: isOpen ? 5_000 : Number.POSITIVE_INFINITY,
  });
}

/** What has changed in the worktree of the task since its branch began. */
export function DiffTab({ diff }: { readonly diff: UseQueryResult<RunDiff> }) {
  if (diff.error !== null) return <FailureNote error={diff.error} retry={() => void diff.refetch()} />;
  if (diff.data === undefined)
    return <p className="faint">{diff.isFetching ? text.loading : words.task.runs.none}</p>;
  const { missing, files, added, removed, branch, base, isCut } = diff.data;
  if (missing !== null) return <p className="soft">{missing}</p>;
  return (
    <>
      <div className={styles.head}>
        <span>
          {text.files(files.length)} <b className={styles.plus}>{text.lines(added, removed)}</b>
        </span>
        {branch !== null && base !== null && (
          <span className="faint clip">{text.against(branch, base.slice(0, 9))}</span>
        )}
        <Button small kind="quiet" busy={diff.isFetching} onClick={() => void diff.refetch()}>
          {text.refresh}
        </Button>
      </div>
      {files.length === 0 ? (
        <p className="faint">{text.none}</p>
      ) : (
        <div className={styles.sheet} data-fills>
          <FileList files={files} />
          <Lines text={diff.data.text} />
          {isCut && <p className="faint">{text.cut}</p>}
        </div>
      )}
    </>
  );
}

function FileList({ files }: { readonly files: RunDiff["files"] }) {
  return (
    <ul className={styles.files}>
      {files.map(({ path, added, removed, state }) => (
        <li key={path}>
          <span className="mono clip" title={path}>
            {plainLine(path)}
          </span>
          <span className="faint">{text.states[state]}</span>
          <span className={styles.count}>
            {added === null ? text.binary : text.lines(added, removed ?? 0)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The lines of the diff; only those around the visible part are in the document. */
function Lines({ text: source }: { readonly text: string }) {
  const lines = useMemo(() => parseDiff(source), [source]);
  const [top, setTop] = useState(0);
  const view = rowWindow({ count: lines.length, rowHeight: LINE, scrollTop: top, drawn: DRAWN });
  return (
    <section
      className={styles.scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      aria-label={text.label}
      onScroll={({ currentTarget }) => setTop(Math.floor(currentTarget.scrollTop / LINE / 3) * LINE * 3)}
    >
      <div className={styles.lines} style={{ paddingTop: view.above, paddingBottom: view.below }}>
        {lines.slice(view.first, view.end).map(({ kind, text: line, before, after }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line has only its number
          <div key={view.first + index} data-kind={kind}>
            <span className={styles.number}>{before ?? ""}</span>
            <span className={styles.number}>{after ?? ""}</span>
            <span className={styles.sign}>{kind === "added" ? "+" : kind === "removed" ? "−" : " "}</span>
            <code>{plainLine(line)}</code>
          </div>
        ))}
      </div>
    </section>
  );
}
