import type { Eligible, EligibleTask, Wall } from "./operations/list-eligible.ts";
import type { DispatchPolicy } from "./resolve-dispatch-policy.ts";
import { AUTH_COOLDOWN_MS, INFRASTRUCTURE_COOLDOWN_MS } from "./run-ending.ts";

/** Why a ready task is not tried again yet, in the order in which they are looked at. */
export const GUARDS = {
  worker_leaving: "a worker whose run is over may still be in its folder, and nobody has seen it end",
  branch_busy: "its branch is checked out somewhere else",
  infrastructure_cooldown: "the last attempt failed because of the host",
  rate_limit_cooldown: "the limit of the model and key that it uses is reached",
  blocker_auth: "the provider has just refused the model or the key that it uses",
  backoff: "it pauses after a failure",
  recent_success: "it was completed a short while ago and nobody has asked for it again",
  active_pr: "its pull request is open and nobody has handed it back",
} as const;
export type GuardReason = keyof typeof GUARDS;

export interface Guard {
  readonly reason: GuardReason;
  /** When it lifts by itself. */
  readonly until: number;
  /** The number of the other task whose worker met what keeps this one back. */
  readonly met_by?: number;
}

const SUCCESS_GUARD_MS = 3_600_000;
const PULL_REQUEST_GUARD_MS = 86_400_000;

/** The guard that keeps a ready task from starting now, from typed facts alone; each has an end. */
export function guardOf(
  task: EligibleTask,
  eligible: Pick<Eligible, "now" | "taken" | "failureKinds" | "limitedRoutes" | "refusedRoutes">,
  policy: Pick<DispatchPolicy, "rateLimitCooldownMs">,
  route: string,
): Guard | undefined {
  const { now } = eligible;
  const { outcome } = task;
  const paused = task.not_before ?? 0;
  // What happened before an operator lifted the guards no longer counts.
  const endedAt = (task.ended_at ?? 0) > (task.lifted_at ?? -1) ? task.ended_at : null;
  const limited = eligible.limitedRoutes.get(route);
  const refused = eligible.refusedRoutes.get(route);
  const kind = task.run_id === null ? undefined : eligible.failureKinds.get(task.run_id);
  const after = (applies: boolean, ms: number): number => (applies && endedAt !== null ? endedAt + ms : 0);
  const behind = (wall: Wall | undefined, ms: number): number =>
    wall !== undefined && wall.at > (task.lifted_at ?? -1) ? wall.at + ms : 0;
  const untouched = endedAt !== null && (task.ready_at ?? 0) <= endedAt; // nothing has made it ready since
  const ends: Readonly<Record<Exclude<GuardReason, "branch_busy">, number>> = {
    worker_leaving: eligible.taken.get(task.id) ?? 0, // no operator can lift this one
    infrastructure_cooldown:
      outcome === "infra_killed" ? Math.max(paused, after(true, INFRASTRUCTURE_COOLDOWN_MS)) : 0,
    rate_limit_cooldown: Math.max(
      outcome === "rate_limited" ? paused : 0,
      after(outcome === "rate_limited", policy.rateLimitCooldownMs),
      behind(limited, policy.rateLimitCooldownMs),
    ),
    blocker_auth: Math.max(
      // One that was given up is ready again because someone wants it to be.
      after((kind === "auth" || kind === "quota") && outcome !== "gave_up", AUTH_COOLDOWN_MS),
      behind(refused, AUTH_COOLDOWN_MS),
    ),
    backoff: paused,
    recent_success: after(outcome === "completed" && untouched, SUCCESS_GUARD_MS),
    active_pr: after(untouched && declaresPullRequest(task.metadata), PULL_REQUEST_GUARD_MS),
  };
  for (const reason of Object.keys(ends) as (keyof typeof ends)[]) {
    const until = ends[reason];
    if (until <= now) continue;
    const wall = { rate_limit_cooldown: limited, blocker_auth: refused }[reason as string];
    return { reason, until, ...(wall !== undefined && wall.seq !== task.seq && { met_by: wall.seq }) };
  }
  return undefined;
}

/** `pull_request` in what the run handed over. */
function declaresPullRequest(metadata: string | null): boolean {
  if (metadata === null) return false;
  const value = JSON.parse(metadata) as { pull_request?: unknown } | null;
  return typeof value?.pull_request === "string" && value.pull_request !== "";
}
