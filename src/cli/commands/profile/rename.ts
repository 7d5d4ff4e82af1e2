import type { BoardStore } from "../../../board/board-store.ts";
import { parseAssignee } from "../../../board/task-text.ts";
import type { FailedVisit } from "../../../board/visit-boards.ts";
import { followRename } from "../../../environments/docker/stable-folder.ts";
import { AppError } from "../../../lib/errors.ts";
import {
  findActiveName,
  isFolder,
  type Profile,
  profileAt,
  requireProfile,
} from "../../../profiles/profile.ts";
import { saveProfileCard } from "../../../profiles/profile-card.ts";
import { ensureProfileId } from "../../../profiles/profile-id.ts";
import { DEFAULT_PROFILE, parseNewProfileName, parseProfileName } from "../../../profiles/profile-name.ts";
import { activateProfile, renameProfile } from "../../../profiles/profile-store.ts";
import type { CommandContext } from "../../context.ts";
import { personOf } from "../kanban/desk.ts";
import {
  describePending,
  dropPendingRename,
  findPendingRename,
  nameOfRenamed,
  type PendingRename,
  savePendingRename,
  unfinished,
  withProfilesLock,
} from "./pending-rename.ts";
import { activeName, type JsonOption, rootFor, summary, tell } from "./profile-desk.ts";
import {
  describeFailure,
  failureRow,
  findRootBoards,
  type RootBoards,
  requireAll,
  requireIdle,
} from "./root-boards.ts";
import { describeSetting, findSettingsNaming } from "./settings-naming.ts";

export interface RenameOptions extends JsonOption {
  readonly skipBoards?: boolean;
}

/** `hermes profile rename`: the folder, and the name on every board. What was begun is finished by the same command. */
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
    throw new AppError("profile-name-invalid", `On a board ${names.to} means nobody.`, {
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
    const shown = await summary(profile, await activeName(context));
    const skipped_boards = failed.map(failureRow);
    return terminal.printJson({ ...shown, boards, skipped_boards, settings_left: settings });
  }
  terminal.note(`Renamed to ${profile.name}.`);
  for (const { board, tasks } of boards)
    if (tasks > 0) terminal.note(`  Tasks on the board ${board} that name it ${profile.name} now: ${tasks}.`);
  for (const failure of failed)
    terminal.note(
      `  Not done: ${describeFailure(failure)}. Tasks there still name ${names.from}; give them away with \`hermes kanban --board ${failure.board ?? "BOARD"} assign TASK ${profile.name}\`.`,
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
  await saveProfileCard(profile, { displayName: to.trim() }, context.signal);
  const said = `The default profile keeps its name and is now shown as ${to.trim()}.`;
  return tell(context, profile, options, said);
}

interface Renamed {
  readonly profile: Profile;
  /** How many tasks follow the profile on each. */
  readonly boards: readonly { readonly board: string; readonly tasks: number }[];
  readonly failed: readonly FailedVisit[];
}

/**
 * Boards come first: once none has a task of the old name, no worker can start in a folder that is about to move. They
 * are gone through again afterwards for tasks that were made meanwhile. Every step can be repeated.
 */
async function renameEverywhere(
  context: CommandContext,
  root: string,
  names: Omit<PendingRename, "id">,
  { skipBoards }: RenameOptions,
): Promise<Renamed> {
  const { signal } = context;
  const begun = await findPendingRename(root);
  if (begun !== undefined && (begun.from !== names.from || begun.to !== names.to)) throw unfinished(begun);
  const pending = begun ?? (await planRename(root, names));
  const isMoved = begun !== undefined && (await isAlreadyMoved(root, begun));
  const unchanged = begun === undefined ? "Nothing was renamed" : describePending(begun);

  const boards = await findRootBoards(context, root);
  const checked = await boards.visit((store) => requireIdle(store, pending.from, signal));
  requireAll(checked.failed, unchanged, skipBoards);
  if (begun === undefined) await savePendingRename(root, pending);

  const first = await renameOnBoards(context, boards, pending);
  requireAll(first.failed, describePending(pending), skipBoards);
  const profile = isMoved
    ? await followActive(root, pending)
    : await renameProfile(root, pending.from, pending.to);
  await followRename(profile, pending.id);
  const second = await renameOnBoards(context, boards, pending);
  requireAll(second.failed, describePending(pending), skipBoards);
  await dropPendingRename(root);
  return { profile, boards: addUp([...first.visited, ...second.visited]), failed: second.failed };
}

async function planRename(root: string, { from, to }: Omit<PendingRename, "id">): Promise<PendingRename> {
  const profile = await requireProfile(root, from);
  if (await isFolder(profileAt(root, to).home))
    throw new AppError("profile-exists", `There is already a profile ${to}.`);
  return { from, to, id: await ensureProfileId(profile) };
}

/** Whether its folder has the new name; a profile that has neither name any more is forgotten. */
async function isAlreadyMoved(root: string, pending: PendingRename): Promise<boolean> {
  const name = await nameOfRenamed(root, pending);
  if (name !== undefined) return name === pending.to;
  await dropPendingRename(root);
  throw new AppError(
    "profile-not-found",
    `The profile that was ${pending.from} is gone, so its renaming was given up.`,
    {
      hint: `Tasks may be left for ${pending.from} and ${pending.to}; see \`hermes kanban diagnostics\`.`,
    },
  );
}

/** The last step of `renameProfile`, which a process that died may not have come to. */
async function followActive(root: string, { from, to }: PendingRename): Promise<Profile> {
  if ((await findActiveName(root)) === from) return activateProfile(root, to);
  return requireProfile(root, to);
}

function renameOnBoards(context: CommandContext, boards: RootBoards, { from, to }: PendingRename) {
  const { signal } = context;
  return boards.visit(async (store: BoardStore) => {
    try {
      const caller = { kind: "operator", name: personOf(context) } as const;
      return await store.as(caller).renameProfile(from, to, signal);
    } catch (error) {
      // One has started since they were looked at; said with where it is and how to end it.
      if (error instanceof AppError && error.code === "task-running") await requireIdle(store, from, signal);
      throw error;
    }
  });
}

function addUp(visited: readonly { readonly board: string; readonly result: number }[]): Renamed["boards"] {
  const sums = new Map<string, number>();
  for (const { board, result } of visited) sums.set(board, (sums.get(board) ?? 0) + result);
  return [...sums].map(([board, tasks]) => ({ board, tasks }));
}
