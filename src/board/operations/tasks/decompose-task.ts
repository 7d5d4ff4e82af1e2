import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { first, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { invalidInput, parseAssignee } from "../../task-text.ts";
import { lockGraph, requireLockedTask, toTask } from "../views/rows.ts";
import { createTask } from "./create-task.ts";
import { linkTasks } from "./links.ts";
import { moveTask, requireMove } from "./move-task.ts";

export interface Part {
  readonly title: string;
  readonly body?: string;
  readonly assignee?: string;
  /** Indexes of the parts that must be done before this part. */
  readonly after?: readonly number[];
}

export interface Decomposition {
  readonly parts: readonly Part[];
  /** The profile that runs the task itself after all parts are done. */
  readonly assignee: string;
  /** Holds the parts until a person releases them. */
  readonly hold?: boolean;
}

/** Splits a task in triage into parts and makes it wait for them, in one transaction. A task is split at most once. */
export function* decomposeTask(
  transaction: BoardTransaction,
  taskId: string,
  { parts, assignee, hold = false }: Decomposition,
): Steps<{ readonly task: Task; readonly parts: readonly string[] }> {
  requireRight(transaction.caller, "specify");
  if (parts.length === 0) throw invalidInput("A decomposition needs at least one part.");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("decompose", task);
  const splitEvent = yield* first("select id from event where task_id = :taskId and kind = 'decomposed'", {
    taskId,
  });
  if (splitEvent !== undefined) throw new AppError("task-move-refused", `${taskId} has already been split.`);
  const ids: string[] = [];
  for (const part of parts) {
    const { task: created } = yield* createTask(transaction, {
      title: part.title,
      ...(part.body !== undefined && { body: part.body }),
      assignee: part.assignee ?? assignee,
      priority: task.priority,
      workspaceKind: task.workspace_kind,
      ...(task.workspace_path !== null && { workspacePath: task.workspace_path }),
      ...(task.tenant !== null && { tenant: task.tenant }),
      ...(task.session_id !== null && { sessionId: task.session_id }),
      hold,
    });
    ids.push(created.id);
  }
  for (const [index, { after = [] }] of parts.entries())
    for (const before of after) yield* linkTasks(transaction, partAt(ids, before), partAt(ids, index));
  const hasSuccessor = new Set(parts.flatMap(({ after = [] }) => after));
  for (const [index, id] of ids.entries())
    if (!hasSuccessor.has(index)) yield* linkTasks(transaction, id, taskId);
  const moved = yield* moveTask(transaction, task, "decompose", "todo", {
    event: "decomposed",
    payload: { child_ids: ids },
    set: { assignee: parseAssignee(assignee), triage_reason: null },
  });
  return { task: toTask(moved), parts: ids };
}

function partAt(ids: readonly string[], index: number): string {
  const id = ids[index];
  if (id === undefined) throw invalidInput(`Part ${index} does not exist.`);
  return id;
}
