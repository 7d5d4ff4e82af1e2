import { describeFailure, requireIdle, requireNoFailedBoards } from "../../../app/profiles/idle-boards.ts";
import {
  findRootBoards,
  findSettingsNaming,
  type RootBoards,
} from "../../../app/profiles/profile-references.ts";
import type { BoardStore } from "../../../board/board-store.ts";
import { parseAssignee } from "../../../board/task-text.ts";
import { updateStableLink } from "../../../environments/docker/spec/stable-folder.ts";
import { AppError } from "../../../lib/errors.ts";
import {
  describePending,
  dropPendingRename,
  findPendingRename,
  nameOfRenamed,
  type PendingRename,
  renameUnfinishedError,
  savePendingRename,
  withProfilesLock,
} from "../../../profiles/pending-rename.ts";
import {
  findActiveName,
  isFolder,
  type Profile,
  profileAt,
  requireProfile,
} from "../../../profiles/profile.ts";
import { saveProfileDescription } from "../../../profiles/profile-description.ts";
import { ensureProfileId } from "../../../profiles/profile-id.ts";
import { DEFAULT_PROFILE, parseNewProfileName, parseProfileName } from "../../../profiles/profile-name.ts";
import { activateProfile, renameProfile } from "../../../profiles/profile-store.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { userNameOf } from "../kanban/kanban-context.ts";
import { reportProfile, rootFor, summarizeProfile } from "./profile-summary.ts";
import { describeSetting, failureRow } from "./root-boards.ts";

export interface RenameOptions extends JsonOption {
  readonly skipBoards?: boolean;
}

/** `hermes profile rename` renames the folder and the assignee on every board. It also finishes an interrupted rename. */
export async function rename(
  context: CommandContext,
  from: string,
  to: string,
  options: RenameOptions,
): Promise<void> {
  const root = rootFor(context);
  if (parseProfileName(from) === DEFAULT_PROFILE) return renameDefault(context, root, to, options);
  const names = { from: parseProfileName(from), to: parseNewProfileName(to) };
  if (parseAssignee(names.to) === null)
    throw new AppError("profile-name-invalid", `On a board, ${names.to} means "unassigned".`, {
      hint: "Choose another name.",
    });
  if ((await findPendingRename(root)) === undefined) await requireProfile(root, names.from);
  const { profile, boards, failed } = await withProfilesLock(
    root,
    () => renameEverywhere(context, root, names, options),
    context.signal,
  );
  const { terminal } = context;
  const settings = await findSettingsNaming(root, names.from);
  if (options.json) {
    const shown = await summarizeProfile(context, profile);
    const skipped_boards = failed.map(failureRow);
    return terminal.printJson({ ...shown, boards, skipped_boards, settings_left: settings });
  }
  terminal.note(`Renamed to ${profile.name}.`);
  for (const { board, tasks } of boards)
    if (tasks > 0) terminal.note(`  Tasks reassigned on the board ${board}: ${tasks}.`);
  for (const failure of failed)
    terminal.note(
      `  Not done: ${describeFailure(failure)}. Its tasks are still assigned to ${names.from}; reassign them with \`hermes kanban --board ${failure.board ?? "BOARD"} assign TASK ${profile.name}\`.`,
    );
  for (const setting of settings) terminal.note(describeSetting(setting, names.from));
}

async function renameDefault(
  context: CommandContext,
  root: string,
  to: string,
  options: JsonOption,
): Promise<void> {
  const profile = await requireProfile(root, DEFAULT_PROFILE);
  await saveProfileDescription(profile, { displayName: to.trim() }, context.signal);
  const sentence = `The default profile keeps its name and is now shown as ${to.trim()}.`;
  return reportProfile(context, profile, options, sentence);
}

/**
 * Renames on the boards first: once no task has the old name, no worker can start in the folder that is about to move. Then renames
 * the folder, and the boards again, for tasks created in the meantime. Every step can be repeated.
 */
async function renameEverywhere(
  context: CommandContext,
  root: string,
  names: Omit<PendingRename, "id">,
  { skipBoards }: RenameOptions,
) {
  const { signal } = context;
  const unfinishedRename = await findPendingRename(root);
  if (
    unfinishedRename !== undefined &&
    (unfinishedRename.from !== names.from || unfinishedRename.to !== names.to)
  )
    throw renameUnfinishedError(unfinishedRename);
  const pending = unfinishedRename ?? (await planRename(root, names));
  const isMoved = unfinishedRename !== undefined && (await isAlreadyMoved(root, unfinishedRename));
  const unchanged =
    unfinishedRename === undefined ? "Nothing was renamed" : describePending(unfinishedRename);

  const boards = await findRootBoards(root, context.choice, signal);
  const checked = await boards.visit((store) => requireIdle(store, pending.from, signal));
  requireNoFailedBoards(checked.failed, unchanged, skipBoards);
  if (unfinishedRename === undefined) await savePendingRename(root, pending);

  const first = await renameOnBoards(context, boards, pending);
  requireNoFailedBoards(first.failed, describePending(pending), skipBoards);
  const profile = isMoved
    ? await followActive(root, pending)
    : await renameProfile(root, pending.from, pending.to);
  await updateStableLink(profile, pending.id);
  const second = await renameOnBoards(context, boards, pending);
  requireNoFailedBoards(second.failed, describePending(pending), skipBoards);
  await dropPendingRename(root);
  return { profile, boards: addUp([...first.visited, ...second.visited]), failed: second.failed };
}

async function planRename(root: string, { from, to }: Omit<PendingRename, "id">): Promise<PendingRename> {
  const profile = await requireProfile(root, from);
  if (await isFolder(profileAt(root, to).home))
    throw new AppError("profile-exists", `There is already a profile ${to}.`);
  return { from, to, id: await ensureProfileId(profile) };
}

/** Whether the folder already has the new name. Throws and drops the rename if the profile has neither name. */
async function isAlreadyMoved(root: string, pending: PendingRename): Promise<boolean> {
  const name = await nameOfRenamed(root, pending);
  if (name !== undefined) return name === pending.to;
  await dropPendingRename(root);
  throw new AppError(
    "profile-not-found",
    `The profile ${pending.from} no longer exists, so its rename was abandoned.`,
    {
      hint: `Tasks may still be assigned to ${pending.from} or ${pending.to}; see \`hermes kanban diagnostics\`.`,
    },
  );
}

/** Repeats the last step of `renameProfile`, which a killed process may not have done. */
async function followActive(root: string, { from, to }: PendingRename): Promise<Profile> {
  if ((await findActiveName(root)) === from) return activateProfile(root, to);
  return requireProfile(root, to);
}

function renameOnBoards(context: CommandContext, boards: RootBoards, { from, to }: PendingRename) {
  const { signal } = context;
  return boards.visit(async (store: BoardStore) => {
    try {
      const caller = { kind: "operator", name: userNameOf(context) } as const;
      return await store.as(caller).renameProfile(from, to, signal);
    } catch (error) {
      // A task has started since the check; requireIdle reports which one and how to end it.
      if (error instanceof AppError && error.code === "task-running") await requireIdle(store, from, signal);
      throw error;
    }
  });
}

/** The number of reassigned tasks on each board. */
function addUp(visited: readonly { readonly board: string; readonly result: number }[]) {
  const sums = new Map<string, number>();
  for (const { board, result } of visited) sums.set(board, (sums.get(board) ?? 0) + result);
  return [...sums].map(([board, tasks]) => ({ board, tasks }));
}
