import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../lib/errors.ts";
import { withFileLock } from "../lib/files/file-lock.ts";
import { readTextFile, writeFileAtomic } from "../lib/files/files.ts";
import { profileAt } from "./profile.ts";
import { findProfileId } from "./profile-id.ts";

const pendingRename = z.strictObject({ from: z.string(), to: z.string(), id: z.string() });

/** The journal of a rename, stored before its first change and removed after its last. */
export type PendingRename = z.infer<typeof pendingRename>;

/** Finds an unfinished rename, whose process may have exited. */
export async function findPendingRename(root: string): Promise<PendingRename | undefined> {
  const text = await readTextFile(journal(root));
  if (text === undefined) return undefined;
  try {
    return pendingRename.parse(JSON.parse(text));
  } catch (error) {
    throw new AppError(
      "file-unreadable",
      `${journal(root)} is damaged, so it is unknown which profile was being renamed.`,
      {
        hint: "Check `hermes profile list` and the assignees of tasks, then remove the file.",
        cause: error,
      },
    );
  }
}

export async function savePendingRename(root: string, rename: PendingRename): Promise<void> {
  await writeFileAtomic(journal(root), `${JSON.stringify(rename)}\n`, { mode: 0o600 });
}

export async function dropPendingRename(root: string): Promise<void> {
  await rm(journal(root), { force: true });
}

/** The current name of the renamed profile; undefined if it has neither of the two names, for instance because it was deleted. */
export async function nameOfRenamed(
  root: string,
  { from, to, id }: PendingRename,
): Promise<string | undefined> {
  for (const name of [from, to]) if ((await findProfileId(profileAt(root, name))) === id) return name;
  return undefined;
}

/** Throws if an unfinished rename involves one of these names, because tasks would go to the wrong profile. */
export async function requireNoPendingRename(root: string, ...names: readonly string[]): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined && names.some((name) => name === pending.from || name === pending.to))
    throw renameUnfinishedError(pending);
}

export function renameUnfinishedError(pending: PendingRename): AppError {
  return new AppError("profile-rename-unfinished", `${describePending(pending)}.`, {
    hint: `Finish it first with \`${commandOf(pending)}\`.`,
  });
}

export function describePending({ from, to }: PendingRename): string {
  return `Renaming the profile ${from} to ${to} was started but not finished`;
}

export function commandOf({ from, to }: PendingRename): string {
  return `hermes profile rename ${from} ${to}`;
}

/** Serialises creating, renaming and deleting profiles. */
export function withProfilesLock<Result>(
  root: string,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return withFileLock(join(root, "profiles.lock"), action, signal);
}

/** The path of the journal: in the folder of the profiles, so that it has the same permissions. */
function journal(root: string): string {
  return join(root, "profiles", ".renaming.json");
}
