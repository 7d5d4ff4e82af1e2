import type { Clock } from "../../lib/clock.ts";
import type { RequestTimeouts } from "../timeouts.ts";
import { TroubleError } from "./trouble-error.ts";

/** The time that one request takes, and its end. Disposing of it closes the connection, unless `letEnd` was called. */
export interface Attempt extends Disposable {
  /** Aborts when the attempt is over: by its caller, by a time-out or at its end. */
  readonly signal: AbortSignal;
  /** Rejects when the attempt is aborted. */
  readonly aborted: Promise<never>;
  /** Whether the headers of the answer have come. */
  readonly answering: boolean;
  /** From now on we wait for the other side. */
  waiting(): void;
  /** Something came; our own reader may take its time. */
  arrived(): void;
  /** All that matters has come: gives the answer a moment to end, so that its connection can be used again. */
  letEnd(end: Promise<unknown>): void;
}

/** Why an attempt is aborted that is over anyway; made once, because a stack for each would cost more than its use. */
const OVER = new Error("the request is over");
const LAST_MOMENT_MS = 1_000;

/** Begins to count the time of a request; it ends with the signal, with a time-out or when it is disposed of. */
export function openAttempt(
  { clock, timeouts }: { readonly clock: Clock; readonly timeouts: RequestTimeouts },
  signal: AbortSignal,
): Attempt {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  const aborted = new Promise<never>((_, reject) => {
    const onEnd = () => reject(controller.signal.reason);
    if (controller.signal.aborted) onEnd();
    else controller.signal.addEventListener("abort", onEnd, { once: true });
  });
  aborted.catch(() => undefined); // whoever awaits it has its own handler

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
  watch().catch(() => undefined); // only the end of the attempt ends its sleep early

  return {
    signal: controller.signal,
    aborted,
    get answering() {
      return answering;
    },
    waiting() {
      waitingSince = clock.now();
    },
    arrived() {
      answering = true;
      waitingSince = undefined;
    },
    letEnd(end) {
      ending = true;
      const close = () => controller.abort(OVER);
      const timer = setTimeout(() => setImmediate(close), LAST_MOMENT_MS); // an end that is there is read before
      timer.unref(); // the program may end meanwhile
      const onEnd = () => {
        clearTimeout(timer);
        close();
      };
      end.then(onEnd, onEnd); // the answer was whole before, whatever its end is
    },
    [Symbol.dispose]() {
      signal.removeEventListener("abort", onAbort);
      if (!ending) controller.abort(OVER);
    },
  };
}
