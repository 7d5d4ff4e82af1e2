import type { DispatchPolicy } from "../rules/resolve-dispatch-policy.ts";
import { CLOCK_MARGIN_MS } from "../rules/run-lease.ts";
import type { OpenRun } from "../transactions/find-bookkeeping-work.ts";

/** Why an open run needs action: its lease expired, it was silent for too long, it hit its time limit, or a check is due. */
export type Overdue = "expired" | "stale" | "timed_out" | "check";

const SILENCE_MS = 3_600_000;

/** Undefined when an open run needs no action. A person's claim has no processes and ends only with its lease. */
export function classifyOverdue(
  run: OpenRun,
  hostId: string,
  policy: Pick<DispatchPolicy, "staleMs" | "crashGraceMs">,
): Overdue | undefined {
  const { now, started_at: startedAt } = run;
  if (run.lease_until + CLOCK_MARGIN_MS <= now) return "expired";
  if (run.supervisor_pid === null && run.worker_pid === null) return undefined;
  const elapsed = now - startedAt;
  // A lease beyond its possible end means that the clock was set back, which would hide a dead run for that long.
  const isFromFuture = run.lease_until > now + run.lease_ms + CLOCK_MARGIN_MS;
  const silent = now - Math.max(startedAt, run.last_heartbeat_at ?? 0);
  if (policy.staleMs > 0 && elapsed >= policy.staleMs && silent >= SILENCE_MS) return "stale";
  if (run.max_runtime_seconds !== null && elapsed >= run.max_runtime_seconds * 1_000) return "timed_out";
  if (run.host_id !== hostId) return undefined;
  return isFromFuture || elapsed >= policy.crashGraceMs ? "check" : undefined;
}
