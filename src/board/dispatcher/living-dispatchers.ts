import { livenessOf, parseIdentity } from "../../lib/process-identity.ts";
import { all, type Steps } from "../database/steps.ts";

const RECENT_MS = 600_000; // ten times the usual pause between two passes

/** Who has looked at this board lately, as identities of processes. */
export function* recentDispatchers(): Steps<readonly string[]> {
  const rows = yield* all<{ owner: string }>(
    `select owner from dispatcher where last_tick_at > hermes_now() - ${RECENT_MS}`,
  );
  return rows.map(({ owner }) => owner);
}

/** Whether one of them may still run. A process of another host cannot be looked at, and counts while its row is new. */
export async function isAnyAlive(owners: readonly string[], signal: AbortSignal): Promise<boolean> {
  for (const owner of owners) if (!(await hasEnded(owner, signal))) return true;
  return false;
}

/** Whether the process of a dispatcher has provably ended. */
export async function hasEnded(owner: string, signal: AbortSignal): Promise<boolean> {
  const identity = parseIdentity(owner);
  return identity !== undefined && (await livenessOf(identity, signal)) === "dead";
}
