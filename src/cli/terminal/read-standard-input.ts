import { once } from "node:events";
import { addAbortSignal } from "node:stream";
import { decodeText } from "../../environments/files/text-format.ts";
import { AppError } from "../../lib/errors.ts";
import { findPipeWriters } from "../../lib/process/pipe-writers.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { readInputKind } from "./input-kind.ts";
import type { Terminal } from "./terminal.ts";

const NOTICE_AFTER_MS = 2_000;
/** A program that starts us with input sends it immediately. */
const FIRST_BYTE_MS = 1_000;
/** How long to wait for a pipe whose writer cannot be identified: it may be a slow command, or there may be none. */
const UNKNOWN_WRITER_MS = 10_000;

export interface InputOptions {
  readonly maxBytes: number;
  /** The hint of the error for larger input. */
  readonly hint?: string;
  readonly terminal: Terminal;
}

/** Reads standard input to its end, as text. Throws if it is larger than `maxBytes`. */
export async function readStandardInput(options: InputOptions, signal: AbortSignal): Promise<string> {
  const input = await readStandardInputBytes(options, signal);
  return decodeText(input)?.text ?? input.toString("utf8");
}

/** Reads standard input to its end. Throws if it is larger than `maxBytes`. */
export async function readStandardInputBytes(options: InputOptions, signal: AbortSignal): Promise<Buffer> {
  const { maxBytes, hint } = options;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of inputChunks(options.terminal, signal)) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new AppError("usage-wrong", `More than ${maxBytes} bytes were piped in.`, {
        ...(hint !== undefined && { hint }),
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads the optional piped input of a task; docs/decisions/0009 has the rule. A file, or the previous command of a
 * pipeline, is read to its end. Any other writer that holds our input open must send its first byte immediately.
 */
export async function readPipedInput(options: InputOptions, signal: AbortSignal): Promise<string> {
  const kind = readInputKind();
  if (kind === undefined) return "";
  if (kind === "file" || (await isInputExpected(kind, options.terminal, signal)))
    return readStandardInput(options, signal);
  process.stdin.destroy(); // an open stdin would keep this process running
  options.terminal.note(
    "hermes: nothing arrived on standard input, so it is not part of the task. To wait for it, add `-`; to close it, add `</dev/null`.",
  );
  return "";
}

/** Yields standard input as it arrives, until the signal aborts. Prints a notice if nothing arrives for a while. */
export async function* inputChunks(terminal: Terminal, signal: AbortSignal): AsyncGenerator<Buffer> {
  let isNoticed = false;
  const notice = setTimeout(() => {
    isNoticed = true;
    void printWaitingNotice(terminal);
  }, NOTICE_AFTER_MS);
  try {
    for await (const chunk of addAbortSignal(signal, process.stdin)) {
      if (!isNoticed) notice.refresh();
      yield Buffer.from(chunk as Uint8Array);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(notice);
  }
}

async function isInputExpected(
  kind: "pipe" | "socket",
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  if (await becomesReadable(FIRST_BYTE_MS, signal)) return true;
  const writers = kind === "pipe" ? await findPipeWriters(0) : [];
  if (writers.some(({ isAncestor }) => !isAncestor)) return true;
  if (kind === "socket" || writers.length > 0) return false;
  const notice = setTimeout(() => void printWaitingNotice(terminal), NOTICE_AFTER_MS - FIRST_BYTE_MS);
  return becomesReadable(UNKNOWN_WRITER_MS, signal).finally(() => clearTimeout(notice));
}

/** Waits for data or the end of standard input; false if neither arrives in time. */
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

async function printWaitingNotice(terminal: Terminal): Promise<void> {
  const writers = readInputKind() === "pipe" ? await findPipeWriters(0) : [];
  const writer = writers.find(({ isAncestor }) => !isAncestor);
  const whose = writer === undefined ? "" : ` of ${writer.name} (process ${writer.pid})`;
  const how = process.stdin.isTTY ? "Ctrl-D ends it" : "Ctrl-C stops";
  terminal.note(`hermes: waiting for the end of standard input${whose}; ${how}.`);
}
