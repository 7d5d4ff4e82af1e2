import { AppError } from "../../../lib/errors.ts";
import type { SqlValue } from "../../../lib/sqlite/statement.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { describeStatus, isMove, type Move, mayMove, type Status } from "../../transitions.ts";
import { findOpenParents, type RunRow, type TaskRow } from "../views/rows.ts";

/** Stands for the current time of the database. */
export const NOW = { now: true } as const;
/** New column values of a task. */
export type Columns = { readonly [Column in keyof Task]?: SqlValue | typeof NOW };

export interface MoveOptions {
  readonly event: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly runId?: number | null;
  readonly set?: Columns;
}

/** Throws `task-move-refused` when the move is not allowed from the status of the task. `verb`: what the caller named. */
export function requireMove(move: Move, task: TaskRow, verb: string = move): void {
  const { id, status } = task;
  if (mayMove(move, status)) return;
  const hint =
    status === "done" || status === "archived"
      ? `Reopen it first: \`hermes kanban reopen ${id}\`.`
      : `\`hermes kanban why ${id}\` explains what it waits for.`;
  const message = `${id} is ${describeStatus(status)}; "${verb}" is not possible in this status.`;
  throw new AppError("task-move-refused", message, { hint });
}

/**
 * Changes the status of a task that this transaction has locked, and records an event. Every status change except a claim
 * goes through this function.
 */
export function* moveTask(
  transaction: BoardTransaction,
  task: TaskRow,
  move: Move,
  to: Status,
  { event, payload, runId = null, set = {} }: MoveOptions,
): Steps<TaskRow> {
  requireMove(move, task);
  if (!isMove(move, task.status, to))
    throw new Error(`move "${move}" is not allowed from ${task.status} to ${to}`);
  const columns: Columns = {
    ...set,
    ...(task.status === "running" && { current_run_id: null }),
    ...(to === "ready" && { ready_at: NOW }),
    ...(task.status === "scheduled" && to !== "scheduled" && { scheduled_at: null }),
    ...(to === "archived" && { archived_at: NOW }),
  };
  const moved = yield* updateTask(task, { status: to, ...columns });
  transaction.recordEvent({
    taskId: task.id,
    kind: event,
    runId,
    from: task.status,
    to,
    ...(payload && { payload }),
  });
  return moved;
}

/** Writes columns of a task that this transaction has locked; the caller records the event. */
export function* updateTask(task: TaskRow, columns: Columns): Steps<TaskRow> {
  const entries = Object.entries({ ...columns, updated_at: NOW });
  const sets = entries.map(([name, value]) => `${name} = ${isNow(value) ? "hermes_now()" : `:${name}`}`);
  const values = Object.fromEntries(
    entries.flatMap(([name, value]) => (isNow(value) ? [] : [[name, value as SqlValue]])),
  );
  const changed = yield* first<TaskRow>(
    `update task set ${sets.join(", ")} where seq = :was_seq and status = :was_status returning *`,
    { ...values, was_seq: task.seq, was_status: task.status },
  );
  if (changed === undefined)
    throw new Error(`${task.id} was changed by another transaction although this one locked it`);
  return changed;
}

function isNow(value: unknown): boolean {
  return typeof value === "object" && value !== null && "now" in value;
}

/** The status of a task that is neither running nor blocked: `todo` while a parent is open, otherwise by its phase. */
export function* nextStatus(task: TaskRow): Steps<"ready" | "review" | "todo"> {
  if ((yield* findOpenParents(task.id)).length > 0) return "todo";
  return task.phase === "review" ? "review" : "ready";
}

/** The counters that include a run while it is open or leaving. */
export function countersOf({ host_id: host, profile }: Pick<RunRow, "host_id" | "profile">): string[] {
  const counters = ["running"];
  if (host !== null) counters.push(`running/host/${host}`);
  if (profile !== null) counters.push(`running/profile/${profile}`);
  return counters;
}

export interface RunEnd {
  readonly outcome: string;
  readonly summary?: string | null;
  readonly metadata?: string | null;
  readonly error?: string | null;
  /** The exit of its processes is not confirmed, so the run counts against the caps until `confirmRunExit`. */
  readonly exitUnconfirmed?: boolean;
}

/** Ends an open run; the caller has locked its task. */
export function* closeRun(transaction: BoardTransaction, open: RunRow, end: RunEnd): Steps<void> {
  const { outcome, summary = null, metadata = null, error = null, exitUnconfirmed = false } = end;
  // A run without a supervisor, such as a manual claim, has no worker either.
  const isLeaving = exitUnconfirmed && open.supervisor_pid !== null;
  const closed = yield* run(
    `update run set ended_at = hermes_now(), ended_by = :by, outcome = :outcome, summary = :summary,
            metadata = :metadata, error = :error${isLeaving ? "" : ", lease_until = 0"}
      where id = :id and ended_at is null`,
    { id: open.id, by: transaction.caller.kind, outcome, summary, metadata, error },
  );
  if (closed !== 1) throw new Error(`run ${open.id} was closed twice`);
  if (!isLeaving) transaction.count(countersOf(open), -1);
}
