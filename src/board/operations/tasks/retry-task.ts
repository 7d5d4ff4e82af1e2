import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import type { Steps } from "../../database/steps.ts";
import { liftGuards } from "../../dispatcher/transactions/record-notices.ts";
import type { Task } from "../../task.ts";
import { describeStatus, type Status } from "../../transitions.ts";
import { lockGraph, requireLockedTask } from "../views/rows.ts";
import { unblockTask } from "./unblock-task.ts";

/** The event after which the next run starts a new session instead of resuming an earlier one. */
export const FRESH_START_EVENT = "fresh_start";

const OTHER_VERB: { readonly [Value in Status]?: string } = {
  running: "reclaim",
  done: "reopen",
  archived: "reopen",
  scheduled: "unblock",
  todo: "why",
};

/** Makes a task claimable now: unblocks it and lifts the guards of its last attempt. */
export function* retryTask(
  transaction: BoardTransaction,
  taskId: string,
  { fresh }: { readonly fresh: boolean },
): Steps<Task> {
  requireRight(transaction.caller, "assign");
  yield* lockGraph();
  const { status } = yield* requireLockedTask(taskId);
  const verb = OTHER_VERB[status];
  if (verb !== undefined)
    throw new AppError(
      "task-move-refused",
      `${taskId} is ${describeStatus(status)}; it has no failed attempt to retry.`,
      { hint: `Use \`hermes kanban ${verb} ${taskId}\` first.` },
    );
  if (fresh) transaction.recordEvent({ taskId, kind: FRESH_START_EVENT });
  if (status === "blocked" || status === "triage") yield* unblockTask(transaction, taskId);
  return yield* liftGuards(transaction, taskId);
}
