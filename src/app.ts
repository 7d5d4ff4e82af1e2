import { DEFAULT_BOARD } from "./board/board-slug.ts";
import type { BoardClient, BoardStore } from "./board/board-store.ts";
import type { BoardsPlace } from "./board/boards-place.ts";
import type { Caller, RunCaller } from "./board/caller.ts";
import { findCurrentBoard } from "./board/current-board.ts";
import { findOwnRun } from "./board/worker/own-run.ts";
import { type LoadedConfig, loadConfig } from "./config/load.ts";
import type { ConversationRequest, OpenConversation } from "./conversation/open-conversation.ts";
import type { EnvironmentRegistry } from "./environments/environment-registry.ts";
import type { EnvironmentFacts } from "./environments/environment-request.ts";
import { AppError, messageOf } from "./lib/errors.ts";
import { ensurePrivateFolder } from "./lib/files.ts";
import type { Log } from "./lib/log/log.ts";
import { type Profile, resolveProfile } from "./profiles/profile.ts";
import { ensureProfileId } from "./profiles/profile-id.ts";

const LOOK_AFTER_WITHIN_MS = 10_000;
/** The settings that decide which model answers, and where. */
const MODEL_KEYS = ["model.default", "model.provider", "model.base_url"];

/** What every entry point starts from: one profile and its settings, read once and handed down. */
export interface App {
  readonly profile: Profile;
  readonly resolved: LoadedConfig;
}

/** From where commands are to run. */
export interface EnvironmentChoice {
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly reporter: EnvironmentFacts["reporter"];
}

export interface AppChoice {
  readonly profile: string | undefined;
  readonly settings: ReadonlyMap<string, string>;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
}

/** Nothing below this file reads the environment, the settings file or a global. */
export async function openApp(choice: AppChoice): Promise<App> {
  const profile = await resolveProfile({
    flag: choice.profile,
    hermesHome: choice.variables["HERMES_HOME"],
    userHome: choice.userHome,
  });
  const resolved = await loadConfig({
    configPath: profile.configPath,
    envPath: profile.envPath,
    variables: choice.variables,
    flags: choice.settings,
  });
  return { profile, resolved };
}

/** What an environment may know: the profile's terminal settings and identity, and nothing else of it. */
export function environmentFacts({ profile, resolved }: App, choice: EnvironmentChoice): EnvironmentFacts {
  return {
    ...choice,
    options: resolved.config.terminal,
    profile,
    profileId: () => ensureProfileId(profile),
    variable: (name) => resolved.variable(name),
  };
}

/** The environments that the conversations of this process share; to be disposed after the last of them. */
export async function openAppEnvironments(
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<EnvironmentRegistry> {
  const [{ createEnvironmentRegistry }, { openEnvironment, lookAfterAbandoned }, { openDeadline }] =
    await Promise.all([
      import("./environments/environment-registry.ts"),
      import("./environments/open-environment.ts"),
      import("./lib/deadline.ts"),
    ]);
  return createEnvironmentRegistry({
    open: openEnvironment,
    async lookAfter(request) {
      using deadline = openDeadline(signal, LOOK_AFTER_WITHIN_MS);
      await lookAfterAbandoned(request, deadline.signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
    onError: (what, error) => tell(`${what} ${messageOf(error)}`),
  });
}

/** A conversation of the profile, on whichever surface. */
export async function openAppConversation(
  { profile, resolved }: App,
  request: Pick<
    ConversationRequest,
    "environments" | "environment" | "task" | "choice" | "model" | "surface" | "reasoningEffort"
  > & {
    /** Where the session is kept instead of with the others of the profile. */
    readonly sessionsPath?: string | undefined;
  },
  signal: AbortSignal,
): Promise<OpenConversation> {
  const [{ openConversation }, { createRedactor }, { judgeHardline }] = await Promise.all([
    import("./conversation/open-conversation.ts"),
    import("./lib/redact/redactor.ts"),
    import("./agent/hardline/judge-hardline.ts"),
    ensurePrivateFolder(profile.home),
  ]);
  const { HOME: home } = request.environment.variables;
  return openConversation(
    {
      ...request,
      home: profile.home,
      sessionsPath: request.sessionsPath ?? profile.sessionsPath,
      settings: resolved.config,
      settingsWin: MODEL_KEYS.some((key) => resolved.settings.get(key)?.origin === "flag"),
      redactor: createRedactor({ secrets: resolved.secrets }),
      judge(command) {
        const judgement = judgeHardline(command, { home });
        return judgement.kind === "refused" ? judgement.message : undefined;
      },
    },
    signal,
  );
}

/** Which board is meant, and who acts on it. */
export interface BoardChoice {
  /** `--board`. */
  readonly slug: string | undefined;
  readonly operator: string;
  /** Whether to make the board if it is not there. */
  readonly create?: boolean;
}

/** A board in the hands of a person or, in the shell of a worker, of its run. */
export interface AppBoard extends AsyncDisposable {
  readonly store: BoardStore;
  readonly caller: Caller;
  readonly client: BoardClient;
}

/** Where all boards are: in the root home, whichever profile asks, or on one server. */
export function boardsPlace({ profile, resolved }: App): BoardsPlace {
  return {
    root: resolved.variable("HERMES_KANBAN_HOME") || profile.root,
    databaseUrl: resolved.config.kanban.database_url,
  };
}

/** How many bytes of attachments the database holds for all hosts; undefined where a board belongs to one host. */
export function sharedAttachmentLimit(
  app: App,
  { databaseUrl }: { readonly databaseUrl: string } = boardsPlace(app),
): number | undefined {
  return databaseUrl === "" ? undefined : app.resolved.config.kanban.shared_attachments_mb * 1024 * 1024;
}

/** What a run of this profile may make on the board. */
export function childLimits({ resolved }: App): NonNullable<RunCaller["limits"]> {
  const { max_children_per_task: maxChildren, max_depth: maxDepth } = resolved.config.kanban;
  return { maxChildren, maxDepth };
}

/** Opens the board of `--board`, else of HERMES_KANBAN_BOARD, else the one switched to if it is still there, else default. */
export async function openAppBoard(app: App, choice: BoardChoice, signal: AbortSignal): Promise<AppBoard> {
  const { openBoardStore } = await import("./board/board-store.ts");
  const place = boardsPlace(app);
  const callerInRun = async (store: BoardStore): Promise<Caller | undefined> => {
    const run = findOwnRun((name) => app.resolved.variable(name));
    if (run === undefined) return undefined;
    const { loadRunCaller } = await import("./board/worker/run-token.ts");
    return { ...(await loadRunCaller(store, place, run, signal)), limits: childLimits(app) };
  };
  const open = async (slug: string, create = false): Promise<AppBoard> => {
    const store = await openBoardStore({ ...place, slug, create }, {}, signal);
    const caller = (await callerInRun(store)) ?? ({ kind: "operator", name: choice.operator } as const);
    return {
      store,
      caller,
      client: store.as(caller),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  };
  const named = choice.slug ?? (app.resolved.variable("HERMES_KANBAN_BOARD") || undefined);
  if (named !== undefined) return open(named, choice.create);
  const current = await findCurrentBoard(place.root);
  if (current === undefined) return open(DEFAULT_BOARD);
  try {
    return await open(current);
  } catch (error) {
    // What was switched to may have been removed since, by whatever means.
    const isStale =
      error instanceof AppError && ["board-not-found", "board-slug-invalid"].includes(error.code);
    if (isStale) return open(DEFAULT_BOARD);
    throw error;
  }
}

/** The profile's logs, which never show one of its secrets. */
export async function openAppLog({ profile, resolved }: App, component: string): Promise<Log & Disposable> {
  const { openLog } = await import("./lib/log/log.ts");
  const { createRedactor } = await import("./lib/redact/redactor.ts");
  const { level, max_size_mb, backup_count } = resolved.config.logging;
  return openLog({
    folder: profile.logsFolder,
    redactor: createRedactor({ secrets: resolved.secrets }),
    level,
    maxSizeBytes: max_size_mb * 1024 * 1024,
    backupCount: backup_count,
    component,
  });
}
