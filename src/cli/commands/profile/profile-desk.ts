import { loadConfig } from "../../../config/load.ts";
import { AppError } from "../../../lib/errors.ts";
import { type Profile, resolveProfile, rootOf } from "../../../profiles/profile.ts";
import { loadProfileCard } from "../../../profiles/profile-card.ts";
import { findProfileId } from "../../../profiles/profile-id.ts";
import type { CommandContext } from "../../context.ts";

export interface JsonOption {
  readonly json?: boolean;
}

/** What is shown of a profile. */
export async function summary(profile: Profile, active: string | undefined) {
  const card = await loadProfileCard(profile);
  const { config } = await loadConfig({
    configPath: profile.configPath,
    envPath: profile.envPath,
    variables: {},
    flags: new Map(),
  });
  return {
    name: profile.name,
    active: profile.name === active,
    id: (await findProfileId(profile)) ?? null,
    home: profile.home,
    description: card.description,
    displayName: card.displayName,
    model: config.model.default,
    backend: config.terminal.backend,
  };
}

/** Says what was done to a profile, or shows the profile as JSON. */
export async function tell(
  context: CommandContext,
  profile: Profile,
  { json }: JsonOption,
  sentence: string,
): Promise<void> {
  if (json) context.terminal.printJson(await summary(profile, await activeName(context)));
  else context.terminal.note(sentence);
}

/** What decides which profile this command runs as. */
export function choiceOf({ flags, variables, userHome }: CommandContext) {
  return { flag: flags.profile, hermesHome: variables["HERMES_HOME"], userHome };
}

export function rootFor(context: CommandContext): string {
  return rootOf(choiceOf(context)).root;
}

/** The active profile's name; undefined when the choice names one that is gone, which `list` must survive. */
export async function activeName(context: CommandContext): Promise<string | undefined> {
  try {
    return (await resolveProfile(choiceOf(context))).name;
  } catch (error) {
    if (error instanceof AppError && error.code === "profile-not-found") return undefined;
    throw error;
  }
}
