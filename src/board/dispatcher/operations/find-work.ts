import { all, first, only, type Steps } from "../../database/steps.ts";
import type { RunRow } from "../../operations/load.ts";
import { VANISHED } from "../run-ending.ts";
import { findMassFailures, type MassFailure } from "./find-mass-failure.ts";

/** An open run with what bookkeeping must know of its task. */
export interface OpenRun extends RunRow {
  readonly failures: number;
  /** How many runs right before it ended without a result that counts, as `isForgiven` has it. */
  readonly forgiven: number;
  readonly now: number;
}

export interface Overdue {
  readonly now: number;
  readonly openRuns: readonly OpenRun[];
  /** Running by their status, although no run of theirs is open. */
  readonly orphans: readonly string[];
  /** Whether `recompute` would let a task go on. */
  readonly hasDue: boolean;
  /** Ready tasks that met a rate limit too often. */
  readonly walls: readonly { readonly id: string; readonly runs: number }[];
  readonly massFailures: readonly MassFailure[];
}

export const WALL_RUNS = 20;
export const WALL_MS = 6 * 3_600_000;

export const HAS_OPEN_PARENT = `exists (
  select 1 from link l join task p on p.id = l.parent_id
   where l.child_id = t.id and p.status not in ('done', 'archived'))`;
/** As `recompute` has it. */
export const DUE = `
  t.hold = 0 and (
  (t.status = 'todo' and not ${HAS_OPEN_PARENT})
  or (t.status = 'scheduled' and t.scheduled_at <= hermes_now())
  or (t.status = 'blocked' and t.block_sticky = 0 and not ${HAS_OPEN_PARENT}
      and (t.consecutive_failures < coalesce(t.max_retries, cast(:failureLimit as bigint))
           or t.not_before <= hermes_now())))`;
export const WAITING = "t.status in ('todo', 'scheduled', 'blocked')";

const FORGIVEN = (run: string): string => `(${run}.worker_pid is not null and (${run}.outcome = 'infra_killed'
  or (${run}.outcome = 'reclaimed' and ${run}.ended_by = 'system') or coalesce(${run}.error, '') = '${VANISHED}'))`;

/** What the bookkeeping of a pass may have to do; most passes find nothing and then write nothing. */
export function* findOverdue(failureLimit: number): Steps<Overdue> {
  const { now } = yield* only<{ now: number }>("select hermes_now() as now");
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
  const due = yield* first(`select t.id from task t where ${WAITING} and ${DUE} limit 1`, { failureLimit });
  return {
    now,
    openRuns,
    orphans: orphans.map(({ id }) => id),
    hasDue: due !== undefined,
    walls: yield* findWalls(),
    massFailures: yield* findMassFailures(),
  };
}

/** Tasks whose last runs all ended at a rate limit, for too many times or too long since they were last blocked. */
function* findWalls(): Steps<Overdue["walls"]> {
  return yield* all<{ id: string; runs: number }>(
    `select t.id, count(*) as runs from task t join run r on r.task_id = t.id
      where t.id in (select w.task_id from run w where w.outcome = 'rate_limited') and t.status = 'ready'
        and (select l.outcome from run l where l.task_id = t.id order by l.id desc limit 1) = 'rate_limited'
        and r.id > coalesce((select max(o.id) from run o where o.task_id = t.id and o.outcome <> 'rate_limited'), 0)
        and r.started_at > coalesce((select n.lifted_at from dispatch_note n where n.task_id = t.id), 0)
        and r.ended_at > coalesce((select max(e.created_at) from event e where e.task_id = t.id and e.kind = 'blocked'), 0)
      group by t.id, t.seq
     having count(*) >= ${WALL_RUNS} or hermes_now() - min(r.started_at) >= ${WALL_MS} order by t.seq`,
  );
}
