import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, type Steps } from "../database/steps.ts";
import { lockGraph, type TaskRow } from "./load.ts";
import { moveTask, restingPlace } from "./move-task.ts";

/** Failures in a row that block a task which names no number of its own. */
export const FAILURE_LIMIT = 2;
const AT_ONCE = 500; // keeps a transaction short; what is left, the next call finds

const HAS_OPEN_PARENT = `exists (
  select 1 from link l join task p on p.id = l.parent_id
   where l.child_id = t.id and p.status not in ('done', 'archived'))`;
const MAY_WAKE = `t.hold = 0 and (
  (t.status = 'todo' and not ${HAS_OPEN_PARENT})
  or (t.status = 'scheduled' and t.scheduled_at <= hermes_now())
  or (t.status = 'blocked' and t.block_sticky = 0 and not ${HAS_OPEN_PARENT}
      and (t.consecutive_failures < coalesce(t.max_retries, cast(:failureLimit as bigint))
           or t.not_before <= hermes_now())))`;
const WAITING = "t.status in ('todo', 'scheduled', 'blocked')";

/** Lets every task go on that waits for nothing any more; says which. */
export function* recompute(change: Change, failureLimit = FAILURE_LIMIT): Steps<readonly string[]> {
  requireRight(change.caller, "recompute");
  const due = `select t.id from task t where ${WAITING} and ${MAY_WAKE} order by t.seq limit ${AT_ONCE}`;
  // Most calls find nothing, and then nobody is kept waiting.
  if ((yield* all(due, { failureLimit })).length === 0) return [];
  yield* lockGraph();
  const rows = yield* all<TaskRow>(
    `select t.* from task t where ${WAITING} and ${MAY_WAKE} order by t.seq limit ${AT_ONCE} {lock}`,
    { failureLimit },
  );
  return yield* wake(change, rows);
}

/** As `recompute`, for the children of one task; the graph is locked. */
export function* recomputeChildren(
  change: Change,
  parentId: string,
  failureLimit = FAILURE_LIMIT,
): Steps<readonly string[]> {
  const rows = yield* all<TaskRow>(
    `select t.* from task t where t.id in (select child_id from link where parent_id = :parentId)
        and t.status in ('todo', 'blocked') and ${MAY_WAKE} order by t.seq {lock}`,
    { parentId, failureLimit },
  );
  return yield* wake(change, rows);
}

function* wake(change: Change, rows: readonly TaskRow[]): Steps<readonly string[]> {
  const woken: string[] = [];
  for (const task of rows) {
    const to = yield* restingPlace(task);
    if (to === task.status) continue;
    yield* moveTask(change, task, "recompute", to, { event: "promoted", payload: { status: to } });
    woken.push(task.id);
  }
  return woken;
}
