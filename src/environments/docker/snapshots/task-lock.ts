import { join } from "node:path";
import { withFileLock } from "../../../lib/file-lock.ts";
import { ensurePrivateFolder } from "../../../lib/files.ts";
import { sandboxKey } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { snapshotsFolder } from "./snapshot-store.ts";

const WAIT_MS = 10 * 60_000;

/** Only one process at a time replaces the sandbox of a task, gives it one from a seed, or recovers what a dead one left. */
export async function withTaskLock<Result>(
  place: SandboxPlace,
  task: string,
  signal: AbortSignal,
  action: () => Promise<Result>,
  deadlineMs = WAIT_MS,
): Promise<Result> {
  await ensurePrivateFolder(snapshotsFolder(place));
  const path = join(snapshotsFolder(place), `${sandboxKey(place.profileId, task)}.lock`);
  return withFileLock({ path, deadlineMs }, action, signal);
}
