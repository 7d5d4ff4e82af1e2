import { AppError } from "../../lib/errors.ts";
import type { DispatchBoard } from "../dispatcher/dispatch-board.ts";
import { liftGuards } from "../dispatcher/operations/tell-once.ts";
import { blockTask } from "../operations/finish.ts";
import { assignTask, holdTask, pauseBoard, promoteTask, unblockTask } from "../operations/manage.ts";
import type { MemoryDatabase } from "./memory-database.ts";

export const OPERATOR = { kind: "operator", name: "operator" } as const;
const never = new AbortController().signal;

export const OPERATOR_VERBS = [
  "pause",
  "resume",
  "hold",
  "let-go",
  "block",
  "unblock",
  "unguard",
  "assign",
  "promote",
] as const;

/** What a person does to the nth task, or to the board, between two transactions of others; a refusal changes nothing. */
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
  const does = {
    pause: (change) => pauseBoard(change, true),
    resume: (change) => pauseBoard(change, false),
    hold: (change) => holdTask(change, id, true),
    "let-go": (change) => holdTask(change, id, false),
    block: (change) => blockTask(change, id, "not now", "transient"),
    unblock: (change) => unblockTask(change, id),
    unguard: (change) => liftGuards(change, id),
    assign: (change) => assignTask(change, id, other),
    promote: (change) => promoteTask(change, id),
  } satisfies Record<(typeof OPERATOR_VERBS)[number], Parameters<typeof board.write>[1]>;
  const steps = Object.hasOwn(does, verb) ? does[verb as keyof typeof does] : undefined;
  if (steps === undefined) throw new Error(`nobody can ${verb}`);
  await board.write<unknown>(OPERATOR, steps, never).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
  });
}
