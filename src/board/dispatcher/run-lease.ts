/** For how long a run is its supervisor's without a word of it. */
export const RUN_LEASE_MS = 30_000;
export const RENEW_EVERY_MS = 10_000;
/**
 * How far the clocks of a host and of the database may drift apart within one lease. A supervisor has killed its group
 * by the end of its lease on its own clock, counted from before it asked; others act this long after the end.
 */
export const CLOCK_MARGIN_MS = 5_000;
