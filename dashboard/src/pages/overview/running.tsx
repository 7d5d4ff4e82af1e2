import type { RunningTask } from "../../../../src/api/contract/overview.ts";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { Elapsed } from "../../components/text/time.tsx";
import { TaskLink } from "../../shell/task-link.tsx";
import { amount, money } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import styles from "./running.module.css";

interface RunningProps {
  readonly running: readonly RunningTask[];
  readonly places: number | null;
}

/** The running tasks, each with its last call. */
export function Running({ running, places }: RunningProps) {
  const w = words.overview.running;
  return (
    <Section title={w.title} fact={running.length > 0 ? w.places(running.length, places) : undefined}>
      {running.length === 0 && <p className={emptyText}>{w.none}</p>}
      <ul className={rowList}>
        {running.map(({ id, board, taskId, seq, title, profile, startedAt, tokens, costUsd, call }) => (
          <li key={`${board} ${id}`} className={`${styles.run} enter`} data-row-of="running">
            <span className="dot dot-on" />
            <div className={`${styles.title} clip`}>
              <TaskLink board={board} id={taskId} row>
                {title}
              </TaskLink>
              <span className={`${styles.id} mono`}>#{seq}</span>
            </div>
            <span className={`${styles.who} ${styles.wide} clip`}>{profile ?? w.unassigned}</span>
            <Elapsed since={startedAt} className={styles.number} />
            <span className={`${styles.number} ${styles.wide}`}>{tokens > 0 ? amount(tokens) : ""}</span>
            <span className={`${styles.number} ${styles.wide}`}>{costUsd > 0 ? money(costUsd) : ""}</span>
            {call && (
              <div className={`${styles.line} clip`}>
                <span>{call.tool}</span>
                <span className={`${styles.call} mono clip`}>{call.text}</span>
              </div>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
