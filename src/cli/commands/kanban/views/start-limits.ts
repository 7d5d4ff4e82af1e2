import { policyOf } from "../../../../app/dispatch-policy.ts";
import {
  type DispatchPolicy,
  profileCap,
} from "../../../../board/dispatcher/rules/resolve-dispatch-policy.ts";
import { readHostFacts } from "../../../../lib/process/host-facts.ts";
import type { OpenBoardContext } from "../kanban-context.ts";
import { profileNames } from "../verb.ts";

/** What a dispatcher of this home checks before it starts a task, besides the task itself. */
export interface StartLimits {
  readonly profiles: readonly string[];
  readonly policy: DispatchPolicy;
  readonly hostId: string;
}

export async function loadStartLimits(open: OpenBoardContext): Promise<StartLimits> {
  const { hostId } = await readHostFacts(open.signal);
  return { profiles: await profileNames(open), policy: policyOf(open.app), hostId };
}

/**
 * Why no dispatcher of this home starts a ready task of this profile now, in a few words; empty if it may start. Tasks of other
 * boards are not counted: `kanban why` counts them, too.
 */
export function reachedLimit(
  profile: string,
  { profiles, policy, hostId }: StartLimits,
  running: ReadonlyMap<string, number>,
): string {
  const countOf = (counter: string): number => running.get(counter) ?? 0;
  if (policy.profiles !== undefined && !policy.profiles.includes(profile)) return "not dispatched here";
  if (!profiles.includes(profile)) return "no such profile here";
  if (countOf("running") >= (policy.maxSpawn ?? Number.POSITIVE_INFINITY)) return "board is at its cap";
  if (countOf(`running/host/${hostId}`) >= (policy.maxInProgress ?? Number.POSITIVE_INFINITY))
    return "host is at its cap";
  return countOf(`running/profile/${profile}`) >= profileCap(policy, profile) ? "profile is at its cap" : "";
}
