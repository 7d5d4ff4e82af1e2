import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 300_000;
/** After a run of this length, the next failure is followed by a short wait again. */
const STEADY_MS = 60_000;

/** Runs a part of the gateway until the signal aborts. Logs each failure and restarts the part. Never rejects. */
export async function restartAfterFailures(
  name: string,
  run: (signal: AbortSignal) => Promise<void>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; ) {
    const startedAt = clock.now();
    try {
      return await run(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (clock.now() - startedAt > STEADY_MS) waitMs = FIRST_WAIT_MS;
      log.error("a part of the gateway failed and is started again", {
        part: name,
        error: messageOf(error),
        waitMs,
      });
    }
    await clock.sleep(waitMs, signal).catch(() => undefined);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}
