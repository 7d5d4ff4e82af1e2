import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import {
  access,
  constants,
  type FileHandle,
  link,
  mkdir,
  open,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AppError, type ErrorCode, errnoOf } from "./errors.ts";

/**
 * Replaces a file so that a reader, or a crash at any moment, meets the old content or the new, never a part.
 * A symbolic link stays one: the file that it leads to is replaced. An existing file keeps its mode unless one is
 * given, and its owner when root writes.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { mode }: { readonly mode?: number } = {},
): Promise<void> {
  await explainFailure("file-unwritable", "write", path, async () => {
    const { target, old } = await findTarget(path);
    const dress = async (file: FileHandle) => {
      if (old !== undefined && process.geteuid?.() === 0) await file.chown(old.uid, old.gid);
      const finalMode = mode ?? (old === undefined ? undefined : old.mode & 0o7777);
      if (finalMode !== undefined) await file.chmod(finalMode);
    };
    const birthMode = old === undefined && mode === undefined ? 0o666 : 0o600;
    await withTemporary(target, content, birthMode, dress, (temporary) => rename(temporary, target));
    await syncFolder(dirname(target));
  });
}

/** Refuses a path that `writeFileAtomic` could not write to, before there is anything to write. */
export async function requireWritable(path: string): Promise<void> {
  await explainFailure("file-unwritable", "write", path, async () => {
    const { target } = await findTarget(path);
    await access(join(dirname(target), "/"), constants.W_OK | constants.X_OK);
  });
}

async function findTarget(path: string): Promise<{ readonly target: string; readonly old?: Stats }> {
  const target = await followLinks(path);
  const old = await unlessMissing(stat(target));
  if (old === undefined) return { target };
  if (old.isFile()) return { target, old };
  throw new AppError("file-unwritable", `Cannot write ${path}: it is not a regular file.`, {
    hint: "Move it away, or choose another path.",
  });
}

/**
 * Creates a file complete or not at all, once among any number of processes that try at the same time, and gives the
 * content that it then has: ours, or that of whoever came first.
 */
export async function createFileOnce(path: string, content: string, mode: number): Promise<string> {
  return explainFailure("file-unwritable", "create", path, async () => {
    const target = await followLinks(path);
    const existing = await readTextFile(target);
    if (existing !== undefined) return existing;
    const dress = (file: FileHandle) => file.chmod(mode);
    const winner = await withTemporary(target, content, 0o600, dress, async (temporary) => {
      try {
        await link(temporary, target);
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") throw error;
        const theirs = await readTextFile(target);
        if (theirs === undefined) throw error; // it was removed again at once: let a person look
        return theirs;
      }
      return content;
    });
    await syncFolder(dirname(target));
    return winner;
  });
}

/** Makes a folder that only we can enter, parents included; one that exists is left as it is, if we can work in it. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await explainFailure("home-unusable", "use the folder", path, async () => {
    await makeFolder(path);
    const { uid } = await stat(path);
    const ours = process.geteuid?.() ?? uid;
    if (uid !== ours && ours !== 0) {
      const message = `Cannot use the folder ${path}: it belongs to the user with uid ${uid}, and we run as uid ${ours}.`;
      throw new AppError("home-unusable", message, {
        hint: `Run as its owner, take it over with \`sudo chown -R ${ours} ${quote(path)}\`, or choose another folder.`,
      });
    }
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  });
}

/**
 * True for the home of a named profile. It appears and goes as a whole: whoever still works in one that was renamed or
 * deleted must not bring the old name back by making a folder or a file below it.
 */
export function isOnlyMadeWhole(path: string): boolean {
  return basename(dirname(path)) === "profiles" && !basename(path).startsWith(".");
}

/**
 * Makes a folder and its parents, but never the home of a named profile. Node's own recursive mkdir never returns where a
 * file system says ENOENT for good, as /proc and autofs do.
 */
export async function makeFolder(path: string): Promise<void> {
  const found = await unlessMissing(stat(path));
  if (found?.isDirectory()) return;
  if (found !== undefined) throw notAFolder(path, "a file of that name is there");
  if (isOnlyMadeWhole(path)) throw new AppError("home-gone", `The folder ${path} is not there any more.`);
  await makeFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    // Somebody else was quicker, or it is a link to nothing.
    const made = await unlessMissing(stat(path));
    if (!made?.isDirectory()) throw notAFolder(path, "a symbolic link that leads to no folder is there");
  }
}

function notAFolder(path: string, reason: string): AppError {
  return new AppError("home-unusable", `Cannot use the folder ${path}: ${reason}.`, {
    hint: "Move it away, or choose another folder.",
  });
}

/** How many bytes a file holds, or undefined when there is none. */
export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The text of a file that is UTF-8 from its first byte to its last, without its BOM; undefined when there is no file. */
export async function readTextFile(path: string): Promise<string | undefined> {
  return explainFailure("file-unreadable", "read", path, async () => {
    const bytes = await unlessMissing(readFile(path));
    if (bytes === undefined) return undefined;
    const encoding = wideEncoding(bytes);
    if (encoding !== undefined) throw wrongEncoding(path, `it is ${encoding}, not UTF-8`, encoding);
    if (!isUtf8(bytes)) {
      const offset = firstInvalidByte(bytes);
      const line = bytes.subarray(0, offset).reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 1);
      const byte = bytes[offset]?.toString(16).toUpperCase().padStart(2, "0");
      throw wrongEncoding(
        path,
        `line ${line} is not UTF-8 (byte 0x${byte} at offset ${offset})`,
        "WINDOWS-1252",
      );
    }
    return bytes.toString("utf8", bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  });
}

function wrongEncoding(path: string, problem: string, encoding: string): AppError {
  const file = quote(path);
  return new AppError("file-unreadable", `Cannot read ${path}: ${problem}.`, {
    hint: `Save it as UTF-8, for instance: \`iconv -f ${encoding} -t UTF-8 ${file} > ${quote(`${path}.utf8`)}\`.`,
  });
}

/** UTF-16 and UTF-32 by their BOM, or by the zero that a plain first letter brings along. */
function wideEncoding(bytes: Uint8Array): string | undefined {
  const [first, second, third, fourth] = bytes;
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? "UTF-32" : "UTF-16";
  if (first === 0xfe && second === 0xff) return "UTF-16";
  if (first === 0 && second !== 0 && second !== undefined) return "UTF-16BE";
  return first !== 0 && second === 0 ? "UTF-16LE" : undefined;
}

function firstInvalidByte(bytes: Buffer): number {
  let offset = 0;
  for (const good of bytes.toString("utf8").split("\uFFFD")) {
    offset += Buffer.byteLength(good);
    // A replacement character that stands in the file itself is a valid one.
    if (bytes.toString("latin1", offset, offset + 3) !== "\xEF\xBF\xBD") return offset;
    offset += 3;
  }
  return offset;
}

/** Where a path leads, the last link's target included even if nothing is there yet. */
async function followLinks(path: string): Promise<string> {
  const real = await unlessMissing(realpath(path));
  if (real !== undefined) return real;
  const folder = await realpath(dirname(path));
  const target = await readlink(path).catch(() => undefined);
  return target === undefined ? join(folder, basename(path)) : followLinks(resolve(folder, target));
}

/** Hands on a complete file, safe on the disk, that stands beside the target and is removed whatever happens. */
async function withTemporary<T>(
  target: string,
  content: string | Uint8Array,
  mode: number,
  dress: (file: FileHandle) => Promise<void>,
  use: (temporary: string) => Promise<T>,
): Promise<T> {
  const name = `.${basename(target).slice(0, 50)}.${randomBytes(8).toString("hex")}.tmp`;
  const temporary = join(dirname(target), name);
  const file = await open(temporary, "wx", mode);
  try {
    try {
      await file.writeFile(content);
      await dress(file);
      await file.sync();
    } finally {
      await file.close();
    }
    return await use(temporary);
  } finally {
    // What failed before says more than a leftover that cannot be removed.
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/** Makes a new name in a folder outlast a power cut, where the file system can. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, constants.O_RDONLY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    // Some file systems cannot sync a folder, and some folders may be written but not read.
    if (!["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const FREE_SPACE = "Free some space and try again.";
const FAILURES: Readonly<Record<string, { readonly reason: string; readonly hint?: string }>> = {
  EACCES: { reason: "permission denied" },
  EPERM: { reason: "the system does not allow it" },
  EROFS: { reason: "the file system is read-only", hint: "Mount it writable, or choose another path." },
  ENOSPC: { reason: "the disk is full", hint: FREE_SPACE },
  EDQUOT: { reason: "the disk quota is used up", hint: FREE_SPACE },
  EFBIG: { reason: "it is larger than a file may be", hint: "Raise the limit (`ulimit -f`), or write less." },
  ENOENT: { reason: "its folder does not exist", hint: "Create the folder first." },
  EEXIST: { reason: "something else is there", hint: "Move it away, or choose another path." },
  ENOTDIR: { reason: "a part of the path is not a folder", hint: "Check the path." },
  EISDIR: { reason: "it is a folder", hint: "Check the path." },
  ELOOP: { reason: "its symbolic links lead in a circle", hint: "Repair the links." },
  ENAMETOOLONG: { reason: "the path is too long", hint: "Choose a shorter path." },
  EBUSY: { reason: "it is in use, perhaps as a mount", hint: "Mount its folder instead of the single file." },
};

/** Turns a failed system call into a failure that names the path, the reason and the way out. */
async function explainFailure<T>(
  code: ErrorCode,
  verb: string,
  path: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    const errno = errnoOf(cause);
    if (cause instanceof AppError || errno === undefined) throw cause;
    const { reason, hint } = FAILURES[errno] ?? { reason: `the system refused (${errno})` };
    throw new AppError(code, `Cannot ${verb} ${path}: ${reason}.`, {
      cause,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

function quote(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
