import { EventEmitter, once } from "node:events";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";
import { openDeadline } from "../../../lib/time/deadline.ts";

const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 500;

export interface FollowOptions {
  /** The offset of the first byte; a negative number counts from the end. */
  readonly from: number;
  /** Whether to continue until the job has ended. */
  readonly follow: boolean;
  onDropped(bytes: number): void;
  write(bytes: Uint8Array): Promise<void>;
  /** The pauses between polls, which the caller can end early, for example after a keystroke. */
  readonly pauses?: PollPauses;
}

export interface PollPauses {
  wait(ms: number, signal: AbortSignal): Promise<void>;
  endEarly(): void;
}

export function createPauses(): PollPauses {
  const ends = new EventEmitter();
  return {
    async wait(ms, signal) {
      using deadline = openDeadline(signal, ms);
      await once(ends, "end", { signal: deadline.signal }).catch(() => signal.throwIfAborted());
    },
    endEarly: () => void ends.emit("end"),
  };
}

export async function writeRaw(
  bytes: Uint8Array,
  stream: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<void> {
  if (!stream.write(bytes)) await once(stream, "drain", { signal });
}

/** Writes the output of a job, byte for byte, and resolves to its record. */
export async function followOutput(
  jobs: Jobs,
  id: string,
  { from, follow, onDropped, write, pauses = createPauses() }: FollowOptions,
  signal: AbortSignal,
): Promise<JobRecord> {
  let at = from;
  let pauseMs = FIRST_POLL_MS;
  for (;;) {
    const piece = await jobs.read(id, at, signal);
    if (at >= 0 && piece.from > at) onDropped(piece.from - at);
    if (piece.bytes.length > 0) await write(piece.bytes);
    const isNew = piece.bytes.length > 0;
    at = piece.from + piece.bytes.length;
    if (isNew && at < piece.totalBytes) continue;
    // The state was read before the output, so the output of an ended job is complete.
    if (!follow || piece.job.state === "ended") return piece.job;
    pauseMs = isNew ? FIRST_POLL_MS : Math.min(pauseMs * 1.5, LAST_POLL_MS);
    await pauses.wait(pauseMs, signal);
  }
}
