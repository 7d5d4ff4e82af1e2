import { AppError } from "../../lib/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";

/** `lost`: the run has ended. `unsure`: no renewal succeeded for so long that another host may soon claim the task. */
export type LeaseEnd = "lost" | "unsure" | "stopped";

/** A stopwatch and a timer that may disagree: a timer stops while the machine sleeps, the stopwatch does not. */
export interface LeaseTime {
  /** Starts to count milliseconds, including those in which the machine slept or this process was stopped. */
  stopwatch(): () => number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface LeaseKeeper {
  readonly leaseMs: number;
  /** A stopwatch that was started before the last renewal was requested. */
  readonly age: () => number;
  /** Rejects with `run-superseded` when the run has ended. */
  renew(signal: AbortSignal): Promise<unknown>;
  /** Called after each renewal with the milliseconds since it was requested. */
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
 * Renews a lease after each third of its duration. Resolves with `unsure` at the latest when two thirds have passed
 * without a renewal; the last third is for ending the worker. A process that was suspended checks this first.
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
    const requestAge = time.stopwatch();
    const end = await attempt(renew, sureMs - age(), time);
    if (end === "lost") return end;
    if (end === "renewed" && requestAge() < sureMs) {
      age = requestAge;
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
  const [late, done] = [new AbortController(), new AbortController()];
  const tooLate = time.sleep(Math.max(0, withinMs), done.signal).then(
    () => late.abort(),
    () => undefined, // answered in time
  );
  try {
    // A database that does not answer must not delay `unsure`.
    return await Promise.race([
      renew(late.signal).then(() => "renewed" as const),
      tooLate.then(() => "failed" as const),
    ]);
  } catch (error) {
    return error instanceof AppError && error.code === "run-superseded" ? "lost" : "failed";
  } finally {
    done.abort();
  }
}
