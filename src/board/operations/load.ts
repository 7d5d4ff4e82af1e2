import { AppError } from "../../lib/errors.ts";
import { shorten } from "../../lib/shorten.ts";
import type { Caller } from "../caller.ts";
import { all, first, only, type Steps } from "../database/steps.ts";
import type { Board, BoardEvent, Run, Task } from "../task.ts";

/** A row of the database, where truth values are numbers and lists and objects are JSON. */
type Stored<Value> = {
  readonly [Key in keyof Value]: Value[Key] extends boolean
    ? number
    : Value[Key] extends string | number | null
      ? Value[Key]
      : string | null;
};
export type TaskRow = Stored<Task>;
export type RunRow = Stored<Run> & { readonly lease_token: string };
export type EventRow = Omit<BoardEvent, "payload"> & { readonly payload: string };
export type BoardRow = Stored<Board> & {
  readonly id: number;
  readonly events_kept_from: number;
  readonly runs_purged_to: number;
  readonly identity: string | null;
};

export function toTask(row: TaskRow): Task {
  return {
    ...row,
    goal_mode: row.goal_mode === 1,
    block_sticky: row.block_sticky === 1,
    hold: row.hold === 1,
    skills: row.skills === null ? null : (JSON.parse(row.skills) as string[]),
  };
}

export function toRun({ lease_token: _, ...row }: RunRow): Run {
  return {
    ...row,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, unknown>),
  };
}

export function toEvent(row: EventRow): BoardEvent {
  return { ...row, payload: JSON.parse(row.payload) as Record<string, unknown> };
}

/** Makes all other changes of the graph of this board wait until this one is over. */
export function* lockGraph(): Steps<void> {
  yield* only("select id from board {lock}");
}

/** The task; throws `task-not-found`. */
export function* requireTask(id: string): Steps<TaskRow> {
  const row = yield* first<TaskRow>("select * from task where id = :id", { id });
  if (row === undefined) throw taskNotFound(id);
  return row;
}

/** The task, which nobody else changes until this transaction is over. */
export function* requireTaskToChange(id: string): Steps<TaskRow> {
  const row = yield* first<TaskRow>("select * from task where id = :id {lock}", { id });
  if (row === undefined) throw taskNotFound(id);
  return row;
}

export function taskNotFound(id: string): AppError {
  const shown = shorten(id, 60);
  return new AppError("task-not-found", `There is no task ${JSON.stringify(shown)} on this board.`);
}

/**
 * Throws `run-superseded` unless a worker's run is open and its own, and keeps it so until this transaction is over;
 * other callers have no run to lose. Locks are taken in the order graph, tasks, runs.
 */
export function* requireLiveRun(caller: Caller): Steps<void> {
  if (caller.kind !== "run") return;
  const { runId, taskId, token } = caller;
  const row = yield* first(
    "select id from run where id = :runId and task_id = :taskId and lease_token = :token and ended_at is null {lock}",
    { runId, taskId, token },
  );
  if (row === undefined) throw superseded(runId, taskId);
}

export function superseded(runId: number, taskId: string): AppError {
  return new AppError("run-superseded", `Run ${runId} of ${taskId} is over.`);
}

/** The open run of a task that is running. */
export function* findOpenRun(taskId: string): Steps<RunRow | undefined> {
  return yield* first<RunRow>("select * from run where task_id = :taskId and ended_at is null", { taskId });
}

/** The parents that are neither done nor archived. */
export function* openParents(taskId: string): Steps<readonly string[]> {
  const rows = yield* all<{ id: string }>(
    `select p.id from link l join task p on p.id = l.parent_id
      where l.child_id = :taskId and p.status not in ('done', 'archived') order by p.seq`,
    { taskId },
  );
  return rows.map(({ id }) => id);
}
