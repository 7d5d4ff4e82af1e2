const EVENTS = 15;
const WITHIN_MS = 10_000;
const TRIPPED_MS = 30_000;

/** Limits the watch events of all jobs of a database together. */
export interface WatchBreaker {
  /** When the latest events passed. */
  readonly passedAt: readonly number[];
  readonly tripped: { readonly until: number; readonly owner: string; readonly dropped: number } | undefined;
}

export const CLOSED_BREAKER: WatchBreaker = { passedAt: [], tripped: undefined };

/** Decides whether an event may pass; the first excess event trips the breaker and notifies its owner. */
export function passBreaker(
  breaker: WatchBreaker,
  owner: string,
  now: number,
): { readonly breaker: WatchBreaker; readonly passes: boolean; readonly notice: string | undefined } {
  const { tripped } = breaker;
  if (tripped !== undefined && now < tripped.until) {
    const more = { ...tripped, dropped: tripped.dropped + 1 };
    return { breaker: { ...breaker, tripped: more }, passes: false, notice: undefined };
  }
  const passedAt = [...breaker.passedAt.filter((time) => now - time < WITHIN_MS), now];
  // `tripped` stays until `releaseBreaker` has reported its end.
  if (passedAt.length <= EVENTS) return { breaker: { passedAt, tripped }, passes: true, notice: undefined };
  const until = now + TRIPPED_MS;
  return {
    breaker: { passedAt: [], tripped: { until, owner, dropped: 1 } },
    passes: false,
    notice: `More than ${EVENTS} watch events within ${WITHIN_MS / 1_000} s: none is reported for ${TRIPPED_MS / 1_000} s.`,
  };
}

/** Resets an expired breaker and notifies the owner that tripped it; undefined if there is nothing to report. */
export function releaseBreaker(
  breaker: WatchBreaker,
  owner: string,
  now: number,
): { readonly breaker: WatchBreaker; readonly notice: string } | undefined {
  const { tripped } = breaker;
  if (tripped === undefined || now < tripped.until || tripped.owner !== owner) return undefined;
  const notice = `Watch events are reported again; ${tripped.dropped} were dropped.`;
  return { breaker: CLOSED_BREAKER, notice };
}
