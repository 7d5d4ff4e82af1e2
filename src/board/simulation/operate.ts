import type { DispatchBoard } from "../dispatcher/dispatch-board.ts";
import { liftGuards } from "../dispatcher/operations/tell-once.ts";
import { holdTask, pauseBoard, unblockTask } from "../operations/manage.ts";
import type { MemoryDatabase } from "./memory-database.ts";

export const OPERATOR = { kind: "operator", name: "operator" } as const;
const never = new AbortController().signal;

/** What a person does to the nth task, or to the board, between two transactions of others. */
export async function operate(
  board: DispatchBoard,
  memory: MemoryDatabase,
  verb: string,
  nth: number,
): Promise<void> {
  const [task] = memory.all<{ id: string; status: string }>(`select id, status from task where seq = ${nth}`);
  if (task === undefined) return;
  const { id, status } = task;
  if (verb === "pause" || verb === "resume")
    await board.write(OPERATOR, (change) => pauseBoard(change, verb === "pause"), never);
  else if (verb === "hold" || verb === "let-go")
    await board.write(OPERATOR, (change) => holdTask(change, id, verb === "hold"), never);
  else if (verb === "unblock" && status === "blocked")
    await board.write(OPERATOR, (change) => unblockTask(change, id), never);
  else if (verb === "unguard") await board.write(OPERATOR, (change) => liftGuards(change, id), never);
}
