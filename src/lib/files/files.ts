import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import {
  access,
  constants,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AppError, type ErrorCode, errnoOf } from "../errors.ts";
import { unlessMissing } from "./unless-missing.ts";

/**
 * The folder that /dev/stdout and /dev/fd/3 resolve to. The file of such a descriptor must not be replaced: the process that has
 * it open would keep writing to the removed file.
 */
const OPEN_DESCRIPTORS = /^\/proc\/.+\/fd$/;

/**
 * Replaces a file atomically: readers see the old or the new content, even after a crash. Symbolic links are followed, and the
 * target is replaced. An existing file keeps its mode unless `mode` is given, and its owner when root writes.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { mode }: { readonly mode?: number } = {},
): Promise<void> {
  await explainFailure("file-unwritable", "write", path, async () => {
    const { target, old } = await findTarget(path);
    const applyAttributes = async (file: FileHandle) => {
      if (old !== undefined && process.geteuid?.() === 0) await file.chown(old.uid, old.gid);
      const finalMode = mode ?? (old === undefined ? undefined : old.mode & 0o7777);
      if (finalMode !== undefined) await file.chmod(finalMode);
    };
    const initialMode = old === undefined && mode === undefined ? 0o666 : 0o600;
    await withTemporary(target, content, initialMode, applyAttributes, (temporary) =>
      rename(temporary, target),
    );
    await syncFolder(dirname(target));
  });
}

/** Throws for a path that `writeFileAtomic` could not write to, before the content exists. */
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
 * Creates a file atomically unless it exists. When several processes try at the same time, one succeeds. Returns the content of
 * the file: ours, or that of the process that was first.
 */
export async function createFileOnce(path: string, content: string, mode: number): Promise<string> {
  return explainFailure("file-unwritable", "create", path, async () => {
    const target = await followLinks(path);
    const existing = await readTextFile(target);
    if (existing !== undefined) return existing;
    const applyAttributes = (file: FileHandle) => file.chmod(mode);
    const winner = await withTemporary(target, content, 0o600, applyAttributes, async (temporary) => {
      try {
        await link(temporary, target);
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") throw error;
        const existingContent = await readTextFile(target);
        if (existingContent === undefined) throw error; // the file was created and removed again meanwhile
        return existingContent;
      }
      return content;
    });
    await syncFolder(dirname(target));
    return winner;
  });
}

/** Creates a folder and its parents with mode 0700. An existing folder is not changed, but must be ours and writable. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await explainFailure("home-unusable", "use the folder", path, async () => {
    await createFolder(path);
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
 * Whether the path is the home of a named profile. Such a home is created and removed only as a whole: a process that still
 * uses a renamed or deleted home must not recreate the old name by creating a folder or file below it.
 */
export function isNamedProfileHome(path: string): boolean {
  return basename(dirname(path)) === "profiles" && !basename(path).startsWith(".");
}

/**
 * Creates a folder and its parents, but never the home of a named profile. Node's recursive mkdir loops forever on file systems
 * that always return ENOENT, such as /proc and autofs.
 */
export async function createFolder(path: string): Promise<void> {
  const found = await unlessMissing(stat(path));
  if (found?.isDirectory()) return;
  if (found !== undefined) throw notAFolder(path, "a file of that name exists");
  if (isNamedProfileHome(path)) throw new AppError("home-gone", `The folder ${path} no longer exists.`);
  await createFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    // Another process was faster, or the path is a dangling link.
    const made = await unlessMissing(stat(path));
    if (!made?.isDirectory()) throw notAFolder(path, "it is a symbolic link that does not lead to a folder");
  }
}

function notAFolder(path: string, reason: string): AppError {
  return new AppError("home-unusable", `Cannot use the folder ${path}: ${reason}.`, {
    hint: "Move it away, or choose another folder.",
  });
}

/** Size of a file in bytes, or undefined when it does not exist. */
export async function findFileSize(path: string): Promise<number | undefined> {
  return (await unlessMissing(stat(path)))?.size;
}

/** Reads a UTF-8 file without its BOM; undefined when it does not exist. Throws for any invalid byte. */
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

/** Detects UTF-16 and UTF-32 by their BOM, or by the zero byte of an ASCII first letter. */
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
    // A replacement character that the file itself contains is valid.
    if (bytes.toString("latin1", offset, offset + 3) !== "\xEF\xBF\xBD") return offset;
    offset += 3;
  }
  return offset;
}

/** Resolves all links of a path, including a last link whose target does not exist yet; throws for an open stream. */
export async function followLinks(path: string): Promise<string> {
  const real = await unlessMissing(realpath(path)); // throws for a loop of links
  const folder = await realpath(dirname(path));
  if (OPEN_DESCRIPTORS.test(folder))
    throw new AppError("file-unwritable", `Cannot write ${path}: it is an open stream, not a regular file.`, {
      hint: "Give the path of a file.",
    });
  const target = await readlink(path).catch(() => undefined);
  if (target === undefined) return real ?? join(folder, basename(path));
  return followLinks(resolve(folder, target));
}

/** Calls `use` with a complete, synced temporary file in the folder of the target, and removes the file afterwards. */
async function withTemporary<T>(
  target: string,
  content: string | Uint8Array,
  mode: number,
  applyAttributes: (file: FileHandle) => Promise<void>,
  use: (temporary: string) => Promise<T>,
): Promise<T> {
  const name = `.${basename(target).slice(0, 50)}.${randomBytes(8).toString("hex")}.tmp`;
  const temporary = join(dirname(target), name);
  const file = await open(temporary, "wx", mode);
  try {
    try {
      await file.writeFile(content);
      await applyAttributes(file);
      await file.sync();
    } finally {
      await file.close();
    }
    return await use(temporary);
  } finally {
    // Ignored, so that it does not hide an earlier error.
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/** Makes a new name in a folder survive a power failure, if the file system supports it. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, constants.O_RDONLY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    // Some file systems cannot sync a folder, and some folders are writable but not readable.
    if (!["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}

/** Removes the files that match `names` and were last written before `before`. Ignores files that cannot be removed. */
export async function removeOldFiles(folder: string, names: RegExp, before: number): Promise<void> {
  const found = (await readdir(folder)).filter((name) => names.test(name)).map((name) => join(folder, name));
  await Promise.allSettled(
    found.map(async (path) => {
      const stats = await lstat(path);
      if (stats.isFile() && stats.mtimeMs < before) await rm(path, { force: true });
    }),
  );
}

const FREE_SPACE = "Free some space and try again.";
const FAILURES: Readonly<Record<string, { readonly reason: string; readonly hint?: string }>> = {
  EACCES: { reason: "permission denied" },
  EPERM: { reason: "the system does not allow it" },
  EROFS: { reason: "the file system is read-only", hint: "Mount it writable, or choose another path." },
  ENOSPC: { reason: "the disk is full", hint: FREE_SPACE },
  EDQUOT: { reason: "the disk quota is used up", hint: FREE_SPACE },
  EFBIG: {
    reason: "the limit for file sizes is exceeded",
    hint: "Raise the limit (`ulimit -f`), or write less.",
  },
  ENOENT: { reason: "its folder does not exist", hint: "Create the folder first." },
  EEXIST: { reason: "a file or folder of that name exists", hint: "Move it away, or choose another path." },
  ENOTDIR: { reason: "a part of the path is not a folder", hint: "Check the path." },
  EISDIR: { reason: "it is a folder", hint: "Check the path." },
  ELOOP: { reason: "its symbolic links form a loop", hint: "Repair the links." },
  ENAMETOOLONG: { reason: "the path is too long", hint: "Choose a shorter path." },
  EBUSY: { reason: "it is in use, perhaps as a mount", hint: "Mount its folder instead of the single file." },
};

/** Turns a failed system call into an error that names the path and the reason, with a hint. */
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
