import { useState } from "react";
import type { ShownTask } from "../../../../../src/api/contract/tasks.ts";
import { Select } from "../../../components/controls/field.tsx";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import styles from "./log-tab.module.css";
import { LogView } from "./log-view.tsx";

const { log: text } = words.task;

/** The log of one run, live while it runs. */
export function LogTab({ shown }: { readonly shown: ShownTask }) {
  const { slug } = useBoard();
  const [chosen, setChosen] = useState<number>();
  const latest = shown.runs.at(-1);
  const run = shown.runs.find(({ id }) => id === chosen) ?? latest;
  if (run === undefined) return <p className="faint">{text.none}</p>;
  const isMany = shown.runs.length > 1;
  return (
    <>
      <div className={styles.choose}>
        {isMany && (
          <Select
            bare
            label={text.choose}
            value={run.id}
            onChange={(event) => setChosen(Number(event.target.value))}
          >
            {shown.runs.toReversed().map(({ id }, index) => (
              <option key={id} value={id}>
                {text.run(shown.runs.length - index)}
              </option>
            ))}
          </Select>
        )}
      </div>
      {run.hasLog ? (
        <LogView
          key={run.id}
          slug={slug}
          taskId={shown.task.id}
          runId={run.id}
          isRunning={run.endedAt === null}
        />
      ) : (
        <p className="faint" data-fills>
          {text.elsewhere}
        </p>
      )}
    </>
  );
}
