import type { SandboxJob } from "../../../../src/api/contract/machines/sandboxes.ts";
import { Button } from "../../components/controls/button.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { Ago, Elapsed } from "../../components/text/time.tsx";
import { words } from "../../words/words.ts";
import styles from "./job-list.module.css";
import { useShellRefusal } from "./sandbox-queries.ts";

const w = words.sandboxes.jobList;

interface JobListProps {
  readonly jobs: readonly SandboxJob[];
  readonly problem: string | null;
  readonly canStart: boolean;
  onStart(): void;
  onAttach(job: SandboxJob): void;
  onKill(job: SandboxJob): void;
}

/** The background commands of a sandbox, running ones first. */
export function JobList({ jobs, problem, canStart, onStart, onAttach, onKill }: JobListProps) {
  const refusal = useShellRefusal();
  const running = jobs.filter(({ state }) => state !== "ended").length;
  const start = (
    <Button small disabled={refusal !== undefined} title={refusal} onClick={onStart}>
      {w.start}
    </Button>
  );
  return (
    <div className={styles.around}>
      <Section title={w.title} fact={running > 0 ? running : undefined} end={canStart ? start : undefined}>
        {problem !== null && <p className={emptyText}>{w.stale(problem)}</p>}
        {jobs.length === 0 && <p className={emptyText}>{w.none}</p>}
        <ul className={rowList}>
          {jobs.map((job) => (
            <li key={job.id} className={styles.row}>
              <code className="clip" title={job.command}>
                {job.command}
              </code>
              {job.state === "ended" ? (
                <span className={styles.fact}>
                  {w.ended(job.reason, job.exitCode)} <Ago at={job.endedAt ?? job.startedAt} />
                </span>
              ) : (
                <>
                  <Elapsed since={job.startedAt} className={styles.fact} />
                  <Button
                    small
                    disabled={refusal !== undefined}
                    title={refusal}
                    onClick={() => onAttach(job)}
                  >
                    {w.attach}
                  </Button>
                  <Button small disabled={refusal !== undefined} title={refusal} onClick={() => onKill(job)}>
                    {w.kill}
                  </Button>
                </>
              )}
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
