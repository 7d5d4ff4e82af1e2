import { all, type Steps } from "../../database/steps.ts";
import { hasDueTask } from "../../operations/runs/recompute.ts";
import type { RunRow } from "../../operations/views/rows.ts";
import { VANISHED } from "../rules/run-ending.ts";
import { findMassFailures, type MassFailure } from "./find-mass-failures.ts";

/** An open run with the facts about its task that bookkeeping needs. */
export interface OpenRun extends RunRow {
  readonly failures: number;
  /** How many runs in a row directly before this run were forgiven, as `isForgiven` defines it. */
  readonly forgiven: number;
  readonly now: number;
}

export interface BookkeepingWork {
  readonly openRuns: readonly OpenRun[];
  /** Tasks with status `running` that have no open run. */
  readonly orphans: readonly string[];
  /** Whether `recompute` would promote a task. */
  readonly hasDue: boolean;
  /** Ready tasks that have reached a rate limit too often. */
  readonly rateLimitedTasks: readonly { readonly id: string; readonly runs: number }[];
  readonly massFailures: readonly MassFailure[];
}

export const RATE_LIMIT_RUNS = 20;
export const RATE_LIMIT_MS = 6 * 3_600_000;

const FORGIVEN = (run: string): string => `(${run}.worker_pid is not null and (${run}.outcome = 'infra_killed'
  or (${run}.outcome = 'reclaimed' and ${run}.ended_by = 'system') or coalesce(${run}.error, '') = '${VANISHED}'))`;

/** Finds the work of the bookkeeping in one read; most passes find nothing and therefore write nothing. */
export function* findBookkeepingWork(failureLimit: number): Steps<BookkeepingWork> {
  const openRuns = yield* all<OpenRun>(
    `select r.*, t.consecutive_failures as failures, hermes_now() as now, (
              select count(*) from run f where f.task_id = t.id and f.id < r.id and f.id > coalesce((
                select max(c.id) from run c where c.task_id = t.id and c.id < r.id and not ${FORGIVEN("c")}), 0)) as forgiven
       from run r join task t on t.id = r.task_id where t.status = 'running' and r.ended_at is null
      order by r.lease_until, r.id`,
  );
  const orphans = yield* all<{ id: string }>(
    `select t.id from task t where t.status = 'running'
        and not exists (select 1 from run r where r.task_id = t.id and r.ended_at is null) order by t.seq`,
  );
  return {
    openRuns,
    orphans: orphans.map(({ id }) => id),
    hasDue: yield* hasDueTask(failureLimit),
    rateLimitedTasks: yield* findRateLimitedTasks(),
    massFailures: yield* findMassFailures(),
  };
}

/**
 * Tasks whose runs since their last block all ended with a rate limit, for at least RATE_LIMIT_RUNS runs or
 * RATE_LIMIT_MS.
 */
function* findRateLimitedTasks(): Steps<BookkeepingWork["rateLimitedTasks"]> {
  return yield* all<{ id: string; runs: number }>(
    `select t.id, count(*) as runs from task t join run r on r.task_id = t.id
      where t.id in (select w.task_id from run w where w.outcome = 'rate_limited') and t.status = 'ready'
        and (select l.outcome from run l where l.task_id = t.id order by l.id desc limit 1) = 'rate_limited'
        and r.id > coalesce((select max(o.id) from run o where o.task_id = t.id and o.outcome <> 'rate_limited'), 0)
        and r.started_at > coalesce((select n.lifted_at from dispatch_note n where n.task_id = t.id), 0)
        and r.ended_at > coalesce((select max(e.created_at) from event e where e.task_id = t.id and e.kind = 'blocked'), 0)
      group by t.id, t.seq
     having count(*) >= ${RATE_LIMIT_RUNS} or hermes_now() - min(r.started_at) >= ${RATE_LIMIT_MS} order by t.seq`,
  );
}
