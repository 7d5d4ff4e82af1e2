import { join } from "node:path";
import { messageOf } from "../../../lib/errors.ts";
import type { Engine } from "../engine.ts";
import { namesIn } from "../names-in.ts";
import type { ReclaimReport, ReclaimRow } from "../reclaim.ts";
import { asideSince } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { removeFolder } from "./operation.ts";
import { asideFolder } from "./plant-sandbox.ts";
import { pruneImages, pruneSnapshots } from "./prune-snapshots.ts";
import { recoverOperations } from "./recover.ts";

export interface SnapshotRules {
  /** 0 means never. */
  readonly ttlSeconds: number;
  readonly dryRun: boolean;
  readonly now: number;
}

/**
 * Removes what snapshots and forks of the profile left behind: what a process was making when it died, images that
 * nothing needs, and snapshots and folders moved aside that are too old. Tells what it did or would do, nothing of
 * what it keeps. Throws only when it is told to stop.
 */
export async function reclaimSnapshots(
  engine: Engine,
  place: SandboxPlace,
  { ttlSeconds, dryRun, now }: SnapshotRules,
  signal: AbortSignal,
): Promise<ReclaimReport> {
  const rows: ReclaimRow[] = [];
  const rules = { olderThanMs: ttlSeconds === 0 ? undefined : ttlSeconds * 1_000, dryRun, now };
  try {
    rows.push(...(await recoverOperations(engine, place, { dryRun, now }, signal)));
    rows.push(...(await pruneSnapshots(engine, place, rules, signal)));
    rows.push(...(await pruneImages(engine, place, rules, signal)));
    rows.push(...(await pruneAside(place, rules)));
    return { rows: rows.filter(({ action }) => action !== "kept"), problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { rows, problem: messageOf(error) };
  }
}

async function pruneAside(
  place: SandboxPlace,
  { olderThanMs, dryRun, now }: { olderThanMs: number | undefined; dryRun: boolean; now: number },
): Promise<ReclaimRow[]> {
  const rows: ReclaimRow[] = [];
  for (const name of await namesIn(asideFolder(place))) {
    const since = asideSince(name);
    if (olderThanMs === undefined || since === undefined || now - since < olderThanMs) continue;
    const reason = `it was moved aside ${Math.round((now - since) / 1_000)} s ago`;
    const row = { id: name, name, profile: "", task: "", state: "folder" };
    const failure = dryRun ? undefined : await removeFolder(join(asideFolder(place), name)).catch(messageOf);
    rows.push(
      failure === undefined
        ? { ...row, action: "removed", reason }
        : { ...row, action: "failed", reason: `${reason}, but it cannot be removed: ${failure}` },
    );
  }
  return rows;
}
