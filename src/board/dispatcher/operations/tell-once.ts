import { requireRight } from "../../caller.ts";
import type { Change } from "../../change.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import { requireTask, requireTaskToChange, toTask } from "../../operations/load.ts";
import { updateTask } from "../../operations/move-task.ts";
import { quietFrom } from "../../operations/quiet-time.ts";
import type { Task } from "../../task.ts";

export interface Telling {
  readonly taskId: string;
  readonly kind: "respawn_guarded" | "skipped_nonspawnable";
  readonly payload: Readonly<Record<string, string | number>>;
  /** What makes it the same news as last time. */
  readonly news: string;
}

const REMEMBERED = 8; // hosts differ in what they say, and must not take turns in saying it

/** Tells of tasks that do not start, each only when that is news: a log does not grow because time passes. */
export function* tellOnce(change: Change, tellings: readonly Telling[]): Steps<void> {
  for (const { taskId, kind, payload, news } of tellings) {
    const task = yield* first("select id from task where id = :taskId {lock}", { taskId });
    if (task === undefined) continue;
    const note = yield* first<{ told: string | null }>(
      "select told from dispatch_note where task_id = :taskId",
      {
        taskId,
      },
    );
    const lines = note?.told?.split("\n") ?? [];
    if (lines.includes(news)) continue;
    yield* run(
      `insert into dispatch_note (task_id, told) values (:taskId, :told)
       on conflict (task_id) do update set told = excluded.told`,
      { taskId, told: [...lines, news].slice(-REMEMBERED).join("\n") },
    );
    change.tell({ taskId, kind, payload });
  }
}

/** An operator lets a task start in spite of its guards, once: what happens from now on can guard it again. */
export function* liftGuards(change: Change, taskId: string): Steps<Task> {
  requireRight(change.caller, "assign");
  const task = yield* requireTaskToChange(taskId);
  yield* run(
    `insert into dispatch_note (task_id, lifted_at) values (:taskId, hermes_now())
     on conflict (task_id) do update set lifted_at = excluded.lifted_at, told = null`,
    { taskId },
  );
  if (task.status === "ready" || task.status === "review")
    yield* updateTask(task, { not_before: yield* quietFrom(taskId) });
  change.tell({ taskId, kind: "unguarded" });
  return toTask(yield* requireTask(taskId));
}
