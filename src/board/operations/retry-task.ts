import { AppError } from "../../lib/errors.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import type { Steps } from "../database/steps.ts";
import { liftGuards } from "../dispatcher/operations/tell-once.ts";
import type { Task } from "../task.ts";
import type { Status } from "../transitions.ts";
import { lockGraph, requireTaskToChange } from "./load.ts";
import { unblockTask } from "./manage.ts";

/** The event after which the next run does not go on with the session of an earlier one. */
export const FRESH_START = "fresh_start";

const ELSEWHERE: { readonly [Where in Status]?: string } = {
  running: "reclaim",
  done: "reopen",
  archived: "reopen",
  scheduled: "unblock",
  todo: "why",
};

/** Lets a task be tried again now, whatever kept it back after its last attempt. */
export function* retryTask(
  change: Change,
  taskId: string,
  { fresh }: { readonly fresh: boolean },
): Steps<Task> {
  requireRight(change.caller, "assign");
  yield* lockGraph();
  const { status } = yield* requireTaskToChange(taskId);
  const verb = ELSEWHERE[status];
  if (verb !== undefined)
    throw new AppError("task-move-refused", `${taskId} is ${status}; there is no failed attempt to repeat.`, {
      hint: `Use \`hermes kanban ${verb} ${taskId}\` first.`,
    });
  if (fresh) change.tell({ taskId, kind: FRESH_START });
  if (status === "blocked" || status === "triage") yield* unblockTask(change, taskId);
  return yield* liftGuards(change, taskId);
}
