import { authorOf } from "../../caller.ts";
import { all, type Steps } from "../../database/steps.ts";
import { DISPATCHER } from "../../dispatcher/dispatch-board.ts";

/** The event that blocked a task or moved it to triage. */
export interface Block {
  readonly kind: "blocked" | "block_loop_detected" | "gave_up";
  readonly actor: string;
  readonly at: number;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The reason recorded in the event; null when the task was blocked by failures. */
  readonly reason: string | null;
}

/** Finds the last block of each task; omits tasks that were never blocked. */
export function* findBlocks(ids: readonly string[]): Steps<ReadonlyMap<string, Block>> {
  if (ids.length === 0) return new Map();
  const rows = yield* all<{ id: string; kind: Block["kind"]; actor: string; at: number; payload: string }>(
    `select task_id as id, kind, actor, created_at as at, payload from event where id in (
       select max(id) from event where task_id {among:ids} and kind in ('blocked', 'block_loop_detected', 'gave_up')
        group by task_id)`,
    { ids: JSON.stringify(ids) },
  );
  return new Map(
    rows.map(({ id, kind, actor, at, payload: text }) => {
      const payload = JSON.parse(text) as Block["payload"];
      const { reason } = payload;
      return [id, { kind, actor, at, payload, reason: typeof reason === "string" ? reason : null }];
    }),
  );
}

/** Why a task is blocked, by the event that blocked it; `blocked` means that a person or worker blocked it. */
export type BlockCause = "rate-limit-bound" | "provider" | "failed" | "blocked";

export function causeOf(block: Block | undefined): BlockCause {
  if (block?.kind === "gave_up") return block.payload["limit_source"] === "outcome" ? "provider" : "failed";
  if (block?.actor !== authorOf(DISPATCHER)) return "blocked";
  return block.payload["kind"] === "capability" ? "rate-limit-bound" : "failed"; // a mass failure
}
