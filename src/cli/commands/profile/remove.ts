import { rm } from "node:fs/promises";
import type { FailedVisit } from "../../../board/visit-boards.ts";
import { AppError } from "../../../lib/errors.ts";
import { type Profile, requireProfile } from "../../../profiles/profile.ts";
import { DEFAULT_PROFILE } from "../../../profiles/profile-name.ts";
import { deleteProfile } from "../../../profiles/profile-store.ts";
import type { CommandContext } from "../../context.ts";
import { findPendingRename, nameOfRenamed, unfinished, withProfilesLock } from "./pending-rename.ts";
import { type JsonOption, rootFor } from "./profile-desk.ts";
import { removeSandboxes } from "./remove-sandboxes.ts";
import { describeFailure, failureRow, findRootBoards, requireAll, requireIdle } from "./root-boards.ts";
import { describeSetting, findSettingsNaming } from "./settings-naming.ts";

export interface RemoveOptions extends JsonOption {
  readonly yes?: boolean;
  readonly now?: boolean;
  readonly skipBoards?: boolean;
}

/** `hermes profile delete`: moves it aside and says which tasks nobody does any more. */
export async function remove(context: CommandContext, name: string, options: RemoveOptions): Promise<void> {
  const { terminal, signal } = context;
  const profile = await requireProfile(rootFor(context), name);
  if (profile.name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be deleted.");
  if (!options.yes) await confirm(context, profile, await lookAtBoards(context, profile, options));
  const [aside, left, sandboxes] = await withProfilesLock(
    profile.root,
    async () => {
      await requireNotRenaming(profile);
      const left = await lookAtBoards(context, profile, options);
      // Before its home: a profile that is left without its sandboxes can still be deleted, the reverse nobody finds.
      const sandboxes = await removeSandboxes(context, profile, { forGood: options.now ?? false });
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
    ? "Removed for good."
    : `It is kept for thirty days in ${aside}; move it back to ${profile.home} to restore it.`;
  terminal.note(`Deleted ${profile.name}. ${fate}`);
  if (sandboxes.removed.length > 0)
    terminal.note(`  Its sandboxes were removed: ${sandboxes.removed.join(", ")}.`);
  for (const problem of sandboxes.problems) terminal.note(`  ${problem}`);
  for (const { board, count, ids, reassign } of left.tasks) {
    const more = count > ids.length ? ", …" : "";
    terminal.note(
      `  Left behind on the board ${board}: ${count} open tasks of ${profile.name} (${ids.join(", ")}${more}). Give each to another profile with \`${reassign}\`.`,
    );
  }
  for (const failure of left.failed)
    terminal.note(
      `  Not looked at: ${describeFailure(failure)}. Tasks of ${profile.name} may be left there.`,
    );
  for (const setting of settings) terminal.note(describeSetting(setting, profile.name));
}

interface LeftBehind {
  readonly tasks: readonly {
    readonly board: string;
    readonly count: number;
    /** The first few. */
    readonly ids: readonly string[];
    readonly reassign: string;
  }[];
  readonly failed: readonly FailedVisit[];
}

/** What the profile would leave behind; throws while one of its tasks runs. */
async function lookAtBoards(
  context: CommandContext,
  profile: Profile,
  { skipBoards }: RemoveOptions,
): Promise<LeftBehind> {
  const boards = await findRootBoards(context, profile.root);
  const { visited, failed } = await boards.visit((store) => requireIdle(store, profile.name, context.signal));
  requireAll(failed, "Nothing was deleted", skipBoards);
  const tasks = visited.flatMap(({ board, result: { open: count, ids } }) =>
    count === 0
      ? []
      : [
          {
            board,
            count,
            ids,
            reassign: `hermes kanban --board ${board} assign ${ids[0] ?? "TASK"} PROFILE`,
          },
        ],
  );
  return { tasks, failed };
}

async function confirm(
  { terminal, signal }: CommandContext,
  { name }: Profile,
  { tasks }: LeftBehind,
): Promise<void> {
  const count = tasks.reduce((sum, board) => sum + board.count, 0);
  const left = count === 0 ? "" : ` and leave ${count} open tasks to nobody`;
  const typed = await terminal.ask(
    `Type ${name} to delete it with its settings, secrets and sessions${left}: `,
    signal,
  );
  if (typed === undefined) throw new AppError("confirmation-missing", `Deleting ${name} needs a yes.`);
  if (typed.trim() !== name)
    throw new AppError("confirmation-missing", "That was not the name; nothing was deleted.");
}

/** By its id: another profile that has one of the two names may go. */
async function requireNotRenaming({ root, name }: Profile): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined && (await nameOfRenamed(root, pending)) === name) throw unfinished(pending);
}
