import { rm } from "node:fs/promises";
import { findRootBoards, findSettingsNaming, removeSandboxes } from "../../../app/profile-references.ts";
import { AppError } from "../../../lib/errors.ts";
import { formatCount } from "../../../lib/text/format-count.ts";
import {
  findPendingRename,
  nameOfRenamed,
  renameUnfinishedError,
  withProfilesLock,
} from "../../../profiles/pending-rename.ts";
import { type Profile, requireProfile } from "../../../profiles/profile.ts";
import { DEFAULT_PROFILE } from "../../../profiles/profile-name.ts";
import { deleteProfile } from "../../../profiles/profile-store.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { rootFor } from "./profile-summary.ts";
import {
  describeFailure,
  describeSetting,
  failureRow,
  requireIdle,
  requireNoFailedBoards,
} from "./root-boards.ts";

export interface RemoveOptions extends JsonOption {
  readonly yes?: boolean;
  readonly now?: boolean;
  readonly skipBoards?: boolean;
}

/** `hermes profile delete` moves the profile aside and lists its open tasks. */
export async function remove(context: CommandContext, name: string, options: RemoveOptions): Promise<void> {
  const { terminal, signal } = context;
  const profile = await requireProfile(rootFor(context), name);
  if (profile.name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be deleted.");
  if (!options.yes) await confirm(context, profile, await checkBoards(context, profile, options));
  const [aside, left, sandboxes] = await withProfilesLock(
    profile.root,
    async () => {
      await requireNotRenaming(profile);
      const left = await checkBoards(context, profile, options);
      // Before the home is deleted: afterwards, no command could find the sandboxes.
      const sandboxes = await removeSandboxes(
        profile,
        { permanently: options.now ?? false },
        context.choice,
        signal,
      );
      return [await deleteProfile(profile.root, profile.name, new Date()), left, sandboxes] as const;
    },
    signal,
  );
  if (options.now) await rm(aside, { recursive: true, force: true });
  const settings = await findSettingsNaming(profile.root, profile.name);
  if (options.json) {
    terminal.printJson({
      name: profile.name,
      deleted: true,
      kept_in: options.now ? null : aside,
      sandboxes_removed: sandboxes.removed,
      sandboxes_left: sandboxes.problems,
      tasks_left: left.tasks,
      skipped_boards: left.failed.map(failureRow),
      settings_left: settings,
    });
    return;
  }
  const fate = options.now
    ? "Its data was deleted."
    : `Its data is kept for thirty days in ${aside}; move it back to ${profile.home} to restore the profile.`;
  terminal.note(`Deleted ${profile.name}. ${fate}`);
  if (sandboxes.removed.length > 0)
    terminal.note(`  Removed its sandboxes: ${sandboxes.removed.join(", ")}.`);
  for (const problem of sandboxes.problems) terminal.note(`  ${problem}`);
  for (const { board, count, ids, reassign } of left.tasks) {
    const more = count > ids.length ? ", …" : "";
    terminal.note(
      `  The board ${board} still has ${formatCount(count, "open task")} of ${profile.name} (${ids.join(", ")}${more}). Assign each to another profile with \`${reassign}\`.`,
    );
  }
  for (const failure of left.failed)
    terminal.note(`  Not checked: ${describeFailure(failure)}. It may still have tasks of ${profile.name}.`);
  for (const setting of settings) terminal.note(describeSetting(setting, profile.name));
}

/** The open tasks of the profile on all boards. Throws if one of its tasks is running. */
async function checkBoards(context: CommandContext, profile: Profile, { skipBoards }: RemoveOptions) {
  const boards = await findRootBoards(profile.root, context.choice, context.signal);
  const { visited, failed } = await boards.visit((store) => requireIdle(store, profile.name, context.signal));
  requireNoFailedBoards(failed, "Nothing was deleted", skipBoards);
  const left = visited.filter(({ result }) => result.open > 0);
  const tasks = left.map(({ board, result: { open: count, ids } }) => {
    const reassign = `hermes kanban --board ${board} assign ${ids[0] ?? "TASK"} PROFILE`;
    return { board, count, ids, reassign }; // `ids` has only the first few
  });
  return { tasks, failed };
}

async function confirm(
  { terminal, signal }: CommandContext,
  { name }: Profile,
  { tasks }: Awaited<ReturnType<typeof checkBoards>>,
): Promise<void> {
  const count = tasks.reduce((sum, board) => sum + board.count, 0);
  const left = count === 0 ? "" : ` and leave ${formatCount(count, "open task")} without a profile`;
  const typed = await terminal.ask(
    `Type ${name} to delete it with its settings, secrets and sessions${left}: `,
    signal,
  );
  if (typed === undefined) throw new AppError("confirmation-missing", `Deleting ${name} needs confirmation.`);
  if (typed.trim() !== name)
    throw new AppError("confirmation-missing", "The name does not match; nothing was deleted.");
}

/** Throws if the profile is being renamed. Compares ids, because another profile may have one of the two names. */
async function requireNotRenaming({ root, name }: Profile): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined && (await nameOfRenamed(root, pending)) === name)
    throw renameUnfinishedError(pending);
}
