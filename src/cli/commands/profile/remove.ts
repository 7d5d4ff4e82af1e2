import { describeFailure } from "../../../app/profiles/idle-boards.ts";
import {
  checkTasksLeft,
  removeProfile,
  requireRemovable,
  type TasksLeft,
} from "../../../app/profiles/remove-profile.ts";
import { AppError } from "../../../lib/errors.ts";
import { type Profile, requireProfile } from "../../../profiles/profile.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { rootFor } from "./profile-summary.ts";
import { describeSetting, failureRow } from "./root-boards.ts";

export interface RemoveOptions extends JsonOption {
  readonly yes?: boolean;
  readonly now?: boolean;
  readonly skipBoards?: boolean;
}

/** `hermes profile delete` moves the profile aside and lists its open tasks. */
export async function remove(context: CommandContext, name: string, options: RemoveOptions): Promise<void> {
  const { terminal, choice, signal } = context;
  const profile = await requireProfile(rootFor(context), name);
  requireRemovable(profile);
  const { now = false, skipBoards = false } = options;
  if (!options.yes)
    await confirm(context, profile, await checkTasksLeft(profile, { skipBoards }, choice, signal));
  const removed = await removeProfile(profile, { now, skipBoards }, choice, signal);
  const { keptIn, left, sandboxes, settings } = removed;
  const tasks = left.tasks.map((row) => ({
    ...row,
    reassign: `hermes kanban --board ${row.board} assign ${row.ids[0] ?? "TASK"} PROFILE`,
  }));
  if (options.json) {
    terminal.printJson({
      name: profile.name,
      deleted: true,
      kept_in: keptIn ?? null,
      sandboxes_removed: sandboxes.removed,
      sandboxes_left: sandboxes.problems,
      tasks_left: tasks,
      skipped_boards: left.failed.map(failureRow),
      settings_left: settings,
    });
    return;
  }
  const fate =
    keptIn === undefined
      ? "Its data was deleted."
      : `Its data is kept for thirty days in ${keptIn}; move it back to ${profile.home} to restore the profile.`;
  terminal.note(`Deleted ${profile.name}. ${fate}`);
  if (sandboxes.removed.length > 0)
    terminal.note(`  Removed its sandboxes: ${sandboxes.removed.join(", ")}.`);
  for (const problem of sandboxes.problems) terminal.note(`  ${problem}`);
  for (const { board, count, ids, reassign } of tasks) {
    const more = count > ids.length ? ", …" : "";
    terminal.note(
      `  The board ${board} still has ${count} open tasks of ${profile.name} (${ids.join(", ")}${more}). Assign each to another profile with \`${reassign}\`.`,
    );
  }
  for (const failure of left.failed)
    terminal.note(`  Not checked: ${describeFailure(failure)}. It may still have tasks of ${profile.name}.`);
  for (const setting of settings) terminal.note(describeSetting(setting, profile.name));
}

async function confirm(
  { terminal, signal }: CommandContext,
  { name }: Profile,
  { tasks }: TasksLeft,
): Promise<void> {
  const count = tasks.reduce((sum, board) => sum + board.count, 0);
  const left = count === 0 ? "" : ` and leave ${count} open tasks without a profile`;
  const typed = await terminal.ask(
    `Type ${name} to delete it with its settings, secrets and sessions${left}: `,
    signal,
  );
  if (typed === undefined) throw new AppError("confirmation-missing", `Deleting ${name} needs confirmation.`);
  if (typed.trim() !== name)
    throw new AppError("confirmation-missing", "The name does not match; nothing was deleted.");
}
