import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import { workerMayLiveUntil } from "../../operations/runs/leaving-runs.ts";
import { updateTask } from "../../operations/tasks/move-task.ts";
import { requireLockedTask, toTask } from "../../operations/views/rows.ts";
import type { Task } from "../../task.ts";

export interface WaitNotice {
  readonly taskId: string;
  readonly kind: "respawn_guarded" | "skipped_nonspawnable";
  readonly payload: Readonly<Record<string, string | number>>;
  /** The key of the notice: a notice with the same key is not written again as an event. */
  readonly key: string;
  /** When the wait ends; a new end for the same key updates the note but writes no event. */
  readonly until?: number;
}

/** `forget` removes the `until` times: the task no longer waits until a fixed time. */
export type NoticeUpdate = WaitNotice | { readonly taskId: string; readonly forget: true };

const UNTIL = / until (\d+)$/;

export function formatNoticeLine({ key, until }: Pick<WaitNotice, "key" | "until">): string {
  return until === undefined ? key : `${key} until ${until}`;
}

/** Whether the last notices say that the task waits for a time in the future. */
export function hasPendingNotice(notices: string | null, now: number): boolean {
  const lines = notices?.split("\n") ?? [];
  return lines.some((line) => Number(UNTIL.exec(line)?.[1] ?? 0) > now);
}

const SELECT_LAST = "select told as last from dispatch_note where task_id = :taskId";
/** Lines kept per task, so that hosts with different reasons do not keep overwriting each other's notices. */
const MAX_NOTICE_LINES = 8;

/** Writes events about tasks that do not start, each only once, so that the log does not grow with every pass. */
export function* recordNotices(transaction: BoardTransaction, notices: readonly NoticeUpdate[]): Steps<void> {
  for (const notice of notices) {
    const { taskId } = notice;
    const task = yield* first("select id from task where id = :taskId {lock}", { taskId });
    if (task === undefined) continue;
    const note = yield* first<{ last: string | null }>(SELECT_LAST, { taskId });
    const lines = note?.last?.split("\n") ?? [];
    const keys = lines.map((line) => line.replace(UNTIL, ""));
    const isForgotten = "forget" in notice;
    if (!isForgotten && lines.includes(formatNoticeLine(notice))) continue;
    const kept = isForgotten
      ? keys
      : [...lines.filter((_, index) => keys[index] !== notice.key), formatNoticeLine(notice)];
    yield* run(
      `insert into dispatch_note (task_id, told) values (:taskId, :told)
       on conflict (task_id) do update set told = excluded.told`,
      { taskId, told: kept.slice(-MAX_NOTICE_LINES).join("\n") },
    );
    if (!isForgotten && !keys.includes(notice.key))
      transaction.recordEvent({ taskId, kind: notice.kind, payload: notice.payload });
  }
}

/** Lifts the current guards of a task for an operator; later events can guard the task again. */
export function* liftGuards(transaction: BoardTransaction, taskId: string): Steps<Task> {
  requireRight(transaction.caller, "assign");
  const task = yield* requireLockedTask(taskId);
  if (task.status === "done" || task.status === "archived") return toTask(task); // a finished task has no guards
  yield* run(
    `insert into dispatch_note (task_id, lifted_at) values (:taskId, hermes_now())
     on conflict (task_id) do update set lifted_at = excluded.lifted_at, told = null`,
    { taskId },
  );
  transaction.recordEvent({ taskId, kind: "unguarded" });
  if (task.status !== "ready" && task.status !== "review") return toTask(task);
  return toTask(yield* updateTask(task, { not_before: yield* workerMayLiveUntil(taskId) }));
}
