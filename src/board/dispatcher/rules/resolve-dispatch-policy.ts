import type { z } from "zod";
import type { ChildLimits } from "../../caller.ts";
import type { kanbanOptions } from "../../options.ts";

export interface HostMemory {
  readonly platform: string;
  readonly totalMemoryBytes: number;
}

/** The rules by which tasks are dispatched; the same for every entry point. */
export interface DispatchPolicy {
  readonly intervalMs: number;
  /** Cap on the running tasks of the board. */
  readonly maxSpawn: number | undefined;
  /** Cap on the running tasks of this host over all boards. */
  readonly maxInProgress: number | undefined;
  readonly perProfile: number | Readonly<Record<string, number>> | undefined;
  readonly failureLimit: number;
  readonly failureRetryMs: number;
  readonly defaultAssignee: string | undefined;
  /** Undefined means all profiles. */
  readonly profiles: readonly string[] | undefined;
  /** 0 means that no run counts as stale. */
  readonly staleMs: number;
  readonly reconcileOrphans: boolean;
  readonly crashGraceMs: number;
  readonly rateLimitCooldownMs: number;
  /** For the runs that this dispatcher starts. */
  readonly childLimits: ChildLimits;
}

const MEMORY_OF_A_WORKER = 512 * 1_024 * 1_024;
const FEWEST_WORKERS = 2;
const MOST_WORKERS = 8;

/** Resolves the settings to the rules for this host. */
export function resolveDispatchPolicy(
  settings: z.output<typeof kanbanOptions>,
  host: HostMemory,
): DispatchPolicy {
  const { max_in_progress_per_profile: perProfile, dispatch_profiles: profiles } = settings;
  return {
    intervalMs: settings.dispatch_interval_seconds * 1_000,
    maxSpawn: settings.max_spawn ?? undefined,
    maxInProgress: settings.max_in_progress ?? memoryCap(host),
    perProfile:
      typeof perProfile === "number" || perProfile === null
        ? (perProfile ?? undefined)
        : Object.fromEntries(Object.entries(perProfile).map(([name, cap]) => [toName(name), cap])),
    failureLimit: settings.failure_limit,
    failureRetryMs: settings.failure_retry_seconds * 1_000,
    defaultAssignee: toName(settings.default_assignee) || undefined,
    profiles: profiles?.map(toName),
    staleMs: settings.dispatch_stale_timeout_seconds * 1_000,
    reconcileOrphans: settings.reconcile_orphans,
    crashGraceMs: settings.crash_grace_seconds * 1_000,
    rateLimitCooldownMs: settings.rate_limit_cooldown_seconds * 1_000,
    childLimits: { maxChildren: settings.max_children_per_task, maxDepth: settings.max_depth },
  };
}

/** Profiles are compared trimmed and lower-cased, like assignees. */
const toName = (text: string): string => text.trim().toLowerCase();

function memoryCap({ platform, totalMemoryBytes }: HostMemory): number | undefined {
  if (platform !== "linux") return undefined;
  const fitting = Math.floor(totalMemoryBytes / MEMORY_OF_A_WORKER);
  return Math.min(MOST_WORKERS, Math.max(FEWEST_WORKERS, fitting));
}

/** How many tasks of this profile may run at once; 0 means no cap. */
export function profileCap({ perProfile }: DispatchPolicy, profile: string): number {
  return (typeof perProfile === "object" ? perProfile[profile] : perProfile) || Infinity;
}
