import { loadConfig } from "./config/load.ts";
import type { ResolvedConfig } from "./config/resolve.ts";
import { type Profile, resolveProfile } from "./profiles/profile.ts";

/** What every entry point starts from: one profile and its settings, read once and handed down. */
export interface App {
  readonly profile: Profile;
  readonly resolved: ResolvedConfig;
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
