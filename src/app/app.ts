import type { BoardsLocation } from "../board/registry/boards-location.ts";
import { type LoadedConfig, loadConfig } from "../config/load-config.ts";
import type { Log } from "../lib/log/log.ts";
import { type Profile, type ProfileChoice, profileAt, resolveProfile } from "../profiles/profile.ts";
import { DEFAULT_PROFILE } from "../profiles/profile-name.ts";

/** One profile and its settings, which every entry point loads first and passes down. */
export interface App {
  readonly profile: Profile;
  readonly resolved: LoadedConfig;
  /** The boards of the run whose worker started this process. */
  readonly runBoards?: BoardsLocation | undefined;
  /** The environment of the process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** Reads the settings again, with the same flags. */
  reload(): Promise<LoadedConfig>;
}

export interface AppChoice extends ProfileChoice {
  /** Settings given as flags. */
  readonly settings?: ReadonlyMap<string, string>;
}

/** Loads the profile and its settings. Lower layers get them as arguments and read no variable or global themselves. */
export async function openApp(choice: AppChoice): Promise<App> {
  const profile = await resolveProfile(choice);
  const { variables, userHome } = choice;
  const rootProfile = profile.home === profile.root ? undefined : profileAt(profile.root, DEFAULT_PROFILE);
  const runBoards = await findBoardsOfOwnRun(variables);
  const reload = async (): Promise<LoadedConfig> => {
    const loaded = await loadConfig(profile, { ...choice, root: rootProfile });
    if (runBoards === undefined) return loaded;
    return { ...loaded, secrets: [...loaded.secrets, runBoards.databaseUrl] };
  };
  return { profile, resolved: await reload(), runBoards, variables, userHome, reload };
}

async function findBoardsOfOwnRun(variables: App["variables"]): Promise<BoardsLocation | undefined> {
  if (!variables["HERMES_KANBAN_RUN_ID"]) return undefined;
  const { findRunBoards } = await import("../board/worker/run-token.ts");
  return findRunBoards(variables);
}

/** Opens the profile's logs, which redact its secrets. */
export async function openAppLog({ profile, resolved }: App, component: string): Promise<Log & Disposable> {
  const { openLog } = await import("../lib/log/log.ts");
  const { createRedactor } = await import("../lib/redact/redactor.ts");
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
