import { renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "../files/file-lock.ts";
import { type LogName, logPath } from "./log-path.ts";

export interface LogLimits {
  readonly maxSizeBytes: number;
  readonly backupCount: number;
}

const LOCK_DEADLINE_MS = 2_000;

/** Rotates a log that is too large. When several processes try at the same time, one of them rotates. */
export async function rotateLog(
  folder: string,
  log: LogName,
  { maxSizeBytes, backupCount }: LogLimits,
  signal: AbortSignal,
): Promise<void> {
  const path = (generation: number) => logPath(folder, log, generation);
  const sizeOf = (generation: number) => statSync(path(generation), { throwIfNoEntry: false })?.size;
  const rotate = () => {
    if ((sizeOf(0) ?? 0) < maxSizeBytes) return; // another process has rotated it already
    // Shift only up to the first gap, which a process killed during a rotation may have left; older files can stay.
    let last = 1;
    while (last < backupCount && sizeOf(last) !== undefined) last += 1;
    for (let generation = last; generation >= 1; generation--) {
      if (backupCount > 0) renameSync(path(generation - 1), path(generation));
      else rmSync(path(0));
    }
    for (let excess = backupCount + 1; sizeOf(excess) !== undefined; excess++) rmSync(path(excess));
  };
  await withFileLock({ path: join(folder, ".rotate.lock"), deadlineMs: LOCK_DEADLINE_MS }, rotate, signal);
}
