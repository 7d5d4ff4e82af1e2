import { authorOf } from "../../caller.ts";
import { first, type Steps } from "../../database/steps.ts";
import { DISPATCHER } from "../dispatch-board.ts";

/**
 * What a task is blocked by, as the event that blocked it says: a limit of its provider that did not end, a provider
 * that refuses it whatever it tries, other failures, or someone who wants something answered.
 */
export type BlockCause = "rate-limit-bound" | "provider" | "failed" | "blocked";

/** The cause of the block that a task is in now. */
export function* findBlockCause(taskId: string): Steps<BlockCause> {
  const last = yield* first<{ kind: string; actor: string; payload: string }>(
    `select kind, actor, payload from event
      where task_id = :taskId and kind in ('blocked', 'gave_up') order by id desc limit 1`,
    { taskId },
  );
  if (last?.kind !== "gave_up")
    // It blocks tasks for this reason only.
    return last !== undefined && last.actor === authorOf(DISPATCHER) ? "rate-limit-bound" : "blocked";
  const { limit_source } = JSON.parse(last.payload) as { limit_source?: unknown };
  return limit_source === "outcome" ? "provider" : "failed";
}
