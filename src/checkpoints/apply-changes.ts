import { createHash } from "node:crypto";
import {
  chmod,
  cp,
  lstat,
  mkdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { AppError, errnoOf, messageOf } from "../lib/errors.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";
import type { CheckpointGit } from "./checkpoint-git.ts";
import { type Change, isSame, type TreeEntry } from "./compare-trees.ts";
import type { PrivateModes } from "./private-modes.ts";

const LINK = "120000";
const PROGRAM = "100755";

/** The folder in the project for new content, until all of it is written. */
const STAGING = ".hermes-rollback";

/**
 * Replaces files of a folder. All new content is first written to a staging folder, so that a full disk changes nothing;
 * then each file is replaced atomically. A file that has changed since the plan was made is skipped and returned. After a
 * crash, applying the same changes again completes them.
 */
export async function applyChanges(
  git: CheckpointGit,
  folder: string,
  modes: PrivateModes,
  changes: readonly Change[],
): Promise<{ readonly skipped: readonly string[] }> {
  const root = await realpath(folder);
  const staging = join(root, STAGING);
  const skipped: string[] = [];
  const pending: PendingFile[] = [];
  // Removals first: a file may have to make room for a folder of the same name.
  const sorted = changes.toSorted(
    (one, other) => Number(one.to !== undefined) - Number(other.to !== undefined),
  );
  for (const { path, from, to } of sorted) {
    const target = join(root, path);
    if (!(await isInside(root, dirname(target)))) {
      skipped.push(path);
      continue;
    }
    const now = await describeFile(target);
    if (isSame(now, to)) continue;
    if (!isSame(now, from)) skipped.push(path);
    else pending.push({ target, to, staged: join(staging, String(pending.length)), mode: modes.get(path) });
  }
  await rm(staging, { recursive: true, force: true }); // left behind by a killed process
  try {
    if (pending.some(({ to }) => to !== undefined)) await mkdir(staging, { mode: 0o700 });
    for (const file of pending) if (file.to !== undefined) await stage(git, file.to, file);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw new AppError("checkpoint-failed", `No file was changed: ${messageOf(error)}`, { cause: error });
  }
  try {
    for (const { target, to, staged } of pending) {
      if (to === undefined) await removeFile(root, target);
      else await replaceFile(staged, target);
    }
  } catch (error) {
    throw new AppError("rollback-unfinished", `Not all files could be replaced: ${messageOf(error)}`, {
      cause: error,
    });
  }
  await rm(staging, { recursive: true, force: true });
  return { skipped };
}

/** Whether the real path of a folder, or of its nearest existing parent, is below the root: a link could lead elsewhere. */
async function isInside(root: string, folder: string): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const real = await unlessMissing(realpath(path)).catch((error: unknown) => {
      if (errnoOf(error) === "ENOTDIR") return undefined;
      throw error;
    });
    if (real !== undefined) return real === root || real.startsWith(root + sep);
  }
}

/** Mode and id of a file as git would store it. */
export async function describeFile(path: string): Promise<TreeEntry | undefined> {
  const found = await unlessMissing(lstat(path)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  });
  if (found?.isSymbolicLink()) return { mode: LINK, id: blobId(Buffer.from(await readlink(path))) };
  if (found === undefined || !found.isFile()) return undefined;
  const mode = (found.mode & 0o100) === 0 ? "100644" : PROGRAM;
  return { mode, id: blobId(await readFile(path)) };
}

function blobId(content: Buffer): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

/** A file that must be replaced or removed. */
interface PendingFile {
  readonly target: string;
  readonly to: TreeEntry | undefined;
  readonly staged: string;
  /** The recorded permissions of a private file; undefined for a file that was always public. */
  readonly mode: number | undefined;
}

/** Writes the new content with the mode that the file will have. */
async function stage(
  git: CheckpointGit,
  { mode, id }: TreeEntry,
  { target, staged, mode: earlier }: PendingFile,
): Promise<void> {
  const content = await git.readBlob(id);
  if (mode === LINK) return symlink(content.toString(), staged);
  const old = await unlessMissing(lstat(target)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  });
  await writeFile(staged, content, { flag: "wx", flush: true });
  const permissions = old?.isFile() ? old.mode & (earlier ?? 0o777) : earlier;
  if (permissions === undefined) return mode === PROGRAM ? chmod(staged, 0o755) : undefined;
  const readers = permissions & 0o444;
  await chmod(staged, (permissions & 0o666) | (mode === PROGRAM ? readers >> 2 : 0));
}

async function replaceFile(staged: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  try {
    await rename(staged, target);
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    // The file is on another file system that is mounted in the project, so the rename must start there.
    const temporary = `${target}.hermes-rollback`;
    await cp(staged, temporary, { verbatimSymlinks: true, force: true });
    await rename(temporary, target);
  }
}

/** Removes a file and the folders that it leaves empty. */
async function removeFile(root: string, target: string): Promise<void> {
  await rm(target, { force: true });
  for (
    let folder = dirname(target);
    relative(root, folder) !== "" && resolve(folder) !== root;
    folder = dirname(folder)
  ) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      () => false, // not empty
    );
    if (!isRemoved) return;
  }
}
