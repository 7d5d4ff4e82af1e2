import type { SpillFile, SpillResult } from "./spill-file.ts";
import { leftoverBytes, unfinishedBytes } from "./utf8-boundary.ts";

const HEAD_SHARE = 0.4;

export interface OutputWindowOptions {
  /** How much is shown of a longer stream; a notice comes on top. At least 1. */
  readonly maxBytes: number;
  /** Gets the whole stream once it is too long to be shown. */
  readonly spill: SpillFile;
}

export interface WindowedOutput {
  /** All of a stream that fits; else its beginning, a notice and its end. Invalid bytes are U+FFFD. */
  readonly text: string;
  readonly totalBytes: number;
  readonly omittedBytes: number;
  /** The file with the whole stream, or as much of it as may be kept; only when something was omitted. */
  readonly spillPath: string | undefined;
}

/** Keeps the beginning and the end of a stream in memory that does not grow. */
export interface OutputWindow extends AsyncDisposable {
  /** Takes the next bytes; a promise means that the disk is behind and the writer should wait for it. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** The result. What is written afterwards, by a process left behind, is nobody's any more. */
  finish(): Promise<WindowedOutput>;
  /** Bytes in memory now: at most `maxBytes`, and what is on its way to the disk. */
  readonly heldBytes: number;
}

export function createOutputWindow({ maxBytes, spill }: OutputWindowOptions): OutputWindow {
  const headBytes = Math.floor(maxBytes * HEAD_SHARE);
  const tailBytes = maxBytes - headBytes;
  /** The head, then a ring that holds the last bytes; until the stream is too long, simply the stream. */
  const kept = Buffer.allocUnsafe(maxBytes);
  let total = 0;
  let spilling: Promise<void> = Promise.resolve();
  let spillingBytes = 0;

  function keep(bytes: Uint8Array): void {
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

  /** In order, although the two streams of a command do not wait for each other. */
  function toSpill(bytes: Uint8Array): void {
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
    const shownHead = head.subarray(0, head.length - unfinishedBytes(head));
    const shownTail = tail.subarray(leftoverBytes(tail));
    const omittedBytes = total - shownHead.length - shownTail.length;
    const notice = noticeOf(omittedBytes, total, spilled);
    const text = `${shownHead.toString("utf8")}\n\n[${notice}]\n\n${shownTail.toString("utf8")}`;
    return { text, totalBytes: total, omittedBytes, spillPath: spilled.path };
  }

  let finished: Promise<WindowedOutput> | undefined;
  const finish = (): Promise<WindowedOutput> => (finished ??= conclude());
  return {
    get heldBytes() {
      return Math.min(total, maxBytes) + spillingBytes;
    },
    write(bytes) {
      if (finished !== undefined) return;
      const wasWhole = total <= maxBytes;
      const isWhole = total + bytes.length <= maxBytes;
      if (!isWhole && !spill.isFull) {
        if (wasWhole) toSpill(Buffer.from(kept.subarray(0, total)));
        toSpill(bytes);
      }
      keep(bytes);
      if (spillingBytes > 0) return spilling;
    },
    finish,
    async [Symbol.asyncDispose]() {
      await finish();
    },
  };
}

function noticeOf(omitted: number, total: number, { path, isCut, problem }: SpillResult): string {
  const sentence = `Output truncated: ${omitted} of ${total} bytes are omitted here.`;
  if (path !== undefined) {
    return `${sentence} ${isCut ? "Its beginning" : "All of it"} is in ${path}`;
  }
  return problem === undefined ? sentence : `${sentence} It could not be saved: ${problem}`;
}
