import { AppError } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Caller } from "../../caller.ts";
import { all, first, only, type Steps } from "../../database/steps.ts";
import type { Attachment, Board, BoardEvent, Run, Task } from "../../task.ts";

/** A database row: booleans are numbers; lists and objects are JSON text. */
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
export type BoardRow = Stored<Board>;

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

/** Locks the task graph of this board until this transaction ends. */
export function* lockGraph(): Steps<void> {
  yield* only("select id from board {lock}");
}

/** Loads a task; throws `task-not-found`. */
export function* requireTask(id: string): Steps<TaskRow> {
  const row = yield* first<TaskRow>("select * from task where id = :id", { id });
  if (row === undefined) throw taskNotFoundError(id);
  return row;
}

/** Loads a task and locks it until this transaction ends; throws `task-not-found`. */
export function* requireLockedTask(id: string): Steps<TaskRow> {
  const row = yield* first<TaskRow>("select * from task where id = :id {lock}", { id });
  if (row === undefined) throw taskNotFoundError(id);
  return row;
}

/** Loads the task of a run and locks it until this transaction ends; undefined when the run was deleted. */
export function* findLockedTaskOf(runId: number): Steps<TaskRow | undefined> {
  const known = yield* first<{ task_id: string }>("select task_id from run where id = :runId", { runId });
  return known && (yield* requireLockedTask(known.task_id));
}

export function taskNotFoundError(id: string): AppError {
  const shown = shorten(id, 60);
  return new AppError("task-not-found", `There is no task ${JSON.stringify(shown)} on this board.`);
}

/** Locks the caller's run; throws `run-superseded` unless it is open and its token matches. Lock order: graph, tasks, runs. */
export function* requireLiveRun(caller: Caller): Steps<void> {
  if (caller.kind !== "run") return;
  const { runId, taskId, token } = caller;
  const row = yield* first(
    "select id from run where id = :runId and task_id = :taskId and lease_token = :token and ended_at is null {lock}",
    { runId, taskId, token },
  );
  if (row !== undefined) return;
  const known = yield* first("select id from run where id = :runId and task_id = :taskId", { runId, taskId });
  if (known !== undefined) throw supersededError(runId, taskId);
  throw new AppError("run-superseded", `There is no run ${runId} of ${taskId} on this board.`, {
    hint: "A run can change only its own board.",
  });
}

export function supersededError(runId: number, taskId: string): AppError {
  return new AppError("run-superseded", `Run ${runId} of ${taskId} has ended.`);
}

/** The open run of a task, if it has one. */
export function* findOpenRun(taskId: string): Steps<RunRow | undefined> {
  return yield* first<RunRow>("select * from run where task_id = :taskId and ended_at is null", { taskId });
}

export function* listAttachmentsOf(taskId: string): Steps<readonly Attachment[]> {
  return yield* all("select * from attachment where task_id = :taskId order by id", { taskId });
}

/** SQL: whether the task `t` has a parent that is neither done nor archived. */
export const HAS_OPEN_PARENT = `exists (
  select 1 from link l join task p on p.id = l.parent_id
   where l.child_id = t.id and p.status not in ('done', 'archived'))`;

/** The ids of the parents that are neither done nor archived. */
export function* findOpenParents(taskId: string): Steps<readonly string[]> {
  const rows = yield* all<{ id: string }>(
    `select p.id from link l join task p on p.id = l.parent_id
      where l.child_id = :taskId and p.status not in ('done', 'archived') order by p.seq`,
    { taskId },
  );
  return rows.map(({ id }) => id);
}

/** Throws `task-parents-open` while a parent is neither done nor archived. */
export function* requireParentsDone(taskId: string): Steps<void> {
  const parents = yield* findOpenParents(taskId);
  if (parents.length > 0)
    throw new AppError("task-parents-open", `${taskId} still waits for ${parents.join(", ")}.`);
}
