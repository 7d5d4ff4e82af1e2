import type { Clock } from "../../lib/time/clock.ts";
import type { RequestTimeouts } from "../failures/timeouts.ts";
import { TroubleError } from "./trouble-error.ts";

export type Attempt = ReturnType<typeof openAttempt>;

/** The abort reason of a finished attempt; a single instance, because a stack for each attempt would be expensive. */
const ENDED = new Error("the request has ended");
const END_GRACE_MS = 1_000;

/**
 * Starts the timeouts of a request; the attempt ends with the signal, at a timeout or when it is disposed of. Disposing
 * of it closes the connection, unless `letEnd` was called.
 */
export function openAttempt(
  { clock, timeouts }: { readonly clock: Clock; readonly timeouts: RequestTimeouts },
  signal: AbortSignal,
) {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  const startedAt = clock.now();
  let answering = false;
  let ending = false;
  let waitingSince: number | undefined = startedAt;

  const overdueAfter = (now: number) =>
    Math.min(
      timeouts.requestMs - (now - startedAt),
      waitingSince === undefined ? timeouts.staleMs : timeouts.staleMs - (now - waitingSince),
    );
  const watch = async () => {
    for (let left = overdueAfter(clock.now()); left > 0; left = overdueAfter(clock.now()))
      await clock.sleep(left, controller.signal);
    const silent = clock.now() - startedAt < timeouts.requestMs;
    const since = silent ? (waitingSince ?? startedAt) : startedAt;
    controller.abort(new TroubleError({ type: "stalled", waitedMs: clock.now() - since, silent }));
  };
  watch().catch(() => undefined); // the sleep rejects only at the end of the attempt

  return {
    signal: controller.signal,
    /** Whether the headers of the answer have arrived. */
    get answering(): boolean {
      return answering;
    },
    /** Starts the stale timeout: from now on the attempt waits for the server. */
    waiting(): void {
      waitingSince = clock.now();
    },
    /** Stops the stale timeout: data arrived, and the consumer may take any time to read it. */
    arrived(): void {
      answering = true;
      waitingSince = undefined;
    },
    /** Call after a complete answer: gives the response a moment to end, so that its connection can be reused. */
    letEnd(end: Promise<unknown>): void {
      ending = true;
      const close = () => controller.abort(ENDED);
      const timer = setTimeout(() => setImmediate(close), END_GRACE_MS); // an end that has already arrived is read first
      timer.unref(); // the process may exit meanwhile
      const onEnd = () => {
        clearTimeout(timer);
        close();
      };
      end.then(onEnd, onEnd); // the answer is already complete, so a failure does not matter
    },
    [Symbol.dispose]() {
      signal.removeEventListener("abort", onAbort);
      if (!ending) controller.abort(ENDED);
    },
  };
}
