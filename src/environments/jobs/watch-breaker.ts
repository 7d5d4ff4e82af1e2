const EVENTS = 15;
const WITHIN_MS = 10_000;
const TRIPPED_MS = 30_000;

/** What keeps many watched jobs together from telling too much; one for all jobs of a database. */
export interface WatchBreaker {
  /** When events passed lately. */
  readonly passedAt: readonly number[];
  readonly tripped: { readonly until: number; readonly owner: string; readonly dropped: number } | undefined;
}

export const CLOSED_BREAKER: WatchBreaker = { passedAt: [], tripped: undefined };

export interface BreakerVerdict {
  readonly breaker: WatchBreaker;
  readonly passes: boolean;
  readonly notice: string | undefined;
}

/** Whether an event may pass; the one that is too many trips the breaker, and its owner is told. */
export function passBreaker(breaker: WatchBreaker, owner: string, now: number): BreakerVerdict {
  const { tripped } = breaker;
  if (tripped !== undefined && now < tripped.until) {
    const more = { ...tripped, dropped: tripped.dropped + 1 };
    return { breaker: { ...breaker, tripped: more }, passes: false, notice: undefined };
  }
  const passedAt = [...breaker.passedAt.filter((time) => now - time < WITHIN_MS), now];
  if (passedAt.length <= EVENTS) return { breaker: { passedAt, tripped }, passes: true, notice: undefined }; // its end may not be told yet
  const until = now + TRIPPED_MS;
  return {
    breaker: { passedAt: [], tripped: { until, owner, dropped: 1 } },
    passes: false,
    notice: `More than ${EVENTS} watch events came within ${WITHIN_MS / 1_000} s: none is told for ${TRIPPED_MS / 1_000} s.`,
  };
}

/** Says that it is over to the owner who was told that it began; undefined when there is nothing to say. */
export function releaseBreaker(
  breaker: WatchBreaker,
  owner: string,
  now: number,
): { readonly breaker: WatchBreaker; readonly notice: string } | undefined {
  const { tripped } = breaker;
  if (tripped === undefined || now < tripped.until || tripped.owner !== owner) return undefined;
  const notice = `Watch events are told again; ${tripped.dropped} were not.`;
  return { breaker: CLOSED_BREAKER, notice };
}
