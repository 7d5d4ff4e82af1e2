import type { OverviewAnswer } from "../../../../src/api/contract/overview.ts";
import { emptyText, Section } from "../../components/layout/section.tsx";
import { When } from "../../components/text/time.tsx";
import { TaskLink } from "../../shell/task-link.tsx";
import { words } from "../../words/words.ts";
import styles from "./lately.module.css";

/** The latest events, newest first. */
export function Lately({ events }: { readonly events: OverviewAnswer["lately"] }) {
  const w = words.overview.lately;
  return (
    <Section title={w.title}>
      {events.length === 0 && <p className={emptyText}>{w.none}</p>}
      <ul className={styles.feed}>
        {events.map(({ id, board, at, task, text }) => (
          <li key={`${board} ${id}`} className={`${styles.event} enter`} data-row-of="lately">
            <When at={at} className={styles.time} />
            <span className={styles.text}>
              {task && (
                <b>
                  <TaskLink board={board} id={task.id}>
                    {task.title}
                  </TaskLink>
                </b>
              )}{" "}
              {text}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
