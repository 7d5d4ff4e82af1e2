import { loadConfig } from "../../../config/load-config.ts";
import { AppError } from "../../../lib/errors.ts";
import { type Profile, resolveProfile, resolveRoot } from "../../../profiles/profile.ts";
import { loadProfileDescription } from "../../../profiles/profile-description.ts";
import { findProfileId } from "../../../profiles/profile-id.ts";
import type { CommandContext, JsonOption } from "../../context.ts";

/** The facts about a profile that `list` and `show` print. */
export async function summarizeProfile(context: CommandContext, profile: Profile) {
  const card = await loadProfileDescription(profile);
  const { config } = await loadConfig(profile);
  return {
    name: profile.name,
    active: profile.name === (await activeName(context)),
    id: (await findProfileId(profile)) ?? null,
    home: profile.home,
    description: card.description,
    displayName: card.displayName,
    model: config.model.default,
    backend: config.terminal.backend,
  };
}

/** Prints a sentence about a changed profile, or the profile as JSON. */
export async function reportProfile(
  context: CommandContext,
  profile: Profile,
  { json }: JsonOption,
  sentence: string,
): Promise<void> {
  if (json) context.terminal.printJson(await summarizeProfile(context, profile));
  else context.terminal.note(sentence);
}

export function rootFor({ choice }: CommandContext): string {
  return resolveRoot(choice).root;
}

/** The active profile's name; undefined if that profile no longer exists, so that `list` still works. */
async function activeName({ choice }: CommandContext): Promise<string | undefined> {
  try {
    return (await resolveProfile(choice)).name;
  } catch (error) {
    if (error instanceof AppError && error.code === "profile-not-found") return undefined;
    throw error;
  }
}
