import type { ShownTask } from "../../../../../src/api/contract/tasks.ts";
import { When } from "../../../components/text/time.tsx";
import { words } from "../../../words/words.ts";
import styles from "./events-tab.module.css";

/** The events of the task, newest first. */
export function EventsTab({ shown: { events } }: { readonly shown: ShownTask }) {
  if (events.length === 0) return <p className="faint">{words.task.events.none}</p>;
  return (
    <ol className={styles.feed}>
      {events.toReversed().map(({ id, at, text }) => (
        <li key={id}>
          <When at={at} className={styles.time} />
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}
