import { rm } from "node:fs/promises";
import type { FailedVisit } from "../../board/registry/visit-boards.ts";
import type { ConfigSources } from "../../config/load-config.ts";
import { AppError } from "../../lib/errors.ts";
import {
  findPendingRename,
  nameOfRenamed,
  renameUnfinishedError,
  withProfilesLock,
} from "../../profiles/pending-rename.ts";
import type { Profile } from "../../profiles/profile.ts";
import { DEFAULT_PROFILE } from "../../profiles/profile-name.ts";
import { deleteProfile } from "../../profiles/profile-store.ts";
import { requireIdle, requireNoFailedBoards } from "./idle-boards.ts";
import {
  findRootBoards,
  findSettingsNaming,
  type NamingSetting,
  type RemovedSandboxes,
  removeSandboxes,
} from "./profile-references.ts";

/** The open tasks of a profile on all boards, and the boards that could not be checked. */
export interface TasksLeft {
  readonly tasks: readonly {
    readonly board: string;
    readonly count: number;
    /** Only the first few. */
    readonly ids: readonly string[];
  }[];
  readonly failed: readonly FailedVisit[];
}

export interface RemovalOptions {
  /** Deletes the data immediately instead of keeping it for thirty days. */
  readonly now: boolean;
  /** Ignores boards that cannot be opened. */
  readonly skipBoards: boolean;
}

export interface RemovedProfile {
  /** Where the data is kept; undefined if it was deleted immediately. */
  readonly keptIn: string | undefined;
  readonly left: TasksLeft;
  readonly sandboxes: RemovedSandboxes;
  /** Settings of other profiles that still contain the name. */
  readonly settings: readonly NamingSetting[];
}

/** Throws for the default profile, which is the home itself. */
export function requireRemovable({ name }: Profile): void {
  if (name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be deleted.");
}

/** The open tasks of the profile on all boards. Throws if one of its tasks is running. */
export async function checkTasksLeft(
  { name, root }: Profile,
  { skipBoards }: Pick<RemovalOptions, "skipBoards">,
  sources: ConfigSources,
  signal: AbortSignal,
): Promise<TasksLeft> {
  const boards = await findRootBoards(root, sources, signal);
  const { visited, failed } = await boards.visit((store) => requireIdle(store, name, signal));
  requireNoFailedBoards(failed, "Nothing was deleted", skipBoards);
  const left = visited.filter(({ result }) => result.open > 0);
  return { tasks: left.map(({ board, result: { open: count, ids } }) => ({ board, count, ids })), failed };
}

/** Deletes a profile and its sandboxes. Throws without deleting anything if one of its tasks is running. */
export async function removeProfile(
  profile: Profile,
  options: RemovalOptions,
  sources: ConfigSources,
  signal: AbortSignal,
): Promise<RemovedProfile> {
  requireRemovable(profile);
  const [aside, left, sandboxes] = await withProfilesLock(
    profile.root,
    async () => {
      await requireNotRenaming(profile);
      const left = await checkTasksLeft(profile, options, sources, signal);
      // Before the home is deleted: afterwards, no command could find the sandboxes.
      const sandboxes = await removeSandboxes(profile, { permanently: options.now }, sources, signal);
      return [await deleteProfile(profile.root, profile.name, new Date()), left, sandboxes] as const;
    },
    signal,
  );
  if (options.now) await rm(aside, { recursive: true, force: true });
  const settings = await findSettingsNaming(profile.root, profile.name);
  return { keptIn: options.now ? undefined : aside, left, sandboxes, settings };
}

/** Throws if the profile is being renamed. Compares ids, because another profile may have one of the two names. */
async function requireNotRenaming({ root, name }: Profile): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined && (await nameOfRenamed(root, pending)) === name)
    throw renameUnfinishedError(pending);
}
