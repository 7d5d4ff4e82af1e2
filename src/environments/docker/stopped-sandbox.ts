import { livenessOf, parseIdentity } from "../../lib/process-identity.ts";
import type { TerminalOptions } from "../options.ts";
import type { Container } from "./container.ts";
import { LABEL } from "./labels.ts";
import { loadRecords, type SandboxPlace } from "./sandbox-record.ts";

/**
 * A record names the container as the sandbox of a task, none does, its profile's records are not known here, or the one
 * process that it was made for is dead.
 */
export type Standing = "named" | "orphan" | "unknown" | "left";

export interface KeepRules {
  readonly lifetimeSeconds: number;
  /** 0 means never. */
  readonly stoppedTtlSeconds: number;
}

/** The rules of the settings. */
export function keepRules(
  options: Pick<TerminalOptions, "lifetime_seconds" | "docker_stopped_ttl_seconds">,
): KeepRules {
  const { lifetime_seconds: lifetimeSeconds, docker_stopped_ttl_seconds: stoppedTtlSeconds } = options;
  return { lifetimeSeconds, stoppedTtlSeconds };
}

const SHORTEST_LIFETIME_SECONDS = 60;

/** How old an ended container must be that no record names. */
export function orphanMaxAgeMs(lifetimeSeconds: number): number {
  return 2 * Math.max(SHORTEST_LIFETIME_SECONDS, lifetimeSeconds) * 1_000;
}

/** Says how each container stands to the profiles that are known here. */
export async function loadStandings(
  places: readonly SandboxPlace[],
): Promise<(container: Pick<Container, "id" | "labels">, signal: AbortSignal) => Promise<Standing>> {
  const named = new Set((await Promise.all(places.map(loadRecords))).flat().map(({ id }) => id));
  const known = new Set(places.map(({ profileId }) => profileId));
  return async ({ id, labels }, signal) => {
    if (named.has(id)) return "named";
    if (!known.has(labels[LABEL.profileId] ?? "")) return "unknown";
    const owner = parseIdentity(labels[LABEL.owner] ?? "");
    const isLeft = owner !== undefined && (await livenessOf(owner, signal)) === "dead";
    return isLeft ? "left" : "orphan";
  };
}

/** Since when a container does not run, or undefined when it runs or nobody knows. */
export function stoppedSince({
  state,
  createdAt,
  startedAt,
  finishedAt,
}: Pick<Container, "state" | "createdAt" | "startedAt" | "finishedAt">): number | undefined {
  if (state === "created") return createdAt;
  if (state !== "exited" && state !== "dead" && state !== "removing") return undefined;
  // An end before the last start is that of an earlier life: the machine went down, and nobody saw when.
  if (finishedAt === undefined || finishedAt < (startedAt ?? 0)) return undefined;
  return finishedAt;
}

/** Until when a container that does not run is kept; undefined when there is no such moment. */
export function keptUntil(
  container: Parameters<typeof stoppedSince>[0],
  standing: Standing,
  { lifetimeSeconds, stoppedTtlSeconds }: KeepRules,
): number | undefined {
  const since = stoppedSince(container);
  if (since === undefined || standing === "left") return since;
  if (standing === "orphan") return since + orphanMaxAgeMs(lifetimeSeconds);
  return stoppedTtlSeconds === 0 ? undefined : since + stoppedTtlSeconds * 1_000;
}

/** A moment as people read it. */
export function showMoment(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
