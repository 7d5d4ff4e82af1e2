import { constants, type FileHandle, open, realpath } from "node:fs/promises";
import { sep } from "node:path";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { headOf, tailOf } from "../../lib/text/shorten.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { findInjection } from "../../lib/untrusted/find-injection.ts";

/** Instructions for the agent, and the file that contains them. */
export interface ContextFile {
  readonly path: string;
  readonly text: string;
  /** Set if `text` is only a notice, because the file tries to steer the agent. */
  readonly isLeftOut?: true;
}

export interface ContextRules {
  /** Characters of one file; of a longer file, the beginning and the end are used. */
  readonly maxChars: number;
  /** Receives one sentence about each existing file that is shortened or not used. */
  notify(sentence: string): void;
  /** Receives the name of a file that was omitted because it tries to steer the agent. */
  onUntrusted(source: string): void;
}

const HEAD_SHARE = 0.7;
const TAIL_SHARE = 0.2;
const READ_TIMEOUT_MS = 5_000;
const MAX_UTF8_BYTES = 4;

/**
 * Loads a text for the prompt, shortened to fit. Returns undefined if the file does not exist or is empty, and also, with a
 * notice, if it cannot be used. `root` is the folder that the file must be in after links are resolved.
 */
export async function loadContextFile(
  path: string,
  rules: ContextRules,
  root: string | undefined,
  signal: AbortSignal,
): Promise<ContextFile | undefined> {
  const { maxChars, notify } = rules;
  using deadline = openDeadline(signal, READ_TIMEOUT_MS);
  try {
    const { text, isShortened } = await untilAborted(readChecked(path, maxChars, root), deadline.signal);
    if (text === "") return undefined;
    const notice = screenContext(path, text, rules);
    if (notice !== undefined) return { path, text: notice, isLeftOut: true };
    if (isShortened)
      notify(
        `${path} is longer than ${maxChars} characters, so only its beginning and end are used. To use more of it, set context_file_max_chars.`,
      );
    return { path, text };
  } catch (error) {
    signal.throwIfAborted();
    if (/^(?:ENOENT|ENOTDIR)$/.test(errnoOf(error) ?? "")) return undefined;
    const why = deadline.isOver
      ? `reading it took longer than ${READ_TIMEOUT_MS / 1_000} seconds`
      : reasonOf(error);
    notify(`${path} is not used: ${why}.`);
    return undefined;
  }
}

/** The notice that replaces a file that tries to steer the agent; undefined for other files. */
export function screenContext(
  path: string,
  text: string,
  { notify, onUntrusted }: Pick<ContextRules, "notify" | "onUntrusted">,
): string | undefined {
  const injection = findInjection(text, { isDocument: true });
  if (injection === undefined) return undefined;
  notify(
    `${path} is left out: it ${injection.reason} (“${injection.quote}”). Remove that text, or read the file yourself and tell the model what it needs.`,
  );
  onUntrusted(`${path}, which ${injection.reason}`);
  return `[${path} was left out: it ${injection.reason}.]`;
}

/** Keeps the beginning and the end of a text that is too long. */
export function shortenContext(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : joinParts(text, text, maxChars, `the middle of ${text.length} characters`);
}

function joinParts(start: string, end: string, maxChars: number, what: string): string {
  const head = headOf(start, Math.floor(maxChars * HEAD_SHARE));
  return `${head}\n\n[${what} is omitted]\n\n${tailOf(end, Math.floor(maxChars * TAIL_SHARE))}`;
}

/** Why a file is not used; its message completes "the file is not used: …". */
class UnusableFile extends Error {}

interface CheckedText {
  readonly text: string;
  readonly isShortened: boolean;
}

async function readChecked(path: string, maxChars: number, root: string | undefined): Promise<CheckedText> {
  if (root !== undefined && !isInside(await realpath(path), await realpath(root)))
    throw new UnusableFile("it is a link to a file outside of the project");
  // Opening a FIFO without this flag waits for its other end, and no signal can abort that wait.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const { size } = await requireRegular(file);
  const maxBytes = maxChars * MAX_UTF8_BYTES;
  if (size <= 2 * maxBytes) {
    const whole = decode(await readPart(file, 0, size)).trim();
    const text = shortenContext(whole, maxChars);
    return { text, isShortened: text !== whole };
  }
  const start = decode(await readPart(file, 0, maxBytes)).trimStart();
  const end = decode(await readPart(file, size - maxBytes, maxBytes)).trimEnd();
  return { text: joinParts(start, end, maxChars, `the middle of ${size} bytes`), isShortened: true };
}

async function requireRegular(file: FileHandle): Promise<{ readonly size: number }> {
  const found = await file.stat();
  if (found.isFile()) return found;
  throw new UnusableFile(found.isDirectory() ? "it is a folder" : "it is a FIFO, socket or device");
}

async function readPart(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** Decodes text whose first and last characters may be cut. */
function decode(bytes: Buffer): string {
  const start = bytes.subarray(0, MAX_UTF8_BYTES).findIndex((byte) => (byte & 0xc0) !== 0x80);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(Math.max(start, 0)), {
      stream: true,
    });
    if (!text.includes("\0")) return text;
  } catch {
    // reported below
  }
  throw new UnusableFile("it is not UTF-8 text");
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function reasonOf(error: unknown): string {
  if (error instanceof UnusableFile) return error.message;
  const known: Readonly<Record<string, string>> = {
    EACCES: "you may not read it",
    EISDIR: "it is a folder",
    ELOOP: "it is a link that leads back to itself",
    ENXIO: "it is a FIFO, socket or device",
  };
  return known[errnoOf(error) ?? ""] ?? messageOf(error);
}

/** Rejects when the signal aborts, even while a system call hangs. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}
