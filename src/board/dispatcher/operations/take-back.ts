import type { Change } from "../../change.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import { findOpenRun, lockGraph, type RunRow, requireTaskToChange } from "../../operations/load.ts";
import { moveTask, restingPlace } from "../../operations/move-task.ts";
import { endRun, type RunEnding } from "../../operations/runs.ts";
import type { Status } from "../../transitions.ts";

/** Keeps others from a task whose processes would not die, for a while; false when the run is over or was renewed. */
export function* deferReclaim(
  change: Change,
  { id, task_id: taskId, lease_until: wasUntil }: RunRow,
  reason: string,
  ms: number,
): Steps<boolean> {
  const row = yield* first<{ lease_until: number }>(
    `update run set lease_until = hermes_now() + cast(:ms as bigint)
      where id = :id and ended_at is null and lease_until = :wasUntil returning lease_until`,
    { id, wasUntil, ms },
  );
  if (row === undefined) return false;
  change.tell({
    taskId,
    runId: id,
    kind: "reclaim_deferred",
    payload: { reason, claim_expires_was: wasUntil, claim_expires_now: row.lease_until },
  });
  return true;
}

/** Sends a task back that runs by its status only; false when that was put right meanwhile. */
export function* reconcileOrphan(change: Change, taskId: string): Steps<boolean> {
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  if (task.status !== "running" || (yield* findOpenRun(taskId)) !== undefined) return false;
  const to = yield* restingPlace(task);
  const body = "This task was running without a run and has been sent back.";
  yield* run(
    "insert into comment (task_id, author, body, created_at) values (:taskId, :author, :body, hermes_now())",
    { taskId, author: change.actor, body },
  );
  yield* moveTask(change, task, "reclaim", to, { event: "reconciled", payload: { retry_status: to } });
  return true;
}

/**
 * Ends a run whose processes another host has. Its supervisor learns of it with its next renewal, or has killed them
 * when its lease ends; until then nobody claims the task.
 */
export function endFromAfar(change: Change, ending: RunEnding): Steps<{ readonly status: Status }> {
  return endRun(change, { ...ending, unseen: true });
}
