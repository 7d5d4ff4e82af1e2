import { randomBytes } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { ensurePrivateFolder, removeOldFiles } from "../lib/files/files.ts";
import { createStreamRedactor } from "../lib/redact/stream-redactor.ts";
import { incompleteTailBytes } from "./utf8-boundary.ts";

const KEEP_MS = 7 * 24 * 60 * 60 * 1_000;
const SPILL_FILE_NAME = /^out-.*\.log$/;
const MAX_PARTIAL_CHARACTER_BYTES = 3;

export interface SpillOptions {
  /** Home of the profile. */
  readonly home: string;
  /** How much of the stream is kept; 0 creates no file. */
  readonly maxBytes: number;
  now(): number;
}

/** The saved stream. Without `path` there is no file; `problem` gives the reason if saving failed. */
export interface SpillResult {
  readonly path: string | undefined;
  /** Whether the file holds only the beginning of the stream. */
  readonly isCut: boolean;
  readonly problem: string | undefined;
}

export type SpillFile = ReturnType<typeof createSpillFile>;

/**
 * Saves a stream to a private file `out-<time>-<pid>-<id>.log` below `cache/terminal-output` of the home. Never throws: a
 * disk error yields a result without a file.
 */
export function createSpillFile({ home, maxBytes, now }: SpillOptions) {
  let file: FileHandle | undefined;
  let path: string | undefined;
  let problem: string | undefined;
  let isCut = false;
  let size = 0;
  /** The last bytes of the file: if the next write is cut, an incomplete character at the end is removed. */
  let last: Uint8Array = new Uint8Array();

  async function append(bytes: Uint8Array): Promise<void> {
    file ??= await create();
    const part = bytes.subarray(0, maxBytes - size);
    if (part.length < bytes.length) return endWithNotice(file, part);
    await writeAll(file, part, size);
    size += part.length;
    last = Buffer.concat([last, part.subarray(-MAX_PARTIAL_CHARACTER_BYTES)]);
    last = last.subarray(-MAX_PARTIAL_CHARACTER_BYTES);
  }

  async function create(): Promise<FileHandle> {
    const folder = join(home, "cache", "terminal-output");
    await ensurePrivateFolder(folder);
    await removeOldFiles(folder, SPILL_FILE_NAME, now() - KEEP_MS);
    const time = new Date(now()).toISOString().replace(/[-:]|\.\d+/g, "");
    const name = `out-${time}-${process.pid}-${randomBytes(4).toString("hex")}.log`;
    const created = await open(join(folder, name), "wx", 0o600);
    path = join(folder, name);
    return created;
  }

  /** Ends the file with a notice, after a complete character: half a character would make the file look binary. */
  async function endWithNotice(target: FileHandle, part: Uint8Array): Promise<void> {
    const end = Buffer.concat([last, part]);
    const whole = end.subarray(0, end.length - incompleteTailBytes(end));
    const notice = Buffer.from(`\n[Truncated: only the first ${maxBytes} bytes of the output were kept.]\n`);
    await writeAll(target, Buffer.concat([whole, notice]), size - last.length);
    isCut = true;
  }

  async function giveUp(error: unknown): Promise<void> {
    problem = messageOf(error);
    const partial = path;
    path = undefined;
    await file?.close().catch(() => undefined); // the first error is the one to report
    file = undefined;
    if (partial !== undefined) await rm(partial, { force: true }).catch(() => undefined);
  }

  async function close(): Promise<SpillResult> {
    try {
      await file?.close();
      file = undefined;
    } catch (error) {
      await giveUp(error); // some file systems report a full disk only on close
    }
    return { path, isCut, problem };
  }

  let finished: Promise<SpillResult> | undefined;
  const isFull = (): boolean => isCut || problem !== undefined || maxBytes === 0 || finished !== undefined;
  return {
    /** Whether further bytes would be dropped, so that callers can skip `write`. */
    get isFull(): boolean {
      return isFull();
    },
    /** Appends; the first call creates the file. Calls must not overlap. */
    async write(bytes: Uint8Array): Promise<void> {
      if (isFull() || bytes.length === 0) return;
      await append(bytes).catch(giveUp);
    },
    /** Closes the file. Idempotent. */
    finish: () => (finished ??= close()),
  };
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** A spill file that gets its stream as redacted text; bytes that are not UTF-8 become U+FFFD. */
export function withRedaction(file: SpillFile, redact: (text: string) => string): SpillFile {
  const redactor = createStreamRedactor(redact);
  const decoder = new TextDecoder();
  const write = (text: string): Promise<void> => file.write(Buffer.from(text));
  let finished: Promise<SpillResult> | undefined;
  const finish = async (): Promise<SpillResult> => {
    await write(redactor.take(decoder.decode()) + redactor.end());
    return file.finish();
  };
  return {
    get isFull() {
      return finished !== undefined || file.isFull;
    },
    async write(bytes) {
      if (finished === undefined) await write(redactor.take(decoder.decode(bytes, { stream: true })));
    },
    finish: () => (finished ??= finish()),
  };
}
