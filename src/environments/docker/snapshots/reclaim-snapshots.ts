import { join } from "node:path";
import { messageOf } from "../../../lib/errors.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import type { Engine } from "../engine/engine.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import type { ReclaimReport, ReclaimRow } from "../reclaim/reclaim.ts";
import { removeFolder } from "../recovery/operation.ts";
import { recoverOperations } from "../recovery/recover.ts";
import { replacedFolder } from "../restore/create-sandbox-from-seed.ts";
import { parseReplacedTime } from "../spec/sandbox-names.ts";
import { pruneImages, pruneSnapshots } from "./prune-snapshots.ts";

export interface SnapshotRules {
  /** 0 means never. */
  readonly ttlSeconds: number;
  readonly dryRun: boolean;
  readonly now: number;
}

/**
 * Cleans up after snapshots and forks of the profile: operations whose process has exited, unused images, and snapshots
 * and replaced folders that are too old. Reports its actions, but not the snapshots that it keeps. Throws only when the
 * signal is aborted.
 */
export async function reclaimSnapshots(
  engine: Engine,
  store: SandboxStore,
  { ttlSeconds, dryRun, now }: SnapshotRules,
  signal: AbortSignal,
): Promise<ReclaimReport> {
  const rows: ReclaimRow[] = [];
  const rules = { olderThanMs: ttlSeconds === 0 ? undefined : ttlSeconds * 1_000, dryRun, now };
  try {
    rows.push(...(await recoverOperations(engine, store, { dryRun, now }, signal)));
    rows.push(...(await pruneSnapshots(engine, store, rules, signal)));
    rows.push(...(await pruneImages(engine, store, rules, signal)));
    rows.push(...(await pruneReplacedFolders(store, rules)));
    return { rows: rows.filter(({ action }) => action !== "kept"), problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { rows, problem: messageOf(error) };
  }
}

async function pruneReplacedFolders(
  store: SandboxStore,
  { olderThanMs, dryRun, now }: { olderThanMs: number | undefined; dryRun: boolean; now: number },
): Promise<ReclaimRow[]> {
  const rows: ReclaimRow[] = [];
  for (const name of await listNames(replacedFolder(store))) {
    const since = parseReplacedTime(name);
    if (olderThanMs === undefined || since === undefined || now - since < olderThanMs) continue;
    const reason = `it was moved aside ${Math.round((now - since) / 1_000)} s ago`;
    const row = { id: name, name, profile: "", task: "", state: "folder" };
    const failure = dryRun
      ? undefined
      : await removeFolder(join(replacedFolder(store), name)).catch(messageOf);
    rows.push(
      failure === undefined
        ? { ...row, action: "removed", reason }
        : { ...row, action: "failed", reason: `${reason}, but it cannot be removed: ${failure}` },
    );
  }
  return rows;
}
