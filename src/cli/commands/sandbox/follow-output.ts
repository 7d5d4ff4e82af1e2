import { EventEmitter, once } from "node:events";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";
import { openDeadline } from "../../../lib/deadline.ts";

const LOOK_FIRST_MS = 50;
const LOOK_LAST_MS = 500;

export interface FollowOptions {
  /** The byte to begin with, or below 0 how many of the last ones. */
  readonly from: number;
  /** Goes on until the job is over. */
  readonly follow: boolean;
  onDropped(bytes: number): void;
  write(bytes: Uint8Array): Promise<void>;
  /** Ends pauses early, where somebody types and waits for the answer. */
  readonly pauses?: Pauses;
}

/** The time between two looks. */
export interface Pauses {
  take(ms: number, signal: AbortSignal): Promise<void>;
  /** Ends the pause that is taken now. */
  cut(): void;
}

export function createPauses(): Pauses {
  const cuts = new EventEmitter();
  return {
    async take(ms, signal) {
      using deadline = openDeadline(signal, ms);
      await once(cuts, "cut", { signal: deadline.signal }).catch(() => signal.throwIfAborted());
    },
    cut: () => void cuts.emit("cut"),
  };
}

/** Writes bytes to a stream as they are. */
export async function writeRaw(
  bytes: Uint8Array,
  stream: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<void> {
  if (!stream.write(bytes)) await once(stream, "drain", { signal });
}

/** Hands on what a job has printed, byte for byte, and resolves to its record. */
export async function followOutput(
  jobs: Jobs,
  id: string,
  { from, follow, onDropped, write, pauses = createPauses() }: FollowOptions,
  signal: AbortSignal,
): Promise<JobRecord> {
  let at = from;
  let pauseMs = LOOK_FIRST_MS;
  for (;;) {
    const piece = await jobs.read(id, at, signal);
    if (at >= 0 && piece.from > at) onDropped(piece.from - at);
    if (piece.bytes.length > 0) await write(piece.bytes);
    const isNew = piece.bytes.length > 0;
    at = piece.from + piece.bytes.length;
    if (isNew && at < piece.totalBytes) continue;
    // A job that is over prints nothing more, and the state was looked at before the output.
    if (!follow || piece.job.state === "ended") return piece.job;
    pauseMs = isNew ? LOOK_FIRST_MS : Math.min(pauseMs * 1.5, LOOK_LAST_MS);
    await pauses.take(pauseMs, signal);
  }
}
