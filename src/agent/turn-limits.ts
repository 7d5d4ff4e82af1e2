import type { Clock } from "../lib/time/clock.ts";
import type { TurnEndReason } from "./answer-end.ts";

/** Limits of one turn; undefined means no limit. */
export interface TurnLimits {
  /** Requests to the model. */
  readonly maxRequests: number | undefined;
  readonly maxSeconds: number | undefined;
  readonly maxCostUsd: number | undefined;
}

const TIME_SHORT_SHARE = 0.8;

/** Watches the limits of one turn, which starts now. Disposing stops the timer. */
export function watchLimits({ maxRequests, maxSeconds, maxCostUsd }: TurnLimits, clock: Clock) {
  const timeUp = new AbortController();
  const turnEnd = new AbortController();
  const startedAt = clock.now();
  const maxMs = (maxSeconds ?? Infinity) * 1_000;
  let waitedMs = 0; // waiting for a person
  let waitingSince: number | undefined;
  const usedMs = (): number => (waitingSince ?? clock.now()) - startedAt - waitedMs;
  const watchTime = async (): Promise<void> => {
    while (usedMs() < maxMs) await clock.sleep(maxMs - usedMs(), turnEnd.signal);
    timeUp.abort();
  };
  if (maxSeconds !== undefined) watchTime().catch(() => undefined); // the turn ended first
  return {
    timeUp: timeUp.signal,
    isTimeShort: (): boolean => usedMs() > maxMs * TIME_SHORT_SHARE,
    /** Stops counting time while a person is asked. */
    pause(): void {
      waitingSince ??= clock.now();
    },
    resume(): void {
      if (waitingSince !== undefined) waitedMs += clock.now() - waitingSince;
      waitingSince = undefined;
    },
    explainTimeUp: (): TurnEndReason => ({
      reason: `The limit of ${Number((maxSeconds ?? 0).toFixed(1))} seconds is reached.`,
      hint: "Raise --run-budget, or continue with -c.",
    }),
    /** The limit on requests or on cost that is reached, if any. */
    findReached(requests: number, costUsd: number | undefined): TurnEndReason | undefined {
      if (maxRequests !== undefined && requests >= maxRequests)
        return {
          reason: `The limit of ${maxRequests} steps is reached.`,
          hint: "Raise --max-turns, or continue with -c.",
        };
      if (maxCostUsd !== undefined && (costUsd ?? 0) >= maxCostUsd)
        return {
          reason: `The limit of $${maxCostUsd} is reached.`,
          hint: "Raise --max-cost, or continue with -c.",
        };
      return undefined;
    },
    [Symbol.dispose]: () => turnEnd.abort(),
  };
}
