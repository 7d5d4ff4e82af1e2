import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";

const LOOK_FIRST_MS = 50;
const LOOK_LAST_MS = 500;

export interface FollowOptions {
  /** The byte to begin with, or below 0 how many of the last ones. */
  readonly from: number;
  /** Goes on until the job is over. */
  readonly follow: boolean;
  onDropped(bytes: number): void;
}

/** Writes what a job has printed to standard output, byte for byte, and resolves to its record. */
export async function followOutput(
  jobs: Jobs,
  id: string,
  { from, follow, onDropped }: FollowOptions,
  signal: AbortSignal,
): Promise<JobRecord> {
  let at = from;
  let pauseMs = LOOK_FIRST_MS;
  for (;;) {
    const piece = await jobs.read(id, at, signal);
    if (at >= 0 && piece.from > at) onDropped(piece.from - at);
    if (piece.bytes.length > 0 && !process.stdout.write(piece.bytes))
      await once(process.stdout, "drain", { signal });
    const isNew = piece.bytes.length > 0;
    at = piece.from + piece.bytes.length;
    if (isNew && at < piece.totalBytes) continue;
    // A job that is over prints nothing more, and the state was looked at before the output.
    if (!follow || piece.job.state === "ended") return piece.job;
    pauseMs = isNew ? LOOK_FIRST_MS : Math.min(pauseMs * 1.5, LOOK_LAST_MS);
    await delay(pauseMs, undefined, { signal });
  }
}
