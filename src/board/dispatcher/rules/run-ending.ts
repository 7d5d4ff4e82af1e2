import type { RunEnding } from "../../operations/runs/end-run.ts";
import type { Run, RunOutcome } from "../../task.ts";
import type { DispatchPolicy } from "./resolve-dispatch-policy.ts";

/** The events that may have a failure kind, as SQL; the text must equal the condition of their partial index. */
export const FAILURE_EVENTS =
  "'crashed', 'timed_out', 'spawn_failed', 'protocol_violation', 'budget_exhausted'";
/** The cause of a worker's failure; stored in the payload of the event that ends the run. */
export type FailureKind = "infra" | "quota" | "auth" | "model" | "protocol" | "task" | "budget" | "cancelled";

/** How a worker that reported no result ended. */
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
  /** A retry cannot help, whatever number of attempts the task allows: only a person can make the task ready again. */
  readonly terminal?: boolean;
  readonly error?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface RunHistory {
  readonly runId: number;
  /** `consecutive_failures` of the task before this end. */
  readonly failures: number;
  /** How many of the task's last runs in a row were protocol violations; rate-limited runs are skipped. */
  readonly violations?: number;
  /** How many of the task's last runs in a row were forgiven, as `isForgiven` defines it. */
  readonly forgiven?: number;
}

/** The error of a run whose end no supervisor reported. Stored errors are compared with this text, so it must not change. */
export const VANISHED =
  "The supervisor of the run vanished with its worker; the work itself may have ended it.";
const VIOLATION_LIMIT = 3;
/** After this many forgiven runs in a row, the task itself may be the cause, and the next lost run counts as a crash. */
const FORGIVEN_LIMIT = 3;
export const INFRASTRUCTURE_COOLDOWN_MS = 60_000;
/** How long a route that its provider has refused is not tried again. */
export const AUTH_COOLDOWN_MS = 600_000;

/** How the store ends the run: whether the run counts as a failure, how long the task waits, and when it is given up. */
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
  const retry = {
    retryAfterMs: retryDelayMs(failures + 1, random),
    secondChanceMs: policy.failureRetryMs,
  };
  if (terminal) return { ...base, ...retry, terminal, sticky: true };
  if (outcome !== "protocol_violation") return { ...base, ...retry, failureLimit: policy.failureLimit };
  const isLast = violations + 1 >= VIOLATION_LIMIT;
  return { ...base, ...retry, failureLimit: isLast ? 1 : Number.MAX_SAFE_INTEGER, sticky: isLast };
}

/** Whether a run had a worker and was lost with its host or its supervisor; `findBookkeepingWork` has the same rule in SQL. */
export function isForgiven({
  outcome,
  ended_by: by,
  worker_pid: pid,
  error,
}: Pick<Run, "outcome" | "ended_by" | "worker_pid" | "error">): boolean {
  if (pid === null) return false;
  return outcome === "infra_killed" || (outcome === "reclaimed" && by === "system") || error === VANISHED;
}

const FIRST_RETRY_MS = 15_000;
const LONGEST_RETRY_MS = 3_600_000;

/** How long a task waits after its nth failure in a row: exponential backoff with jitter. */
function retryDelayMs(failures: number, random: () => number): number {
  const full = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(20, Math.max(0, failures - 1)));
  return Math.round(full / 2 + (full / 2) * random());
}
