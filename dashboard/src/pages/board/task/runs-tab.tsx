import { Link } from "@tanstack/react-router";
import type { Run, ShownTask } from "../../../../../src/api/contract/tasks.ts";
import { Elapsed, When } from "../../../components/text/time.tsx";
import { amount, elapsed, money } from "../../../words/format.ts";
import { words } from "../../../words/words.ts";
import styles from "./runs-tab.module.css";

const { runs: text } = words.task;

/** The runs of the task with their outcomes, newest first. */
export function RunsTab({ shown }: { readonly shown: ShownTask }) {
  if (shown.runs.length === 0) return <p className="faint">{text.none}</p>;
  return (
    <ol className={styles.long}>
      {shown.runs.toReversed().map((run, index) => (
        <li key={run.id}>
          <RunRow run={run} number={shown.runs.length - index} />
          <div className={styles.more}>
            <When at={run.startedAt} />
            {run.host !== null && <span>{run.host}</span>}
            {run.sessionId !== null && run.profile !== null && (
              <Link to={`/sessions/${run.profile}/${run.sessionId}` as "/"} className={styles.link}>
                {text.session}
              </Link>
            )}
          </div>
          {run.error !== null && <p className={styles.error}>{run.error}</p>}
          {run.summary !== null && <p className={styles.summary}>{run.summary}</p>}
        </li>
      ))}
    </ol>
  );
}

/** The runs as rows, newest first. */
export function RunRows({ shown, onChoose }: { readonly shown: ShownTask; onChoose(): void }) {
  return (
    <ol className={styles.rows}>
      {shown.runs.toReversed().map((run, index) => (
        <li key={run.id}>
          <button type="button" onClick={onChoose}>
            <RunRow run={run} number={shown.runs.length - index} />
          </button>
        </li>
      ))}
    </ol>
  );
}

function RunRow({ run, number }: { readonly run: Run; readonly number: number }) {
  const isRunning = run.endedAt === null;
  return (
    <span className={styles.row}>
      <span>{number}</span>
      <span className={`clip ${isRunning ? styles.live : run.failed ? styles.bad : ""}`}>
        {sentenceFor(run)}
      </span>
      <span className="num">
        {run.endedAt === null ? <Elapsed since={run.startedAt} /> : elapsed(run.endedAt - run.startedAt)}
      </span>
      <span className="num">{amount(run.inputTokens + run.outputTokens)}</span>
      <span className="num">{run.costUsd > 0 && money(run.costUsd)}</span>
    </span>
  );
}

/** "crashed: host restarted", "running as coder" */
function sentenceFor({ outcome, endedAt, profile, error, failed }: Run): string {
  if (endedAt === null) return profile === null ? text.runningNobody : text.running(profile);
  const what = text.ended(outcome ?? "");
  const first = error?.split("\n", 1)[0] ?? "";
  return failed && first !== "" ? `${what}: ${first}` : what;
}
