import { systemClock } from "./clock.ts";
import { isBusy } from "./database-error.ts";

const FIRST_WAIT_MS = 4;
const LONGEST_WAIT_MS = 100;

export interface BusyDeadline {
  readonly deadlineMs: number;
  /** The failure once the deadline has passed; `cause` is SQLite's last word. */
  failure(cause: unknown): Error;
}

/** Calls `attempt` at once and again after short random waits, as long as SQLite finds another connection in the way. */
export async function retryWhileBusy<Result>(
  attempt: () => Result,
  { deadlineMs, failure }: BusyDeadline,
  signal: AbortSignal,
): Promise<Result> {
  // Real time, whatever clock the caller has: the others are real processes.
  const startedAt = performance.now();
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - startedAt >= deadlineMs) throw failure(error);
    }
    await systemClock.sleep(waitMs * (0.5 + Math.random() / 2), signal);
  }
}
