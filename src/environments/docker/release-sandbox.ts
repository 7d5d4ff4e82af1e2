import type { Reporter } from "../environment-request.ts";
import type { Engine } from "./engine.ts";
import { recordPendingRemoval } from "./pending-removals.ts";
import { type Removal, removeSandbox } from "./remove-sandbox.ts";
import { forgetSandbox } from "./sandbox-record.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

const REMOVAL_MS = 65_000; // longer than stop and remove may take together
const RECORD_MS = 5_000;

export type Release = Removal | { readonly outcome: "kept" };

export interface ReleaseOptions {
  /** Remove it although the settings say to keep it. */
  readonly force: boolean;
  readonly sandboxesFolder: string;
  readonly now: number;
}

/**
 * Lets go of a sandbox: kept in persist mode, removed otherwise or by force. What cannot be removed is written down for
 * the next process. Has its own deadline, because it runs when everything else has been told to stop.
 */
export async function releaseSandbox(
  engine: Engine,
  id: string | undefined,
  spec: Pick<SandboxSpec, "persistAcrossProcesses" | "profileId">,
  { force, sandboxesFolder, now }: ReleaseOptions,
  reporter: Reporter,
): Promise<Release> {
  if (id === undefined) return { outcome: "already-gone" };
  if (spec.persistAcrossProcesses && !force) return { outcome: "kept" };
  const removal = await withinTime(engine, id);
  if (removal.outcome !== "failed") await forgetSandbox({ sandboxesFolder }, id);
  if (removal.outcome === "failed") {
    const entry = { id, profileId: spec.profileId, now };
    await recordPendingRemoval(sandboxesFolder, engine, entry, AbortSignal.timeout(RECORD_MS));
    reporter.onNotice(
      `The sandbox ${id.slice(0, 12)} could not be removed, which will be tried again: ${removal.reason}`,
    );
  }
  return removal;
}

async function withinTime(engine: Engine, id: string): Promise<Removal> {
  const signal = AbortSignal.timeout(REMOVAL_MS);
  try {
    return await removeSandbox(engine, id, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return { outcome: "failed", reason: "the engine took too long" };
  }
}
