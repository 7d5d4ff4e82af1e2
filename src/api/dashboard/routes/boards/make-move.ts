import type { Task } from "../../../../board/task.ts";
import { AppError } from "../../../../lib/errors.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import { ApiError, toApiError } from "../../../api-error.ts";
import type { TaskMove } from "../../../contract/tasks.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { ruleOf } from "./move-rules.ts";

/** Makes a person's move. If the board refuses it, throws an `ApiError` that names the rule and the tasks in the way. */
export async function makeMove(
  board: DashboardBoard,
  id: string,
  move: TaskMove,
  signal: AbortSignal,
): Promise<Task> {
  try {
    const task = await callBoard(board, id, move, signal);
    if (task.status === "done" || task.status === "archived") void board.cleanUpAfter(id);
    return task;
  } catch (error) {
    throw await describeRefusal(board, id, move, error, signal);
  }
}

async function callBoard(
  { client, store, endRun, unguard }: DashboardBoard,
  id: string,
  move: TaskMove,
  signal: AbortSignal,
): Promise<Task> {
  switch (move.move) {
    case "specify": {
      const { move: _, ...given } = move;
      return client.specify(id, withoutUndefined(given), signal);
    }
    case "promote":
      return client.promote(id, undefined, signal);
    case "block":
      return client.block(id, move.reason, move.kind, signal);
    case "unblock":
      return client.unblock(id, move.reason, signal);
    case "retry":
      return client.retry(id, { fresh: move.fresh ?? false }, signal);
    case "schedule":
      return client.schedule(id, move.at, move.reason, signal);
    case "request-review":
      return client.requestReview(id, move.reviewer, withoutUndefined({ summary: move.summary }), signal);
    case "request-changes":
      return client.requestChanges(id, move.reason, signal);
    case "approve":
      return client.complete(id, { approval: true, ...withoutUndefined({ result: move.result }) }, signal);
    case "complete": {
      const { summary, result } = move;
      return client.complete(id, withoutUndefined({ summary, result }), signal);
    }
    case "reopen": {
      const { task } = await store.show(id, signal);
      if (task.status === "review") return client.reopenReview(id, undefined, signal);
      return (await client.reopen(id, signal)).task;
    }
    case "reclaim": {
      const { run, task } = await endRun(id, signal);
      if (run !== "none") return task;
      throw new AppError("task-move-refused", `${id} has no run to end.`);
    }
    case "archive":
      return client.archive(id, signal);
    case "hold":
      return client.hold(id, true, signal);
    case "release-hold":
      return client.hold(id, false, signal);
    case "unguard":
      return unguard(id, signal);
  }
}

const REFUSALS: ReadonlySet<string> = new Set(["task-move-refused", "task-parents-open", "task-running"]);

async function describeRefusal(
  { store }: DashboardBoard,
  id: string,
  { move }: TaskMove,
  error: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof AppError) || !REFUSALS.has(error.code)) return error;
  const { status, code, message, hint } = toApiError(error);
  const inTheWay = error.code === "task-parents-open" ? await findOpenParents(store, id, signal) : [];
  return new ApiError(status, code, message, undefined, hint, { rule: ruleOf(move), tasks: inTheWay });
}

async function findOpenParents(store: DashboardBoard["store"], id: string, signal: AbortSignal) {
  const { parents } = await store.show(id, signal);
  return [...(await store.findTaskNames(parents, signal)).values()]
    .filter(({ status }) => status !== "done" && status !== "archived")
    .map(({ id: taskId, seq, title, status, assignee }) => ({ id: taskId, seq, title, status, assignee }));
}
