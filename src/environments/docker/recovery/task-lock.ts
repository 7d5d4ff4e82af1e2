import { join } from "node:path";
import { withFileLock } from "../../../lib/files/file-lock.ts";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import { snapshotsFolder } from "../snapshots/snapshot-store.ts";
import { sandboxKey } from "../spec/sandbox-names.ts";

const WAIT_MS = 10 * 60_000;

function lockOf(suffix: string) {
  return async <Result>(
    store: SandboxStore,
    task: string,
    signal: AbortSignal,
    action: () => Promise<Result>,
    deadlineMs = WAIT_MS,
  ): Promise<Result> => {
    await ensurePrivateFolder(snapshotsFolder(store));
    const path = join(snapshotsFolder(store), `${sandboxKey(store.profileId, task)}.${suffix}`);
    return withFileLock({ path, deadlineMs }, action, signal);
  };
}

/** Lets only one process at a time replace, fork, restore or recover the sandbox of a task. */
export const withTaskLock = lockOf("lock");

/**
 * Lets only one process at a time find and capture a sandbox. A second process would find the sandbox paused and
 * unpause it during the capture.
 */
export const withCaptureLock = lockOf("capture.lock");

/** Lets only one process of a profile at a time give a name to a snapshot. */
export async function withSnapshotNames<Result>(
  store: SandboxStore,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return withFileLock(join(snapshotsFolder(store), "names.lock"), action, signal);
}
