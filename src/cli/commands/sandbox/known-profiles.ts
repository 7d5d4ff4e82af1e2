import { loadConfig } from "../../../config/load.ts";
import { sandboxesFolderOf } from "../../../environments/docker/prepare-docker.ts";
import type { SandboxPlace } from "../../../environments/docker/sandbox-record.ts";
import { findProfileId } from "../../../profiles/profile-id.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { CommandContext } from "../../context.ts";

/** A living profile, and where the records of its sandboxes lie. */
export interface KnownProfile extends SandboxPlace {
  readonly name: string;
}

/** Every profile of the root that has ever needed an id. */
export async function listKnownProfiles(
  { variables, flags }: CommandContext,
  root: string,
): Promise<KnownProfile[]> {
  const known: KnownProfile[] = [];
  for (const profile of await listProfiles(root)) {
    const profileId = await findProfileId(profile);
    if (profileId === undefined) continue;
    const { configPath, envPath } = profile;
    const { config } = await loadConfig({ configPath, envPath, variables, flags: flags.settings });
    known.push({
      name: profile.name,
      profileId,
      sandboxesFolder: sandboxesFolderOf(config.terminal, profile.home),
    });
  }
  return known;
}
