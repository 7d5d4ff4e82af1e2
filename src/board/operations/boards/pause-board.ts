import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { only, run, type Steps } from "../../database/steps.ts";

/** Pauses or resumes claims on the whole board; running tasks continue. Returns false when nothing changed. */
export function* pauseBoard(transaction: BoardTransaction, paused: boolean): Steps<boolean> {
  requireRight(transaction.caller, "pause");
  const board = yield* only<{ paused: number }>("select paused from board {lock}");
  if ((board.paused === 1) === paused) return false;
  yield* run("update board set paused = :paused", { paused: Number(paused) });
  transaction.recordEvent({ taskId: null, kind: paused ? "board_paused" : "board_resumed" });
  return true;
}
