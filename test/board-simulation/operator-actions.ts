import type { DispatchBoard } from "../../src/board/dispatcher/dispatch-board.ts";
import { liftGuards } from "../../src/board/dispatcher/transactions/record-notices.ts";
import { pauseBoard } from "../../src/board/operations/boards/pause-board.ts";
import { assignTask, holdTask } from "../../src/board/operations/tasks/edit-task.ts";
import { blockTask } from "../../src/board/operations/tasks/end-task.ts";
import { promoteTask, unblockTask } from "../../src/board/operations/tasks/unblock-task.ts";
import { AppError } from "../../src/lib/errors.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { MemoryDatabase } from "./memory-database.ts";

export const OPERATOR = { kind: "operator", name: "operator" } as const;

export const OPERATOR_VERBS = [
  "pause",
  "resume",
  "hold",
  "unhold",
  "block",
  "unblock",
  "unguard",
  "assign",
  "promote",
] as const;

/** Runs an operator's command on the nth task or on the board, between the transactions of others; ignores a refusal. */
export async function operate(
  board: DispatchBoard,
  memory: MemoryDatabase,
  verb: string,
  nth: number,
): Promise<void> {
  const [task] = memory.all<{ id: string; assignee: string | null }>(
    `select id, assignee from task where seq = ${nth}`,
  );
  if (task === undefined) return;
  const { id, assignee } = task;
  const other = assignee === "alpha" ? "beta" : "alpha";
  const operations = {
    pause: (transaction) => pauseBoard(transaction, true),
    resume: (transaction) => pauseBoard(transaction, false),
    hold: (transaction) => holdTask(transaction, id, true),
    unhold: (transaction) => holdTask(transaction, id, false),
    block: (transaction) => blockTask(transaction, id, "not now", "transient"),
    unblock: (transaction) => unblockTask(transaction, id),
    unguard: (transaction) => liftGuards(transaction, id),
    assign: (transaction) => assignTask(transaction, id, other),
    promote: (transaction) => promoteTask(transaction, id),
  } satisfies Record<(typeof OPERATOR_VERBS)[number], Parameters<typeof board.write>[1]>;
  const steps = Object.hasOwn(operations, verb) ? operations[verb as keyof typeof operations] : undefined;
  if (steps === undefined) throw new Error(`unknown verb ${verb}`);
  await board.write<unknown>(OPERATOR, steps, neverAborted).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
  });
}
