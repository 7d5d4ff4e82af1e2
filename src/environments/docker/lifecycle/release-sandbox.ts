import type { Reporter } from "../../environment-request.ts";
import type { Engine } from "../engine/engine.ts";
import { recordPendingRemoval } from "../reclaim/pending-removals.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { type Removal, removeSandbox } from "./remove-sandbox.ts";
import { deleteSandboxRecord } from "./sandbox-record.ts";

const REMOVAL_MS = 65_000; // longer than the timeouts of stop and remove together
const RECORD_MS = 5_000;

export type Release = Removal | { readonly outcome: "kept" };

/**
 * Releases a sandbox: keeps it in persist mode, removes it otherwise or with `force`. A removal that fails is recorded for
 * the next process. Has its own deadline instead of a signal, because it runs after the caller's signal is aborted.
 */
export async function releaseSandbox(
  engine: Engine,
  id: string | undefined,
  spec: Pick<SandboxSpec, "persistAcrossProcesses" | "profileId" | "sandboxesFolder">,
  force: boolean,
  reporter: Reporter,
): Promise<Release> {
  if (id === undefined) return { outcome: "already-gone" };
  if (spec.persistAcrossProcesses && !force) return { outcome: "kept" };
  const removal = await removeWithDeadline(engine, id);
  if (removal.outcome !== "failed") await deleteSandboxRecord(spec, id);
  else {
    const entry = { id, profileId: spec.profileId, now: Date.now() };
    await recordPendingRemoval(spec.sandboxesFolder, engine, entry, AbortSignal.timeout(RECORD_MS));
    reporter.onNotice(
      `Cannot remove the sandbox ${id.slice(0, 12)}; the next process will try again: ${removal.reason}`,
    );
  }
  return removal;
}

async function removeWithDeadline(engine: Engine, id: string): Promise<Removal> {
  const signal = AbortSignal.timeout(REMOVAL_MS);
  try {
    return await removeSandbox(engine, id, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return { outcome: "failed", reason: "the engine took too long" };
  }
}
