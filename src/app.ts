import { type LoadedConfig, loadConfig } from "./config/load.ts";
import type { ConversationRequest, OpenConversation } from "./conversation/open-conversation.ts";
import type { EnvironmentRequest } from "./environments/environment-request.ts";
import { ensurePrivateFolder } from "./lib/files.ts";
import type { Log } from "./lib/log/log.ts";
import { type Profile, resolveProfile } from "./profiles/profile.ts";
import { ensureProfileId } from "./profiles/profile-id.ts";

/** What every entry point starts from: one profile and its settings, read once and handed down. */
export interface App {
  readonly profile: Profile;
  readonly resolved: LoadedConfig;
}

/** Where and for whom commands are to run. */
export interface EnvironmentChoice {
  readonly task: string;
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly reporter: EnvironmentRequest["reporter"];
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
export function environmentRequest(
  { profile, resolved }: App,
  choice: EnvironmentChoice,
): EnvironmentRequest {
  return {
    ...choice,
    options: resolved.config.terminal,
    profile,
    profileId: () => ensureProfileId(profile),
    variable: (name) => resolved.variable(name),
  };
}

/** A conversation of the profile, on whichever surface. */
export async function openAppConversation(
  { profile, resolved }: App,
  request: Pick<ConversationRequest, "environment" | "choice" | "model" | "surface">,
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
      sessionsPath: profile.sessionsPath,
      settings: resolved.config,
      redactor: createRedactor({ secrets: resolved.secrets }),
      judge(command) {
        const judgement = judgeHardline(command, { home });
        return judgement.kind === "refused" ? judgement.message : undefined;
      },
    },
    signal,
  );
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
