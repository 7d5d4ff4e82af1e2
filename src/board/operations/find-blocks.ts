import { all, type Steps } from "../database/steps.ts";

/** The event that put a task where it waits for a person. */
export interface Block {
  readonly kind: "blocked" | "block_loop_detected" | "gave_up";
  readonly actor: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** What was said then, whatever has been said since; null when failures did it. */
  readonly reason: string | null;
}

/** The last block of each of these tasks that ever had one. */
export function* findBlocks(ids: readonly string[]): Steps<ReadonlyMap<string, Block>> {
  if (ids.length === 0) return new Map();
  const rows = yield* all<{ id: string; kind: Block["kind"]; actor: string; payload: string }>(
    `select task_id as id, kind, actor, payload from event where id in (
       select max(id) from event where task_id {among:ids} and kind in ('blocked', 'block_loop_detected', 'gave_up')
        group by task_id)`,
    { ids: JSON.stringify(ids) },
  );
  return new Map(
    rows.map(({ id, kind, actor, payload: text }) => {
      const payload = JSON.parse(text) as Block["payload"];
      const { reason } = payload;
      return [id, { kind, actor, payload, reason: typeof reason === "string" ? reason : null }];
    }),
  );
}
