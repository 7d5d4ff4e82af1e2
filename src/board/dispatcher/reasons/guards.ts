import type { DispatchPolicy } from "../rules/resolve-dispatch-policy.ts";
import { AUTH_COOLDOWN_MS, INFRASTRUCTURE_COOLDOWN_MS } from "../rules/run-ending.ts";
import type { EligibleTask, EligibleTasks, RouteFailure } from "../transactions/list-eligible.ts";

/** Why a ready task is not started yet, in the order in which the guards are checked. */
export const GUARDS = {
  worker_leaving: "the worker of an ended run may still be alive in its folder",
  branch_busy: "its branch is checked out somewhere else",
  infrastructure_cooldown: "the last attempt failed because of the host",
  rate_limit_cooldown: "the rate limit of the model and key that it uses is reached",
  blocker_auth: "the provider has just refused the model or the key that it uses",
  backoff: "it pauses after a failure",
  recent_success: "it was completed less than an hour ago and has not been reopened",
  active_pr: "its pull request is open and it has not been handed back",
} as const;
export type GuardReason = keyof typeof GUARDS;

/** Short reasons why a ready task does not start yet, printed after the time of their end. */
export const GUARD_WORDS: Readonly<Record<Exclude<GuardReason, "branch_busy">, string>> = {
  worker_leaving: "its last worker is exiting",
  infrastructure_cooldown: "its host had a failure",
  rate_limit_cooldown: "rate limit of its model",
  blocker_auth: "its model or key was refused",
  backoff: "pause after a failure",
  recent_success: "it was just completed",
  active_pr: "its pull request is open",
};

export interface Guard {
  readonly reason: GuardReason;
  /** When the guard ends by itself. */
  readonly until: number;
  /** The number of the other task that caused the guard. Reports print it under this name. */
  readonly met_by?: number;
}

const SUCCESS_GUARD_MS = 3_600_000;
const PULL_REQUEST_GUARD_MS = 86_400_000;

/** The guard that keeps a ready task from starting now, decided from typed facts alone; each guard has an end. */
export function guardOf(
  task: EligibleTask,
  eligible: Pick<
    EligibleTasks,
    "now" | "waitingForLeaving" | "failureKinds" | "limitedRoutes" | "refusedRoutes"
  >,
  policy: Pick<DispatchPolicy, "rateLimitCooldownMs">,
  route: string,
): Guard | undefined {
  const { now } = eligible;
  const { outcome } = task;
  const paused = task.not_before ?? 0;
  // Events from before an operator lifted the guards no longer count.
  const endedAt = (task.ended_at ?? 0) > (task.lifted_at ?? -1) ? task.ended_at : null;
  const limited = eligible.limitedRoutes.get(route);
  const refused = eligible.refusedRoutes.get(route);
  const kind = task.run_id === null ? undefined : eligible.failureKinds.get(task.run_id);
  const endsAfter = (applies: boolean, ms: number): number =>
    applies && endedAt !== null ? endedAt + ms : 0;
  const afterFailure = (failure: RouteFailure | undefined, ms: number): number =>
    failure !== undefined && failure.at > (task.lifted_at ?? -1) ? failure.at + ms : 0;
  const untouched = endedAt !== null && (task.ready_at ?? 0) <= endedAt; // the task was not made ready again since
  const ends: Readonly<Record<Exclude<GuardReason, "branch_busy">, number>> = {
    worker_leaving: eligible.waitingForLeaving.get(task.id) ?? 0, // no operator can lift this guard
    infrastructure_cooldown:
      outcome === "infra_killed" ? Math.max(paused, endsAfter(true, INFRASTRUCTURE_COOLDOWN_MS)) : 0,
    rate_limit_cooldown: Math.max(
      outcome === "rate_limited" ? paused : 0,
      endsAfter(outcome === "rate_limited", policy.rateLimitCooldownMs),
      afterFailure(limited, policy.rateLimitCooldownMs),
    ),
    blocker_auth: Math.max(
      // A task that was given up is ready again only because a person retried it.
      endsAfter((kind === "auth" || kind === "quota") && outcome !== "gave_up", AUTH_COOLDOWN_MS),
      afterFailure(refused, AUTH_COOLDOWN_MS),
    ),
    backoff: paused,
    recent_success: endsAfter(outcome === "completed" && untouched, SUCCESS_GUARD_MS),
    active_pr: endsAfter(untouched && declaresPullRequest(task.metadata), PULL_REQUEST_GUARD_MS),
  };
  for (const reason of Object.keys(ends) as (keyof typeof ends)[]) {
    const until = ends[reason];
    if (until <= now) continue;
    const failure = { rate_limit_cooldown: limited, blocker_auth: refused }[reason as string];
    return {
      reason,
      until,
      ...(failure !== undefined && failure.seq !== task.seq && { met_by: failure.seq }),
    };
  }
  return undefined;
}

/** Whether the metadata of the run has a `pull_request`. */
function declaresPullRequest(metadata: string | null): boolean {
  if (metadata === null) return false;
  const value = JSON.parse(metadata) as { pull_request?: unknown } | null;
  return typeof value?.pull_request === "string" && value.pull_request !== "";
}
