import type { Clock } from "./clock.ts";
import type { WakeFlag } from "./wake-flag.ts";

/** Waits for a touch, at most for `ms` if given; returns whether the flag was touched. */
export async function waitForTouch(
  touched: WakeFlag,
  ms: number | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const touch = touched.next(either).then(() => true);
  const timeout = ms === undefined ? [] : [clock.sleep(ms, either).then(() => false)];
  try {
    return await Promise.race([touch, ...timeout]);
  } finally {
    done.abort();
    await Promise.allSettled([touch, ...timeout]);
  }
}
