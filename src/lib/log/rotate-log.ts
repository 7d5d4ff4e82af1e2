import { renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "../file-lock.ts";
import { type LogName, logPath } from "./log-path.ts";

export interface LogLimits {
  readonly maxSizeBytes: number;
  /** How many generations are kept beside the one being written. */
  readonly backupCount: number;
}

const LOCK_DEADLINE_MS = 2_000;

/** Moves a log that has grown too large one generation back; of several processes that want to, one does. */
export async function rotateLog(
  folder: string,
  log: LogName,
  { maxSizeBytes, backupCount }: LogLimits,
  signal: AbortSignal,
): Promise<void> {
  const path = (generation: number) => logPath(folder, log, generation);
  const sizeOf = (generation: number) => statSync(path(generation), { throwIfNoEntry: false })?.size;
  const rotate = () => {
    if ((sizeOf(0) ?? 0) < maxSizeBytes) return; // somebody else was first
    // Only up to the first gap, which a process that died in here may have left: what is behind it can stay.
    let last = 1;
    while (last < backupCount && sizeOf(last) !== undefined) last += 1;
    for (let generation = last; generation >= 1; generation--) {
      if (backupCount > 0) renameSync(path(generation - 1), path(generation));
      else rmSync(path(0));
    }
    for (let surplus = backupCount + 1; sizeOf(surplus) !== undefined; surplus++) rmSync(path(surplus));
  };
  await withFileLock({ path: join(folder, ".rotate.lock"), deadlineMs: LOCK_DEADLINE_MS }, rotate, signal);
}
