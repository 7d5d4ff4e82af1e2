import { authorOf } from "../../caller.ts";
import type { Steps } from "../../database/steps.ts";
import { type Block, findBlocks } from "../../operations/find-blocks.ts";
import { DISPATCHER } from "../dispatch-board.ts";

/**
 * What a task is blocked by, as the event that blocked it says: a limit of its provider that did not end, a provider
 * that refuses it whatever it tries, other failures, or someone who wants something answered.
 */
export type BlockCause = "rate-limit-bound" | "provider" | "failed" | "blocked";

/** The cause of the block that a task is in now. */
export function* findBlockCause(taskId: string): Steps<BlockCause> {
  return causeOf((yield* findBlocks([taskId])).get(taskId));
}

export function causeOf(block: Block | undefined): BlockCause {
  if (block?.kind === "gave_up") return block.payload["limit_source"] === "outcome" ? "provider" : "failed";
  if (block?.actor !== authorOf(DISPATCHER)) return "blocked";
  return block.payload["kind"] === "capability" ? "rate-limit-bound" : "failed"; // alone, or alike with others
}
