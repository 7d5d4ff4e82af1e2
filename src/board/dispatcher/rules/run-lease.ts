/** How long a run belongs to its supervisor without a renewal. */
export const RUN_LEASE_MS = 30_000;
export const RENEW_EVERY_MS = 10_000;
/**
 * How far the clocks of a host and of the database may drift apart within one lease. A supervisor kills its process group
 * before its lease ends on its own clock, measured from before the renewal; other processes act this long after the end.
 */
export const CLOCK_MARGIN_MS = 5_000;
