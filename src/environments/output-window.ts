import type { SpillFile, SpillResult } from "./spill-file.ts";
import { continuationHeadBytes, incompleteTailBytes } from "./utf8-boundary.ts";

const HEAD_SHARE = 0.4;

export interface OutputWindowOptions {
  /** How much of a longer stream is shown, not counting the notice. At least 1. */
  readonly maxBytes: number;
  /** Receives the whole stream once it is too long to show. */
  readonly spill: SpillFile;
}

export interface WindowedOutput {
  /** The whole stream if it fits, else its beginning, a notice and its end. Invalid bytes become U+FFFD. */
  readonly text: string;
  readonly totalBytes: number;
  readonly omittedBytes: number;
  /** The file with the stream, up to the size limit of the spill file. Set only if something was omitted. */
  readonly spillPath: string | undefined;
}

export type OutputWindow = ReturnType<typeof createOutputWindow>;

/** Keeps the beginning and the end of a stream in a fixed amount of memory. */
export function createOutputWindow({ maxBytes, spill }: OutputWindowOptions) {
  const headBytes = Math.floor(maxBytes * HEAD_SHARE);
  const tailBytes = maxBytes - headBytes;
  /** The whole stream while it fits; after that the head, followed by a ring buffer of the last bytes. */
  const kept = Buffer.allocUnsafe(maxBytes);
  let total = 0;
  let spilling: Promise<void> = Promise.resolve();
  let spillingBytes = 0;

  function storeBytes(bytes: Uint8Array): void {
    const head = bytes.subarray(0, Math.max(0, headBytes - total));
    kept.set(head, total < headBytes ? total : 0);
    const rest = bytes.subarray(head.length);
    const shown = rest.subarray(Math.max(0, rest.length - tailBytes));
    const at = ringPosition(total + bytes.length - shown.length);
    const beforeEnd = shown.subarray(0, maxBytes - at);
    kept.set(beforeEnd, at);
    kept.set(shown.subarray(beforeEnd.length), headBytes);
    total += bytes.length;
  }

  function ringPosition(offset: number): number {
    return headBytes + (Math.max(0, offset - headBytes) % tailBytes);
  }

  /** Queues the writes: stdout and stderr call this concurrently. */
  function queueSpill(bytes: Uint8Array): void {
    spillingBytes += bytes.length;
    spilling = spilling.then(async () => {
      await spill.write(bytes);
      spillingBytes -= bytes.length;
    });
  }

  async function conclude(): Promise<WindowedOutput> {
    await spilling;
    const spilled = await spill.finish();
    if (total <= maxBytes) {
      const text = kept.toString("utf8", 0, total);
      return { text, totalBytes: total, omittedBytes: 0, spillPath: undefined };
    }
    const head = kept.subarray(0, headBytes);
    const start = ringPosition(total);
    const tail = Buffer.concat([kept.subarray(start), kept.subarray(headBytes, start)]);
    const shownHead = head.subarray(0, head.length - incompleteTailBytes(head));
    const shownTail = tail.subarray(continuationHeadBytes(tail));
    const omittedBytes = total - shownHead.length - shownTail.length;
    const notice = formatNotice(omittedBytes, total, spilled);
    const text = `${shownHead.toString("utf8")}\n\n[${notice}]\n\n${shownTail.toString("utf8")}`;
    return { text, totalBytes: total, omittedBytes, spillPath: spilled.path };
  }

  let finished: Promise<WindowedOutput> | undefined;
  const finish = (): Promise<WindowedOutput> => (finished ??= conclude());
  return {
    /** Bytes in memory: at most `maxBytes` plus the bytes that are being written to disk. */
    get heldBytes(): number {
      return Math.min(total, maxBytes) + spillingBytes;
    },
    /** Takes the next bytes. A returned promise means that the disk is slow and the writer should wait. */
    write(bytes: Uint8Array): void | Promise<void> {
      if (finished !== undefined) return;
      const didFit = total <= maxBytes;
      const stillFits = total + bytes.length <= maxBytes;
      if (!stillFits && !spill.isFull) {
        if (didFit) queueSpill(Buffer.from(kept.subarray(0, total)));
        queueSpill(bytes);
      }
      storeBytes(bytes);
      if (spillingBytes > 0) return spilling;
    },
    /** Returns the result. Later writes, for example by a leftover background process, are dropped. */
    finish,
    async [Symbol.asyncDispose](): Promise<void> {
      await finish();
    },
  };
}

function formatNotice(omitted: number, total: number, { path, isCut, problem }: SpillResult): string {
  const sentence = `Output truncated: ${omitted} of ${total} bytes are omitted.`;
  if (path !== undefined) {
    return `${sentence} ${isCut ? "The beginning of the output" : "The full output"} is in ${path}`;
  }
  return problem === undefined ? sentence : `${sentence} The full output could not be saved: ${problem}`;
}
