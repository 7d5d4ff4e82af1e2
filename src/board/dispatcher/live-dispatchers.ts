import { checkLiveness, parseIdentity } from "../../lib/process/process-identity.ts";
import { all, type Steps } from "../database/steps.ts";

const RECENT_MS = 600_000; // ten times the usual pause between two passes

/** The process identities of the dispatchers that have recently made a pass over this board. */
export function* recentDispatchers(): Steps<readonly string[]> {
  const rows = yield* all<{ owner: string }>(
    `select owner from dispatcher where last_tick_at > hermes_now() - ${RECENT_MS}`,
  );
  return rows.map(({ owner }) => owner);
}

/** Whether a dispatcher may be alive. A process of another host cannot be inspected and counts while its row is recent. */
export async function isAnyAlive(owners: readonly string[], signal: AbortSignal): Promise<boolean> {
  for (const owner of owners) if (!(await hasExited(owner, signal))) return true;
  return false;
}

/** Whether the process of a dispatcher has provably exited. */
export async function hasExited(owner: string, signal: AbortSignal): Promise<boolean> {
  const identity = parseIdentity(owner);
  return identity !== undefined && (await checkLiveness(identity, signal)) === "dead";
}
