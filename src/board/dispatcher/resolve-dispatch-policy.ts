/** The settings of section `kanban` that a dispatcher reads, as they are written: nothing is taken for granted. */
export type DispatchSettings = { readonly [Key in DispatchKey]?: unknown };
type DispatchKey =
  | "dispatch_interval_seconds"
  | "dispatch_profiles"
  | "dispatch_stale_timeout_seconds"
  | "max_spawn"
  | "max_in_progress"
  | "max_in_progress_per_profile"
  | "failure_limit"
  | "failure_retry_seconds"
  | "default_assignee"
  | "reconcile_orphans"
  | "crash_grace_seconds"
  | "rate_limit_cooldown_seconds";

export interface HostMemory {
  readonly platform: string;
  readonly totalMemoryBytes: number;
}

/** By which rules tasks are dispatched; the same for every entry point. */
export interface DispatchPolicy {
  readonly intervalMs: number;
  /** Running tasks of the board. */
  readonly maxSpawn: number | undefined;
  /** Running tasks of this host, over all boards. */
  readonly maxInProgress: number | undefined;
  readonly perProfile: number | Readonly<Record<string, number>> | undefined;
  readonly failureLimit: number;
  readonly failureRetryMs: number;
  readonly defaultAssignee: string | undefined;
  /** Undefined means all. */
  readonly profiles: readonly string[] | undefined;
  /** 0 means never. */
  readonly staleMs: number;
  readonly reconcileOrphans: boolean;
  readonly crashGraceMs: number;
  readonly rateLimitCooldownMs: number;
  /** What was not as it should be, for people. */
  readonly warnings: readonly string[];
}

const MEMORY_OF_A_WORKER = 512 * 1_024 * 1_024;
const FEWEST_WORKERS = 2;
const MOST_WORKERS = 8;

/** The rules that these settings mean on this host. A value that makes no sense is replaced by the safest one. */
export function resolveDispatchPolicy(settings: DispatchSettings, host: HostMemory): DispatchPolicy {
  const warnings: string[] = [];
  const warn = (key: DispatchKey, value: unknown, instead: string): void => {
    warnings.push(
      `kanban.${key} is ${JSON.stringify(value) ?? String(value)}, which makes no sense: ${instead}`,
    );
  };
  const cap = (key: DispatchKey): number | undefined => {
    const value = settings[key] ?? undefined;
    if (value === undefined || isPositive(value)) return value;
    warn(key, value, "taken as unset.");
    return undefined;
  };
  const seconds = (key: DispatchKey, otherwise: number): number => {
    const value = settings[key] ?? otherwise;
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value * 1_000;
    warn(key, value, `taken as ${otherwise}.`);
    return otherwise * 1_000;
  };
  const failureLimit = settings.failure_limit ?? 2;
  if (!isPositive(failureLimit)) warn("failure_limit", failureLimit, "taken as 2.");
  return {
    intervalMs: Math.max(1_000, seconds("dispatch_interval_seconds", 60) || 60_000),
    maxSpawn: cap("max_spawn"),
    maxInProgress: cap("max_in_progress") ?? memoryCap(host),
    perProfile: perProfileOf(settings.max_in_progress_per_profile),
    failureLimit: isPositive(failureLimit) ? failureLimit : 2,
    failureRetryMs: seconds("failure_retry_seconds", 86_400),
    defaultAssignee: nameOf(settings.default_assignee),
    profiles: profilesOf(settings.dispatch_profiles),
    staleMs: seconds("dispatch_stale_timeout_seconds", 14_400),
    reconcileOrphans: settings.reconcile_orphans !== false,
    crashGraceMs: seconds("crash_grace_seconds", 30),
    rateLimitCooldownMs: seconds("rate_limit_cooldown_seconds", 300),
    warnings,
  };
}

function isPositive(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

function memoryCap({ platform, totalMemoryBytes }: HostMemory): number | undefined {
  if (platform !== "linux") return undefined;
  const fitting = Math.floor(totalMemoryBytes / MEMORY_OF_A_WORKER);
  return Math.min(MOST_WORKERS, Math.max(FEWEST_WORKERS, fitting));
}

/** Whatever is no positive number caps nothing. */
function perProfileOf(value: unknown): DispatchPolicy["perProfile"] {
  if (isPositive(value)) return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value).flatMap(([name, cap]): [string, number][] => {
    return isPositive(cap) ? [[name.trim().toLowerCase(), cap]] : [];
  });
  return Object.fromEntries(entries);
}

/** Absent means all profiles; what is there but unreadable means none, which is the safe side. */
function profilesOf(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return [];
  return value.flatMap((name) => nameOf(name) ?? []);
}

function nameOf(value: unknown): string | undefined {
  const name = typeof value === "string" ? value.trim().toLowerCase() : "";
  return name === "" ? undefined : name;
}

/** How many tasks of this profile may run at once. */
export function profileCap({ perProfile }: DispatchPolicy, profile: string): number {
  const cap = typeof perProfile === "object" ? perProfile[profile] : perProfile;
  return cap ?? Number.POSITIVE_INFINITY;
}
