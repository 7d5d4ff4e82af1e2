import { isAbsolute } from "node:path";
import type { AttachmentFolders } from "../board/attachments/attachment-files.ts";
import type { BoardClient } from "../board/board-client.ts";
import { DEFAULT_BOARD } from "../board/board-slug.ts";
import type { BoardStore } from "../board/board-store.ts";
import type { Caller } from "../board/caller.ts";
import type { NewTask } from "../board/operations/tasks/create-task.ts";
import type { BoardsLocation } from "../board/registry/boards-location.ts";
import { findCurrentBoard } from "../board/registry/current-board.ts";
import { listBoards } from "../board/registry/list-boards.ts";
import { findOwnRun } from "../board/worker/find-own-run.ts";
import { boardFolders } from "../board/workspaces/board-folders.ts";
import type { WorkspaceLocation } from "../board/workspaces/workspace.ts";
import { type LoadedConfig, loadConfig } from "../config/load-config.ts";
import { AppError } from "../lib/errors.ts";
import { listProfiles } from "../profiles/profile-store.ts";
import type { App } from "./app.ts";

const LIST_WITHIN_MS = 60_000;

/** Selects a board and its operator. */
export interface BoardChoice {
  /** `--board`. */
  readonly slug: string | undefined;
  readonly operator: string;
  /** Whether to create the board if it does not exist. */
  readonly create?: boolean;
}

/** A board with its caller: a person or, in a worker's shell, the run. */
export interface AppBoard extends AsyncDisposable {
  readonly store: BoardStore;
  readonly caller: Caller;
  readonly client: BoardClient;
}

/** The location of all boards: that of the run of this process, if any; else the root home of all profiles, or a server. */
export function boardsLocation({
  profile,
  resolved,
  runBoards,
}: Pick<App, "profile" | "resolved" | "runBoards">): BoardsLocation {
  if (runBoards !== undefined) return runBoards;
  return {
    root: resolved.variable("HERMES_KANBAN_HOME") || profile.root,
    databaseUrl: resolved.config.kanban.database_url,
  };
}

/** The slugs of the boards of this home or its server, the default board first. */
export function findBoards(
  app: App,
  signal = AbortSignal.timeout(LIST_WITHIN_MS),
): Promise<readonly string[]> {
  return listBoards(boardsLocation(app), signal);
}

/** Maximum bytes of attachments that the database holds for all hosts; undefined for boards of one host. */
export function sharedAttachmentLimit(
  app: App,
  { databaseUrl }: { readonly databaseUrl: string } = boardsLocation(app),
): number | undefined {
  return databaseUrl === "" ? undefined : app.resolved.config.kanban.shared_attachments_mb * 1024 * 1024;
}

/** Opens the board of `--board` or HERMES_KANBAN_BOARD, else the current board if it still exists, else the default. */
export async function openAppBoard(app: App, choice: BoardChoice, signal: AbortSignal): Promise<AppBoard> {
  const { openBoardStore } = await import("../board/board-store.ts");
  const location = boardsLocation(app);
  const findRunCaller = async (store: BoardStore): Promise<Caller | undefined> => {
    const run = findOwnRun((name) => app.resolved.variable(name));
    if (run === undefined) return undefined;
    const { loadRunCaller } = await import("../board/worker/run-token.ts");
    return loadRunCaller(store, location, run, signal);
  };
  const open = async (slug: string, create = false): Promise<AppBoard> => {
    const store = await openBoardStore({ ...location, slug, create }, {}, signal);
    const caller = (await findRunCaller(store)) ?? ({ kind: "operator", name: choice.operator } as const);
    return {
      store,
      caller,
      client: store.as(caller),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  };
  const named = choice.slug ?? (app.resolved.variable("HERMES_KANBAN_BOARD") || undefined);
  if (named !== undefined) return open(named, choice.create);
  const current = await findCurrentBoard(location.root);
  if (current === undefined) return open(DEFAULT_BOARD);
  try {
    return await open(current);
  } catch (error) {
    // The current board may have been removed.
    const isStale =
      error instanceof AppError && ["board-not-found", "board-slug-invalid"].includes(error.code);
    if (isStale) return open(DEFAULT_BOARD);
    throw error;
  }
}

/** A board that is open for the profile of this process. */
export interface BoardOfApp {
  readonly app: App;
  readonly store: BoardStore;
}

export function attachmentFolders({ app, store }: BoardOfApp): AttachmentFolders {
  const folders = boardFolders(boardsLocation(app).root, store.slug);
  return { ...folders, now: Date.now, sharedLimitBytes: sharedAttachmentLimit(app) };
}

/** The workspace folders of a board and its default repository. */
export async function loadWorkspaceFolders(
  { app, store }: BoardOfApp,
  signal: AbortSignal,
): Promise<WorkspaceLocation> {
  return {
    ...boardFolders(boardsLocation(app).root, store.slug),
    now: Date.now,
    home: app.userHome,
    defaultWorkdir: await loadDefaultWorkdir(app, store, signal),
    env: app.variables,
  };
}

/** The repository for worktree tasks without a path: from the board, else from the settings. */
export async function loadDefaultWorkdir(
  { resolved }: App,
  store: BoardStore,
  signal: AbortSignal,
): Promise<string | null> {
  return (await store.board(signal)).default_workdir ?? (resolved.config.kanban.default_workdir || null);
}

/** Throws for a new task whose worker could not be started. */
export async function requireStartable(
  { app, store }: BoardOfApp,
  { workspaceKind, workspacePath, modelOverride, providerOverride, assignee }: NewTask,
  signal: AbortSignal,
): Promise<void> {
  await requireProvider(app, { model: modelOverride, provider: providerOverride, assignee });
  if (workspaceKind !== "worktree") return;
  const defaultWorkdir = await loadDefaultWorkdir(app, store, signal);
  if (workspacePath !== undefined || defaultWorkdir !== null)
    return requireRepository(app, { workspacePath, defaultWorkdir }, signal);
  throw new AppError(
    "task-input-invalid",
    `A worktree needs a repository, and the board ${store.slug} has no default repository.`,
    {
      hint: `Write worktree:PATH, or set a default for the board: \`hermes kanban boards set-default-workdir ${store.slug} PATH\`.`,
    },
  );
}

/**
 * Throws unless a worktree can be made at the path of a task, or else in the default repository. On a server, nothing is checked:
 * the paths may be those of another host.
 */
export async function requireRepository(
  app: App,
  {
    workspacePath = null,
    defaultWorkdir,
  }: { readonly workspacePath?: string | null | undefined; readonly defaultWorkdir: string | null },
  signal: AbortSignal,
): Promise<void> {
  const path = workspacePath ?? defaultWorkdir;
  const { root, databaseUrl } = boardsLocation(app);
  if (databaseUrl !== "" || path === null || !isAbsolute(path)) return; // the store refuses a relative path
  const { findWorktreeLocation } = await import("../board/workspaces/git/find-worktree-location.ts");
  const folders = { ...boardFolders(root, DEFAULT_BOARD), home: app.userHome, env: app.variables };
  try {
    await findWorktreeLocation(
      { id: "new", branch_name: null, workspace_path: workspacePath },
      { ...folders, now: Date.now, defaultWorkdir },
      signal,
    );
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "workspace-refused") throw error;
    throw new AppError("task-input-invalid", error.message, {
      hint: `Name a folder in a git repository, or make one first: \`git init ${path}\`, with a first commit.`,
      cause: error,
    });
  }
}

/** Throws `provider-unknown` if a task names a provider that is neither built in nor defined by its profile. */
export async function requireProvider(
  app: App,
  wanted: { readonly [Name in "model" | "provider" | "assignee"]?: string | null | undefined },
): Promise<void> {
  const { model, provider, assignee } = wanted;
  if (!provider && !model?.includes(":")) return;
  const { requireKnownProvider } = await import("../providers/routes/choose-provider.ts");
  const { config, variable } = await loadSettingsOf(app, assignee ?? null);
  requireKnownProvider(config, { model: model ?? undefined, provider: provider ?? undefined }, variable);
}

/** The settings of the assignee if it is a profile of this home, because a profile may define its own `providers`. */
async function loadSettingsOf(
  { profile, resolved, variables }: App,
  assignee: string | null,
): Promise<LoadedConfig> {
  if (assignee === null || assignee === profile.name) return resolved;
  const other = (await listProfiles(profile.root)).find(({ name }) => name === assignee);
  return other === undefined ? resolved : loadConfig(other, { variables });
}
