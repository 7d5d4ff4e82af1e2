import { randomBytes } from "node:crypto";
import { type FileHandle, lstat, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { ensurePrivateFolder } from "../lib/files.ts";
import { unfinishedBytes } from "./utf8-boundary.ts";

const KEEP_MS = 7 * 24 * 60 * 60 * 1_000;
const OURS = /^out-.*\.log$/;
const LONGEST_PIECE_OF_CHARACTER = 3;

export interface SpillOptions {
  /** Home of the profile. */
  readonly home: string;
  /** What is kept of the stream; 0 keeps nothing and makes no file. */
  readonly maxBytes: number;
  now(): number;
}

/** Where a stream went. Without a path there is no file, and `problem` says why if that was not wanted. */
export interface SpillResult {
  readonly path: string | undefined;
  /** Whether the file has only the beginning of the stream. */
  readonly isCut: boolean;
  readonly problem: string | undefined;
}

/** Takes a whole stream to a private file. Never throws: a disk that refuses is a result without a file. */
export interface SpillFile {
  /** Appends; the file is made by the first call. One call at a time. */
  write(bytes: Uint8Array): Promise<void>;
  /** Whether further bytes would be dropped anyway, so that nobody need wait for them. */
  readonly isFull: boolean;
  /** Closes the file. Later calls give the same answer. */
  finish(): Promise<SpillResult>;
}

/** A file `out-<time>-<pid>-<id>.log` below `cache/terminal-output` of the home, made only when something is written. */
export function createSpillFile({ home, maxBytes, now }: SpillOptions): SpillFile {
  let file: FileHandle | undefined;
  let path: string | undefined;
  let problem: string | undefined;
  let isCut = false;
  let size = 0;
  /** The last bytes of the file, because the character that they belong to may have to go again. */
  let last: Uint8Array = new Uint8Array();

  async function append(bytes: Uint8Array): Promise<void> {
    file ??= await create();
    const part = bytes.subarray(0, maxBytes - size);
    if (part.length < bytes.length) return cut(file, part);
    await writeAll(file, part, size);
    size += part.length;
    last = Buffer.concat([last, part.subarray(-LONGEST_PIECE_OF_CHARACTER)]).subarray(
      -LONGEST_PIECE_OF_CHARACTER,
    );
  }

  async function create(): Promise<FileHandle> {
    const folder = join(home, "cache", "terminal-output");
    await ensurePrivateFolder(folder);
    await prune(folder, now() - KEEP_MS);
    const time = new Date(now()).toISOString().replace(/[-:]|\.\d+/g, "");
    const name = `out-${time}-${process.pid}-${randomBytes(4).toString("hex")}.log`;
    const made = await open(join(folder, name), "wx", 0o600);
    path = join(folder, name);
    return made;
  }

  /** Ends the file with a line that says so; half a character would make it binary to whoever reads it. */
  async function cut(target: FileHandle, part: Uint8Array): Promise<void> {
    const end = Buffer.concat([last, part]);
    const whole = end.subarray(0, end.length - unfinishedBytes(end));
    const note = Buffer.from(`\n[Cut here: only the first ${maxBytes} bytes of the output were kept.]\n`);
    await writeAll(target, Buffer.concat([whole, note]), size - last.length);
    isCut = true;
  }

  async function giveUp(error: unknown): Promise<void> {
    problem = messageOf(error);
    const left = path;
    path = undefined;
    await file?.close().catch(() => undefined); // the first problem is the one to tell
    file = undefined;
    if (left !== undefined) await rm(left, { force: true }).catch(() => undefined);
  }

  async function close(): Promise<SpillResult> {
    try {
      await file?.close();
      file = undefined;
    } catch (error) {
      await giveUp(error); // some file systems tell only now that there was no room
    }
    return { path, isCut, problem };
  }

  let finished: Promise<SpillResult> | undefined;
  const isFull = (): boolean => isCut || problem !== undefined || maxBytes === 0 || finished !== undefined;
  return {
    get isFull() {
      return isFull();
    },
    async write(bytes) {
      if (isFull() || bytes.length === 0) return;
      await append(bytes).catch(giveUp);
    },
    finish: () => (finished ??= close()),
  };
}

/** Removes files that are too old to be asked for. One that cannot be removed must not cost the new one. */
async function prune(folder: string, before: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => OURS.test(name));
  await Promise.allSettled(
    names.map(async (name) => {
      const found = await lstat(join(folder, name));
      if (found.isFile() && found.mtimeMs < before) await rm(join(folder, name), { force: true });
    }),
  );
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
