import { AppError } from "../../lib/errors.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { first, type Steps } from "../database/steps.ts";
import type { Task } from "../task.ts";
import { invalid, parseAssignee } from "../task-text.ts";
import { createTask } from "./create-task.ts";
import { linkTasks } from "./links.ts";
import { lockGraph, requireTask, requireTaskToChange, toTask } from "./load.ts";
import { moveTask, requireMove } from "./move-task.ts";

export interface Part {
  readonly title: string;
  readonly body?: string;
  readonly assignee?: string;
  /** Places in the list of parts that come before this one. */
  readonly after?: readonly number[];
}

export interface Decomposition {
  readonly parts: readonly Part[];
  /** Who puts the parts together in the end. */
  readonly assignee: string;
  /** Keeps the parts back until a person lets them go. */
  readonly hold?: boolean;
}

/** Splits a task in triage into parts that it then waits for: all of it at once, and never twice. */
export function* decomposeTask(
  change: Change,
  taskId: string,
  { parts, assignee, hold = false }: Decomposition,
): Steps<{ readonly task: Task; readonly parts: readonly string[] }> {
  requireRight(change.caller, "specify");
  if (parts.length === 0) throw invalid("There are no parts.");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  requireMove("decompose", task);
  const marker = yield* first("select id from event where task_id = :taskId and kind = 'decomposed'", {
    taskId,
  });
  if (marker !== undefined) throw new AppError("task-move-refused", `${taskId} has been split before.`);
  const ids: string[] = [];
  for (const part of parts) {
    const { task: made } = yield* createTask(change, {
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
    ids.push(made.id);
  }
  for (const [index, { after = [] }] of parts.entries())
    for (const before of after) yield* linkTasks(change, partAt(ids, before), partAt(ids, index));
  const followed = new Set(parts.flatMap(({ after = [] }) => after));
  for (const [index, id] of ids.entries()) if (!followed.has(index)) yield* linkTasks(change, id, taskId);
  yield* moveTask(change, task, "decompose", "todo", {
    event: "decomposed",
    payload: { child_ids: ids },
    set: { assignee: parseAssignee(assignee), triage_reason: null },
  });
  return { task: toTask(yield* requireTask(taskId)), parts: ids };
}

function partAt(ids: readonly string[], index: number): string {
  const id = ids[index];
  if (id === undefined) throw invalid(`There is no part ${index}.`);
  return id;
}
