import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../../lib/errors.ts";
import { withFileLock } from "../../../lib/file-lock.ts";
import { readTextFile, writeFileAtomic } from "../../../lib/files.ts";
import { profileAt } from "../../../profiles/profile.ts";
import { findProfileId } from "../../../profiles/profile-id.ts";

const pendingRename = z.strictObject({ from: z.string(), to: z.string(), id: z.string() });

/** A rename that has begun. It is kept beside the profiles from before its first change until after its last. */
export type PendingRename = z.infer<typeof pendingRename>;

/** The rename that was begun and not finished, by a process that may be dead. */
export async function findPendingRename(root: string): Promise<PendingRename | undefined> {
  const text = await readTextFile(journal(root));
  if (text === undefined) return undefined;
  try {
    return pendingRename.parse(JSON.parse(text));
  } catch (error) {
    throw new AppError("file-unreadable", `${journal(root)} does not say which profile was being renamed.`, {
      hint: "Look at `hermes profile list` and the assignees of tasks, and then remove it.",
      cause: error,
    });
  }
}

export async function savePendingRename(root: string, rename: PendingRename): Promise<void> {
  await writeFileAtomic(journal(root), `${JSON.stringify(rename)}\n`, { mode: 0o600 });
}

export async function dropPendingRename(root: string): Promise<void> {
  await rm(journal(root), { force: true });
}

/** Which of its two names the profile has now; undefined when it has neither, so that there is nothing to finish. */
export async function nameOfRenamed(
  root: string,
  { from, to, id }: PendingRename,
): Promise<string | undefined> {
  for (const name of [from, to]) if ((await findProfileId(profileAt(root, name))) === id) return name;
  return undefined;
}

/** Throws while a rename is unfinished that has to do with one of these names: tasks would get into wrong hands. */
export async function requireNoPendingRename(root: string, ...names: readonly string[]): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined && names.some((name) => name === pending.from || name === pending.to))
    throw unfinished(pending);
}

export function unfinished(pending: PendingRename): AppError {
  return new AppError("profile-rename-unfinished", `${describePending(pending)}.`, {
    hint: `Finish it first with \`${commandOf(pending)}\`.`,
  });
}

export function describePending({ from, to }: PendingRename): string {
  return `Renaming the profile ${from} to ${to} was begun and is not finished`;
}

export function commandOf({ from, to }: PendingRename): string {
  return `hermes profile rename ${from} ${to}`;
}

/** Keeps two from making, renaming or deleting profiles at once. */
export function withProfilesLock<Result>(
  root: string,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return withFileLock(join(root, "profiles.lock"), action, signal);
}

/** In the folder of the profiles: who can write it can also rename them. */
function journal(root: string): string {
  return join(root, "profiles", ".renaming.json");
}
