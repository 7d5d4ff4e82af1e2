import { createHash, randomUUID } from "node:crypto";
import {
  chmod,
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
import { errnoOf } from "../lib/errors.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";
import type { CheckpointGit } from "./checkpoint-git.ts";
import { type Change, isSame, type TreeEntry } from "./compare-trees.ts";

const LINK = "120000";
const PROGRAM = "100755";

/**
 * Gives files of a folder their new content, each in one step. A file that is no longer in the expected old state is left
 * alone and returned. Applying the same changes again, for example after a crash, finishes what is left of them.
 */
export async function applyChanges(
  git: CheckpointGit,
  folder: string,
  changes: readonly Change[],
): Promise<{ readonly skipped: readonly string[] }> {
  const root = await realpath(folder);
  const skipped: string[] = [];
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
    else if (to === undefined) await removeFile(root, target);
    else await replaceFile(git, target, to);
  }
  return { skipped };
}

/** Whether a folder, or the nearest one that exists above it, is really below the root: a link could lead elsewhere. */
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

async function replaceFile(git: CheckpointGit, target: string, { mode, id }: TreeEntry): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.hermes-${randomUUID()}`;
  try {
    const content = await git.readBlob(id);
    if (mode === LINK) await symlink(content.toString(), temporary);
    else {
      const old = await unlessMissing(lstat(target));
      await writeFile(temporary, content, { flag: "wx" });
      if (old?.isFile()) await chmod(temporary, old.mode & 0o666);
      if (mode === PROGRAM) await chmod(temporary, ((old?.mode ?? 0o644) & 0o777) | 0o111);
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
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
      () => false, // it has other files
    );
    if (!isRemoved) return;
  }
}
