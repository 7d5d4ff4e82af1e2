import { loadConfig } from "../../../config/load.ts";
import type { Config } from "../../../config/schema.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";

/** A setting of a profile that names another one, or itself. */
export interface NamingSetting {
  readonly profile: string;
  readonly key: string;
}

/** The settings, of all profiles of a root, in which this name stands; they are a person's, so nobody else changes them. */
export async function findSettingsNaming(root: string, name: string): Promise<readonly NamingSetting[]> {
  const found: NamingSetting[] = [];
  for (const { name: profile, configPath, envPath } of await listProfiles(root)) {
    const { config } = await loadConfig({ configPath, envPath, variables: {}, flags: new Map() });
    for (const [key, names] of Object.entries(namesIn(config.kanban)))
      if (names.some((text) => text.trim().toLowerCase() === name))
        found.push({ profile, key: `kanban.${key}` });
  }
  return found;
}

function namesIn(kanban: Config["kanban"]): Readonly<Record<string, readonly string[]>> {
  const { default_assignee, dispatch_profiles, max_in_progress_per_profile } = kanban;
  return {
    default_assignee: [default_assignee],
    dispatch_profiles: dispatch_profiles ?? [],
    max_in_progress_per_profile:
      typeof max_in_progress_per_profile === "object" ? Object.keys(max_in_progress_per_profile ?? {}) : [],
  };
}

export function describeSetting({ profile, key }: NamingSetting, name: string): string {
  return `  Still named ${name}: ${key} in the settings of ${profile}; change it with \`hermes -p ${profile} config set ${key} VALUE\`.`;
}
