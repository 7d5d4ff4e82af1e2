import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { run, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import {
  cleanText,
  invalidInput,
  optionalName,
  parseAssignee,
  requireInteger,
  requireTitle,
  toJson,
} from "../../task-text.ts";
import { describeStatus } from "../../transitions.ts";
import { resetBlockCount } from "../records/comments.ts";
import { workerMayLiveUntil } from "../runs/leaving-runs.ts";
import { promoteWaitingTasks } from "../runs/recompute.ts";
import { lockGraph, requireLockedTask, requireTask, type TaskRow, toTask } from "../views/rows.ts";
import { type Columns, updateTask } from "./move-task.ts";

/** Assigns a task to a profile, or removes its assignee; throws `task-running` for a running task. */
export function* assignTask(
  transaction: BoardTransaction,
  taskId: string,
  assignee: string | null,
  source?: string,
): Steps<Task> {
  requireRight(transaction.caller, "assign");
  const name = parseAssignee(assignee);
  const task = yield* requireLockedTask(taskId);
  if (task.status === "running")
    throw new AppError("task-running", `${taskId} is running as ${task.assignee}.`, {
      hint: `End its run and reassign it: \`hermes kanban reassign ${taskId} ${name ?? "none"} --reclaim\`.`,
    });
  if (task.status === "archived") throw archivedError(task);
  if (task.assignee === name) return toTask(task);
  const payload = { assignee: name, from: task.assignee, ...(source && { source }) };
  transaction.recordEvent({ taskId, kind: "assigned", payload });
  return toTask(
    yield* updateTask(task, {
      assignee: name,
      consecutive_failures: 0,
      last_failure_error: null,
      not_before: yield* workerMayLiveUntil(taskId),
    }),
  );
}

export interface TaskEdit {
  readonly title?: string;
  readonly body?: string | null;
  readonly priority?: number;
  readonly tenant?: string | null;
  readonly modelOverride?: string | null;
  readonly providerOverride?: string | null;
  readonly reasoningEffort?: string | null;
  /** Only for a done task: its result, and the handoff of its last run. */
  readonly result?: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Edits the fields of a task. A done task keeps its title and body; an open task has no result to edit. */
export function* editTask(transaction: BoardTransaction, taskId: string, edit: TaskEdit): Steps<Task> {
  requireRight(transaction.caller, "edit");
  const task = yield* requireLockedTask(taskId);
  if (task.status === "archived") throw archivedError(task);
  const isDone = task.status === "done";
  if (isDone && (edit.title !== undefined || edit.body !== undefined))
    throw new AppError("task-move-refused", `${taskId} is done; its title and body cannot be changed.`, {
      hint: `Reopen it first: \`hermes kanban reopen ${taskId}\`.`,
    });
  if (!isDone && (edit.result !== undefined || edit.summary !== undefined || edit.metadata !== undefined))
    throw new AppError(
      "task-move-refused",
      `${taskId} is ${describeStatus(task.status)}; it has no result to edit.`,
    );
  const columns = columnsOf(edit);
  const wanted = Object.entries(columns) as [keyof Task, string | number | null][];
  const changed = wanted.filter(([name, value]) => task[name] !== value);
  const model = "model_override" in columns ? columns.model_override : task.model_override;
  const provider = "provider_override" in columns ? columns.provider_override : task.provider_override;
  if (provider !== null && model === null) throw invalidInput("A provider needs a model.");
  const fields: string[] = changed.map(([name]) => name);
  if (changed.length > 0) yield* updateTask(task, Object.fromEntries(changed));
  if (fields.includes("title") || fields.includes("body")) yield* resetBlockCount(taskId);
  if (edit.summary !== undefined || edit.metadata !== undefined) {
    const updated = yield* run(EDIT_RUN, {
      taskId,
      summary: edit.summary === undefined ? null : cleanText(edit.summary, "summary"),
      metadata: toJson(edit.metadata, "metadata"),
    });
    if (updated > 0)
      fields.push(...(["summary", "metadata"] as const).filter((name) => edit[name] !== undefined));
  }
  if (fields.length > 0) transaction.recordEvent({ taskId, kind: "edited", payload: { fields } });
  return toTask(yield* requireTask(taskId));
}

const EDIT_RUN = `
  update run set summary = coalesce(cast(:summary as text), summary), metadata = coalesce(cast(:metadata as text), metadata)
   where id = (select max(id) from run where task_id = :taskId and outcome = 'completed')`;

function columnsOf(edit: TaskEdit): Columns {
  return {
    ...(edit.title !== undefined && { title: requireTitle(edit.title) }),
    ...(edit.body !== undefined && { body: edit.body === null ? null : cleanText(edit.body, "body") }),
    ...(edit.priority !== undefined && { priority: requireInteger(edit.priority, "priority", -(2 ** 31)) }),
    ...(edit.tenant !== undefined && { tenant: optionalName(edit.tenant, "tenant") }),
    ...(edit.modelOverride !== undefined && { model_override: optionalName(edit.modelOverride, "model") }),
    ...(edit.providerOverride !== undefined && {
      provider_override: optionalName(edit.providerOverride, "provider"),
    }),
    ...(edit.reasoningEffort !== undefined && {
      reasoning_effort: optionalName(edit.reasoningEffort, "reasoning effort"),
    }),
    ...(edit.result !== undefined && { result: cleanText(edit.result, "result") }),
  };
}

/** Holds or releases a task; a held task is neither promoted nor claimed. */
export function* holdTask(transaction: BoardTransaction, taskId: string, hold: boolean): Steps<Task> {
  requireRight(transaction.caller, hold ? "hold" : "release");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  if (task.status === "archived") throw archivedError(task);
  if ((task.hold === 1) === hold) return toTask(task);
  yield* updateTask(task, { hold: Number(hold) });
  transaction.recordEvent({ taskId, kind: hold ? "held" : "hold_removed" });
  if (!hold) yield* promoteWaitingTasks(transaction);
  return toTask(yield* requireTask(taskId));
}

function archivedError(task: TaskRow): AppError {
  return new AppError("task-move-refused", `${task.id} is archived and cannot be changed.`);
}
