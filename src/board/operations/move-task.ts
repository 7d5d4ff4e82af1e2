import { AppError } from "../../lib/errors.ts";
import type { SqlValue } from "../../lib/statement.ts";
import type { Change } from "../change.ts";
import { run, type Steps } from "../database/steps.ts";
import type { Task } from "../task.ts";
import { isMove, type Move, mayMove, type Status } from "../transitions.ts";
import { openParents, type RunRow, type TaskRow } from "./load.ts";

/** The time of the database. */
export const NOW = { now: true } as const;
/** New values of columns. */
export type Columns = { readonly [Column in keyof Task]?: SqlValue | typeof NOW };

interface MoveOptions {
  readonly event: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly runId?: number | null;
  readonly set?: Columns;
}

/** Throws `task-move-refused` when the table has no such move from where the task is. */
export function requireMove(move: Move, task: TaskRow): void {
  if (mayMove(move, task.status)) return;
  throw new AppError(
    "task-move-refused",
    `${task.id} is ${task.status}; "${move}" does not lead from there.`,
  );
}

/** Changes the status of a task that this transaction has locked, and tells of it. Every change of status but a claim is made here. */
export function* moveTask(
  change: Change,
  task: TaskRow,
  move: Move,
  to: Status,
  { event, payload, runId = null, set = {} }: MoveOptions,
): Steps<TaskRow> {
  requireMove(move, task);
  if (!isMove(move, task.status, to)) throw new Error(`"${move}" does not lead from ${task.status} to ${to}`);
  const columns: Columns = {
    ...set,
    ...(task.status === "running" && { current_run_id: null }),
    ...(to === "ready" && { ready_at: NOW }),
    ...(task.status === "scheduled" && { scheduled_at: null }),
    ...(to === "archived" && { archived_at: NOW }),
  };
  const moved = yield* updateTask(task, { status: to, ...columns });
  change.tell({ taskId: task.id, kind: event, runId, from: task.status, to, ...(payload && { payload }) });
  return moved;
}

/** Writes columns of a task that this transaction has locked; the caller tells of it. */
export function* updateTask(task: TaskRow, columns: Columns): Steps<TaskRow> {
  const entries = Object.entries({ ...columns, updated_at: NOW });
  const sets = entries.map(([name, value]) => `${name} = ${isNow(value) ? "hermes_now()" : `:${name}`}`);
  const values = Object.fromEntries(
    entries.flatMap(([name, value]) => (isNow(value) ? [] : [[name, value as SqlValue]])),
  );
  const changed = yield* run(
    `update task set ${sets.join(", ")} where seq = :was_seq and status = :was_status`,
    { ...values, was_seq: task.seq, was_status: task.status },
  );
  if (changed !== 1) throw new Error(`${task.id} was changed by another transaction while this one had it`);
  return { ...task, ...values } as TaskRow;
}

function isNow(value: unknown): boolean {
  return typeof value === "object" && value !== null && "now" in value;
}

/** Where a task goes that is neither running nor kept back: to its work or its review, or to wait for its parents. */
export function* restingPlace(task: TaskRow): Steps<"ready" | "review" | "todo"> {
  if ((yield* openParents(task.id)).length > 0) return "todo";
  return task.phase === "review" ? "review" : "ready";
}

/** The counters in which a run is counted that is open, or over and not yet gone. */
export function countersOf(run: {
  readonly host_id: string | null;
  readonly profile: string | null;
}): string[] {
  const counters = ["running"];
  if (run.host_id !== null) counters.push(`running/host/${run.host_id}`);
  if (run.profile !== null) counters.push(`running/profile/${run.profile}`);
  return counters;
}

export interface RunEnd {
  readonly outcome: string;
  readonly summary?: string | null;
  readonly metadata?: string | null;
  readonly error?: string | null;
  /** Nobody has seen its processes end, so that the run still counts until someone does (`seeEnd`). */
  readonly unseen?: boolean;
}

/** Ends an open run, once: the caller has locked its task. */
export function* closeRun(change: Change, open: RunRow, end: RunEnd): Steps<void> {
  const { outcome, summary = null, metadata = null, error = null, unseen = false } = end;
  // What never had a supervisor has no worker either, such as a claim by hand.
  const leaves = unseen && open.supervisor_pid !== null;
  const closed = yield* run(
    `update run set ended_at = hermes_now(), ended_by = :by, outcome = :outcome, summary = :summary,
            metadata = :metadata, error = :error${leaves ? "" : ", lease_until = 0"}
      where id = :id and ended_at is null`,
    { id: open.id, by: change.caller.kind, outcome, summary, metadata, error },
  );
  if (closed !== 1) throw new Error(`run ${open.id} was closed twice`);
  if (!leaves) change.count(countersOf(open), -1);
}
