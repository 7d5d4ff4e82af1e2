import { systemClock } from "../time/clock.ts";
import { isBusy } from "./database-error.ts";

const FIRST_WAIT_MS = 4;
const MAX_WAIT_MS = 100;

export interface BusyDeadline {
  readonly deadlineMs: number;
  /** Creates the error for a passed deadline; `cause` is the last error of SQLite. */
  failure(cause: unknown): Error;
}

/** Calls `attempt`, and repeats it after short random waits while SQLite reports that another connection holds the lock. */
export async function retryWhileBusy<Result>(
  attempt: () => Result,
  { deadlineMs, failure }: BusyDeadline,
  signal: AbortSignal,
): Promise<Result> {
  // Real time, not the clock of the caller: the other connections belong to real processes.
  const startedAt = process.uptime(); // `performance` would load a module that few commands need otherwise
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if ((process.uptime() - startedAt) * 1_000 >= deadlineMs) throw failure(error);
    }
    await systemClock.sleep(waitMs * (0.5 + Math.random() / 2), signal);
  }
}
