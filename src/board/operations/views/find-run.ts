import { first, type Steps } from "../../database/steps.ts";
import type { Run } from "../../task.ts";
import { type RunRow, toRun } from "./rows.ts";

/** The newest run whose worker works in a session. Reads all runs, because few callers ask. */
export function* findRunOfSession(
  sessionId: string,
): Steps<{ readonly id: number; readonly taskId: string } | undefined> {
  return yield* first(
    `select id, task_id as "taskId" from run where session_id = :sessionId order by id desc limit 1`,
    { sessionId },
  );
}

export function* findRun(id: number): Steps<Run | undefined> {
  const row = yield* first<RunRow>("select * from run where id = :id", { id });
  return row === undefined ? undefined : toRun(row);
}
