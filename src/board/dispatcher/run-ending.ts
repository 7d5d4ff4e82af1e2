import type { RunEnding } from "../operations/runs.ts";
import type { Run, RunOutcome } from "../task.ts";
import type { DispatchPolicy } from "./resolve-dispatch-policy.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** What kind of thing failed, as the worker says it; in the payload of the event that ends the run. */
export const FAILURE_KINDS = [
  "infra",
  "quota",
  "auth",
  "model",
  "protocol",
  "task",
  "budget",
  "cancelled",
] as const;
/** The events that may have one, in the words of their index. */
export const FAILURE_EVENTS =
  "'crashed', 'timed_out', 'spawn_failed', 'protocol_violation', 'budget_exhausted'";
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** How a worker ended that brought no result. */
export interface WorkerExit {
  readonly outcome: Extract<
    RunOutcome,
    | "crashed"
    | "timed_out"
    | "spawn_failed"
    | "protocol_violation"
    | "budget_exhausted"
    | "rate_limited"
    | "infra_killed"
    | "stale"
    | "reclaimed"
  >;
  readonly failureKind?: FailureKind;
  /** Trying again cannot help, whatever the task allows: only a person brings it back. */
  readonly terminal?: boolean;
  readonly error?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface RunHistory {
  readonly runId: number;
  /** `consecutive_failures` of the task before this end. */
  readonly failures: number;
  /** How many of its last runs, without those at a rate limit, were protocol violations in a row. */
  readonly violations?: number;
  /** How many of its last runs in a row had a worker and ended without a result that counts (`isForgiven`). */
  readonly forgiven?: number;
}

/** Why a run is over of which nobody has reported an end. */
export const VANISHED =
  "The supervisor of the run vanished with its worker; the work itself may have ended it.";
const VIOLATION_LIMIT = 3;
/** So often in a row it is the host's fault. A task that is there each time may be what does it, and then it counts. */
const FORGIVEN_LIMIT = 3;
export const INFRASTRUCTURE_COOLDOWN_MS = 60_000;
/** How long a profile is not tried again that its provider has refused. */
export const AUTH_COOLDOWN_MS = 600_000;

/** How the store shall end the run: whether it counts, how long the task then waits, and when it is given up. */
export function runEndingOf(
  { outcome: seen, failureKind, terminal = false, error, detail }: WorkerExit,
  { runId, failures, violations = 0, forgiven = 0 }: RunHistory,
  policy: Pick<DispatchPolicy, "failureLimit" | "failureRetryMs" | "rateLimitCooldownMs">,
  random: () => number,
): RunEnding {
  const outcome = seen === "infra_killed" && forgiven >= FORGIVEN_LIMIT ? "crashed" : seen;
  const base = {
    runId,
    outcome,
    ...(error !== undefined && { error }),
    detail: { ...detail, ...(failureKind !== undefined && { failure_kind: failureKind }) },
  };
  if (outcome === "rate_limited") return { ...base, retryAfterMs: policy.rateLimitCooldownMs };
  if (outcome === "infra_killed") return { ...base, retryAfterMs: INFRASTRUCTURE_COOLDOWN_MS };
  if (outcome === "stale" || outcome === "reclaimed") return base;
  const again = {
    retryAfterMs: retryDelayMs(failures + 1, random),
    secondChanceMs: policy.failureRetryMs,
  };
  if (terminal) return { ...base, ...again, terminal, sticky: true };
  if (outcome !== "protocol_violation") return { ...base, ...again, failureLimit: policy.failureLimit };
  const isLast = violations + 1 >= VIOLATION_LIMIT;
  return { ...base, ...again, failureLimit: isLast ? 1 : Number.MAX_SAFE_INTEGER, sticky: isLast };
}

/** Whether a run had a worker and was lost with its host or its supervisor; the same in `findOverdue`. */
export function isForgiven({
  outcome,
  ended_by: by,
  worker_pid: pid,
  error,
}: Pick<Run, "outcome" | "ended_by" | "worker_pid" | "error">): boolean {
  if (pid === null) return false;
  return outcome === "infra_killed" || (outcome === "reclaimed" && by === "system") || error === VANISHED;
}
