import { type BoardTransaction, runTransaction } from "../board-transaction.ts";
import type { Caller } from "../caller.ts";
import type { BoardDatabase } from "../database/board-database.ts";
import type { Steps } from "../database/steps.ts";

/** A board as a dispatcher uses it: the dispatcher combines the store's operations in its own transactions. */
export interface DispatchBoard {
  readonly slug: string;
  read<Result>(steps: () => Steps<Result>, signal: AbortSignal): Promise<Result>;
  write<Result>(
    caller: Caller,
    steps: (transaction: BoardTransaction) => Steps<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
}

/** The caller that a dispatcher's writes are recorded under. */
export const DISPATCHER: Caller = { kind: "system", name: "dispatcher" };

/** A dispatcher's view of an open database. */
export function createDispatchBoard(slug: string, database: BoardDatabase): DispatchBoard {
  return {
    slug,
    read: (steps, signal) => database.read(steps, signal),
    write: (caller, steps, signal) => runTransaction(database, caller, steps, signal),
  };
}
