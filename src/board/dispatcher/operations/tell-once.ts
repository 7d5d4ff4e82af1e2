import { requireRight } from "../../caller.ts";
import type { Change } from "../../change.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import { requireTask, requireTaskToChange, toTask } from "../../operations/load.ts";
import { updateTask } from "../../operations/move-task.ts";
import { quietFrom } from "../../operations/quiet-time.ts";
import type { Task } from "../../task.ts";

export interface News {
  readonly taskId: string;
  readonly kind: "respawn_guarded" | "skipped_nonspawnable";
  readonly payload: Readonly<Record<string, string | number>>;
  /** What makes it the same news as last time. */
  readonly news: string;
  /** When that is over; another time for the same news is noted for whoever looks, and not told. */
  readonly until?: number;
}

export type Telling =
  | News
  | { readonly taskId: string /** It waits for no time any more. */; readonly forget: true };

const UNTIL = / until (\d+)$/;

export function lineOf({ news, until }: Pick<News, "news" | "until">): string {
  return until === undefined ? news : `${news} until ${until}`;
}

/** Whether it was told last that a task waits for a time that has not come yet. */
export function isToldUntil(told: string | null, now: number): boolean {
  const lines = told?.split("\n") ?? [];
  return lines.some((line) => Number(UNTIL.exec(line)?.[1] ?? 0) > now);
}

const REMEMBERED = 8; // hosts differ in what they say, and must not take turns in saying it

/** Tells of tasks that do not start, each only when that is news: a log does not grow because time passes. */
export function* tellOnce(change: Change, tellings: readonly Telling[]): Steps<void> {
  for (const telling of tellings) {
    const { taskId } = telling;
    const task = yield* first("select id from task where id = :taskId {lock}", { taskId });
    if (task === undefined) continue;
    const note = yield* first<{ told: string | null }>(
      "select told from dispatch_note where task_id = :taskId",
      {
        taskId,
      },
    );
    const lines = note?.told?.split("\n") ?? [];
    const news = lines.map((line) => line.replace(UNTIL, ""));
    const isForgotten = "forget" in telling;
    if (!isForgotten && lines.includes(lineOf(telling))) continue;
    const told = isForgotten
      ? news
      : [...lines.filter((_, index) => news[index] !== telling.news), lineOf(telling)];
    yield* run(
      `insert into dispatch_note (task_id, told) values (:taskId, :told)
       on conflict (task_id) do update set told = excluded.told`,
      { taskId, told: told.slice(-REMEMBERED).join("\n") },
    );
    if (!isForgotten && !news.includes(telling.news))
      change.tell({ taskId, kind: telling.kind, payload: telling.payload });
  }
}

/** An operator lets a task start in spite of its guards, once: what happens from now on can guard it again. */
export function* liftGuards(change: Change, taskId: string): Steps<Task> {
  requireRight(change.caller, "assign");
  const task = yield* requireTaskToChange(taskId);
  if (task.status === "done" || task.status === "archived") return toTask(task); // nothing keeps it back
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
