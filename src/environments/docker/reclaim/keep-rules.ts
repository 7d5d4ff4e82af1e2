import { checkLiveness, parseIdentity } from "../../../lib/process/process-identity.ts";
import type { TerminalOptions } from "../../options.ts";
import type { Container } from "../lifecycle/container.ts";
import { loadRecords, type SandboxStore } from "../lifecycle/sandbox-record.ts";
import { LABEL } from "../spec/labels.ts";

/**
 * What the records say about a container. `named`: a record names it as the sandbox of a task. `orphan`: no record names
 * it. `unknown`: the records of its profile cannot be read. `abandoned`: its only owner process has exited.
 */
export type RecordStatus = "named" | "orphan" | "unknown" | "abandoned";

/** How long stopped containers are kept. */
export interface KeepRules {
  readonly lifetimeSeconds: number;
  /** 0 means never. */
  readonly stoppedTtlSeconds: number;
}

export function keepRules(
  options: Pick<TerminalOptions, "lifetime_seconds" | "docker_stopped_ttl_seconds">,
): KeepRules {
  const { lifetime_seconds: lifetimeSeconds, docker_stopped_ttl_seconds: stoppedTtlSeconds } = options;
  return { lifetimeSeconds, stoppedTtlSeconds };
}

const MIN_LIFETIME_SECONDS = 60;

/** How long a stopped container without a record is kept. */
export function orphanMaxAgeMs(lifetimeSeconds: number): number {
  return 2 * Math.max(MIN_LIFETIME_SECONDS, lifetimeSeconds) * 1_000;
}

/** Loads the records of the profiles, and returns a function that finds the status of a container in them. */
export async function loadRecordStatuses(
  stores: readonly SandboxStore[],
): Promise<(container: Pick<Container, "id" | "labels">, signal: AbortSignal) => Promise<RecordStatus>> {
  const named = new Set((await Promise.all(stores.map(loadRecords))).flat().map(({ id }) => id));
  const known = new Set(stores.map(({ profileId }) => profileId));
  return async ({ id, labels }, signal) => {
    if (named.has(id)) return "named";
    if (!known.has(labels[LABEL.profileId] ?? "")) return "unknown";
    const owner = parseIdentity(labels[LABEL.owner] ?? "");
    const hasOwnerExited = owner !== undefined && (await checkLiveness(owner, signal)) === "dead";
    return hasOwnerExited ? "abandoned" : "orphan";
  };
}

/** The time when a container stopped; undefined when it runs or the time is unknown. */
export function stoppedSince({
  state,
  createdAt,
  startedAt,
  finishedAt,
}: Pick<Container, "state" | "createdAt" | "startedAt" | "finishedAt">): number | undefined {
  if (state === "created") return createdAt;
  if (state !== "exited" && state !== "dead" && state !== "removing") return undefined;
  // An end before the last start belongs to an earlier run: the machine crashed at an unknown time after the last start.
  if (finishedAt === undefined || finishedAt < (startedAt ?? 0)) return undefined;
  return finishedAt;
}

/** The time until which a stopped container is kept; undefined when it is kept forever or the time is unknown. */
export function keptUntil(
  container: Parameters<typeof stoppedSince>[0],
  recordStatus: RecordStatus,
  { lifetimeSeconds, stoppedTtlSeconds }: KeepRules,
): number | undefined {
  const since = stoppedSince(container);
  if (since === undefined || recordStatus === "abandoned") return since;
  if (recordStatus === "orphan") return since + orphanMaxAgeMs(lifetimeSeconds);
  return stoppedTtlSeconds === 0 ? undefined : since + stoppedTtlSeconds * 1_000;
}

/** Formats a timestamp for users, to the minute and in UTC. */
export function formatMinute(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
