import { once } from "node:events";
import { fstatSync } from "node:fs";
import { addAbortSignal } from "node:stream";
import { openDeadline } from "../lib/deadline.ts";
import { AppError } from "../lib/errors.ts";
import { findPipeWriters } from "../lib/pipe-writers.ts";
import type { Terminal } from "./terminal.ts";

const TELL_AFTER_MS = 2_000;
/** A program that means to send us something does so when it has started us. */
const AT_ONCE_MS = 1_000;
/** How long a pipe whose writer cannot be seen may stay silent: it may be a slow command, or nobody. */
const UNSEEN_WRITER_MS = 10_000;

export interface InputOptions {
  readonly mostBytes: number;
  /** What to do with more than that. */
  readonly hint?: string;
  readonly terminal: Terminal;
}

/** All of standard input, to its end, as text; refused when it is more than the caller can use. */
export async function readStandardInput(options: InputOptions, signal: AbortSignal): Promise<string> {
  const { mostBytes, hint } = options;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of inputChunks(options.terminal, signal)) {
    bytes += chunk.length;
    if (bytes > mostBytes)
      throw new AppError("usage-wrong", `More than ${mostBytes} bytes were piped in.`, {
        ...(hint !== undefined && { hint }),
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * What was piped in beside a task that needs no input; docs/decisions/0009 has the rule. A file and the command before
 * us in a pipeline are read to their end. Anything else that holds our input open has to begin at once.
 */
export async function readPipedInput(options: InputOptions, signal: AbortSignal): Promise<string> {
  const kind = kindOfInput();
  if (kind === undefined) return "";
  if (kind === "file" || (await isComing(kind, options.terminal, signal)))
    return readStandardInput(options, signal);
  process.stdin.destroy(); // or it would keep us from ending
  options.terminal.note(
    "hermes: nothing came on standard input, so it is not part of the task. To wait for it, add `-`; to close it, add `</dev/null`.",
  );
  return "";
}

/** Standard input as it arrives. Ends with the signal, and says after a while what is being waited for. */
export async function* inputChunks(terminal: Terminal, signal: AbortSignal): AsyncGenerator<Buffer> {
  let wasTold = false;
  const telling = setTimeout(() => {
    wasTold = true;
    void tellWaiting(terminal);
  }, TELL_AFTER_MS);
  try {
    for await (const chunk of addAbortSignal(signal, process.stdin)) {
      if (!wasTold) telling.refresh();
      yield Buffer.from(chunk as Uint8Array);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(telling);
  }
}

async function isComing(kind: "pipe" | "socket", terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  if (await becomesReadable(AT_ONCE_MS, signal)) return true;
  const writers = kind === "pipe" ? await findPipeWriters(0) : [];
  if (writers.some(({ isAncestor }) => !isAncestor)) return true;
  if (kind === "socket" || writers.length > 0) return false;
  const telling = setTimeout(() => void tellWaiting(terminal), TELL_AFTER_MS - AT_ONCE_MS);
  return becomesReadable(UNSEEN_WRITER_MS, signal).finally(() => clearTimeout(telling));
}

/** Whether there is something to read, or an end, within this time. */
async function becomesReadable(withinMs: number, signal: AbortSignal): Promise<boolean> {
  using deadline = openDeadline(signal, withinMs);
  try {
    await once(process.stdin, "readable", { signal: deadline.signal });
    return true;
  } catch {
    signal.throwIfAborted();
    return process.stdin.readableEnded;
  }
}

async function tellWaiting(terminal: Terminal): Promise<void> {
  const writers = kindOfInput() === "pipe" ? await findPipeWriters(0) : [];
  const writer = writers.find(({ isAncestor }) => !isAncestor);
  const whose = writer === undefined ? "" : ` of ${writer.name} (process ${writer.pid})`;
  const how = process.stdin.isTTY ? "Ctrl-D ends it" : "Ctrl-C stops";
  terminal.note(`hermes: waiting for the end of standard input${whose}; ${how}.`);
}

/** Neither a terminal nor /dev/null nor a closed descriptor is input. */
function kindOfInput(): "file" | "pipe" | "socket" | undefined {
  try {
    const stats = fstatSync(0);
    return stats.isFile() ? "file" : stats.isFIFO() ? "pipe" : stats.isSocket() ? "socket" : undefined;
  } catch {
    return undefined; // closed
  }
}
