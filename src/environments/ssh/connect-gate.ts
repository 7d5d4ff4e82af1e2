import { exists } from "../../lib/files/unless-missing.ts";
import { systemClock } from "../../lib/time/clock.ts";

const POLL_EVERY_MS = 20;
const MAX_WAIT_MS = 10_000;
/** Counts polls instead of time, so that the first caller gets its full time even if this process was suspended. */
const MAX_POLLS = MAX_WAIT_MS / POLL_EVERY_MS;

/** Lets one caller connect while the others wait for its connection, instead of opening their own. */
export function createConnectGate(socket: string) {
  let attempt: { isSettled: boolean; readonly until: number } | undefined;
  const isPending = (one: typeof attempt): boolean =>
    one !== undefined && !one.isSettled && performance.now() < one.until;

  return {
    /** Resolves when the caller should connect: immediately for the first caller, otherwise after the first attempt or a timeout. */
    async wait(signal: AbortSignal): Promise<void> {
      const others = attempt;
      if (!isPending(others)) {
        attempt = { isSettled: false, until: performance.now() + MAX_WAIT_MS };
        return;
      }
      for (let polls = 0; polls < MAX_POLLS && !others?.isSettled && !(await exists(socket)); polls++)
        await systemClock.sleep(POLL_EVERY_MS, signal);
    },
    /** Ends the current attempt: the connection was opened, and may have been lost since, or opening it failed. */
    settle(): void {
      if (attempt) attempt.isSettled = true;
    },
  };
}
