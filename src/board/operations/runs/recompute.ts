import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, type Steps } from "../../database/steps.ts";
import { moveTask, nextStatus } from "../tasks/move-task.ts";
import { HAS_OPEN_PARENT, lockGraph, type TaskRow } from "../views/rows.ts";

/** Default number of consecutive failures that blocks a task. */
export const FAILURE_LIMIT = 2;
const BATCH = 500; // keeps the transaction short; the next call handles the rest

/** SQL: whether the task `t` no longer waits for anything; `failureLimit` applies to tasks without `max_retries`. */
export const MAY_PROMOTE = `t.status in ('todo', 'scheduled', 'blocked') and t.hold = 0 and (
  (t.status = 'todo' and not ${HAS_OPEN_PARENT})
  or (t.status = 'scheduled' and t.scheduled_at <= hermes_now())
  or (t.status = 'blocked' and t.block_sticky = 0 and not ${HAS_OPEN_PARENT}
      and (t.consecutive_failures < coalesce(t.max_retries, cast(:failureLimit as bigint))
           or t.not_before <= hermes_now())))`;

/** Whether `promoteWaitingTasks` would promote a task. */
export function* hasDueTask(failureLimit: number): Steps<boolean> {
  return (
    (yield* first(`select t.id from task t where ${MAY_PROMOTE} limit 1`, { failureLimit })) !== undefined
  );
}

/** Promotes every task that no longer waits for anything; returns their ids. */
export function* promoteWaitingTasks(
  transaction: BoardTransaction,
  failureLimit = FAILURE_LIMIT,
): Steps<readonly string[]> {
  requireRight(transaction.caller, "recompute");
  // Most calls find nothing and then need no lock.
  if (!(yield* hasDueTask(failureLimit))) return [];
  yield* lockGraph();
  const rows = yield* all<TaskRow>(
    `select t.* from task t where ${MAY_PROMOTE} order by t.seq limit ${BATCH} {lock}`,
    { failureLimit },
  );
  return yield* promote(transaction, rows);
}

/** Like `promoteWaitingTasks`, for the children of one task; the caller has locked the graph. */
export function* promoteWaitingChildren(
  transaction: BoardTransaction,
  parentId: string,
  failureLimit = FAILURE_LIMIT,
): Steps<readonly string[]> {
  const rows = yield* all<TaskRow>(
    `select t.* from task t where t.id in (select child_id from link where parent_id = :parentId)
        and t.status in ('todo', 'blocked') and ${MAY_PROMOTE} order by t.seq {lock}`,
    { parentId, failureLimit },
  );
  return yield* promote(transaction, rows);
}

function* promote(transaction: BoardTransaction, rows: readonly TaskRow[]): Steps<readonly string[]> {
  const promoted: string[] = [];
  for (const task of rows) {
    const to = yield* nextStatus(task);
    if (to === task.status) continue;
    yield* moveTask(transaction, task, "recompute", to, { event: "promoted", payload: { status: to } });
    promoted.push(task.id);
  }
  return promoted;
}
