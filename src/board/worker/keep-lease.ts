import { systemClock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";

/** `lost`: the run is over. `unsure`: it could not be renewed for so long that another may have the task soon. */
export type LeaseEnd = "lost" | "unsure" | "stopped";

/** How time passes, in two ways that need not agree: a machine that sleeps stops one of them. */
export interface LeaseTime {
  /** Starts to count milliseconds, also those in which the machine slept or this process was halted. */
  stopwatch(): () => number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface LeaseKeeper {
  readonly leaseMs: number;
  /** Runs since before the last renewal was asked for. */
  readonly age: () => number;
  /** Rejects with `run-superseded` when the run is over. */
  renew(signal: AbortSignal): Promise<unknown>;
  /** Called after each success, with how long ago it was asked for. */
  onRenewed(ageMs: number): void;
}

export const realTime: LeaseTime = {
  stopwatch() {
    const startedAt = { steady: performance.now(), wall: Date.now() };
    return () => Math.max(performance.now() - startedAt.steady, Date.now() - startedAt.wall);
  },
  sleep: systemClock.sleep,
};

/**
 * Renews a lease every third of it until it cannot, and then says so at a time when two thirds of it are over at the
 * latest: the rest is for ending what it protects. A halted process hears of it before it does anything else.
 */
export async function keepLease(
  { leaseMs, age: sinceLast, renew, onRenewed }: LeaseKeeper,
  time: LeaseTime,
  signal: AbortSignal,
): Promise<LeaseEnd> {
  const sureMs = (leaseMs * 2) / 3;
  let age = sinceLast;
  for (let pauseMs = leaseMs / 3; ; ) {
    const wasStopped = await time.sleep(Math.max(0, Math.min(pauseMs, sureMs - age())), signal).then(
      () => false,
      () => true, // only the signal ends a sleep early
    );
    if (wasStopped) return "stopped";
    if (age() >= sureMs) return "unsure";
    const asked = time.stopwatch();
    const end = await attempt(renew, sureMs - age(), time);
    if (end === "lost") return end;
    if (end === "renewed" && asked() < sureMs) {
      age = asked;
      pauseMs = leaseMs / 3;
      onRenewed(age());
    } else pauseMs = leaseMs / 30;
  }
}

async function attempt(
  renew: LeaseKeeper["renew"],
  withinMs: number,
  time: LeaseTime,
): Promise<"renewed" | "lost" | "failed"> {
  const [late, over] = [new AbortController(), new AbortController()];
  const tooLate = time.sleep(Math.max(0, withinMs), over.signal).then(
    () => late.abort(),
    () => undefined, // answered in time
  );
  try {
    // A database that does not answer must not keep us from giving up in time.
    return await Promise.race([
      renew(late.signal).then(() => "renewed" as const),
      tooLate.then(() => "failed" as const),
    ]);
  } catch (error) {
    return error instanceof AppError && error.code === "run-superseded" ? "lost" : "failed";
  } finally {
    over.abort();
  }
}
