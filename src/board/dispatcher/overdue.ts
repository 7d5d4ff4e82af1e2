import type { OpenRun } from "./operations/find-work.ts";
import type { DispatchPolicy } from "./resolve-dispatch-policy.ts";
import { CLOCK_MARGIN_MS } from "./run-lease.ts";

/** What is to be done about an open run: its lease is over, it is silent or has run for too long, or look whether it lives. */
export type Overdue = "expired" | "stale" | "timed_out" | "check";

const SILENCE_MS = 3_600_000;

/** What is to be done about an open run, if anything; a claim by hand has no processes and ends only with its lease. */
export function overdueOf(
  run: OpenRun,
  hostId: string,
  policy: Pick<DispatchPolicy, "staleMs" | "crashGraceMs">,
): Overdue | undefined {
  const { now, started_at: startedAt } = run;
  if (run.lease_until + CLOCK_MARGIN_MS <= now) return "expired";
  if (run.supervisor_pid === null && run.worker_pid === null) return undefined;
  const elapsed = now - startedAt;
  // Its lease goes further than it ever could: the clock was put back, and would hide for as long that it is dead.
  const isFromFuture = run.lease_until > now + run.lease_ms + CLOCK_MARGIN_MS;
  const silent = now - Math.max(startedAt, run.last_heartbeat_at ?? 0);
  if (policy.staleMs > 0 && elapsed >= policy.staleMs && silent >= SILENCE_MS) return "stale";
  if (run.max_runtime_seconds !== null && elapsed >= run.max_runtime_seconds * 1_000) return "timed_out";
  if (run.host_id !== hostId) return undefined;
  return isFromFuture || elapsed >= policy.crashGraceMs ? "check" : undefined;
}
