import type { LoadedConfig } from "../../../config/load.ts";
import type { OpenDesk } from "./desk.ts";

interface Wanted {
  readonly model?: string | null | undefined;
  readonly provider?: string | null | undefined;
  readonly assignee?: string | null | undefined;
}

/** Throws `provider-unknown` for a provider that the profile of a task cannot mean. Most tasks name none. */
export async function requireProvider(open: OpenDesk, { model, provider, assignee }: Wanted): Promise<void> {
  if (!provider && !model?.includes(":")) return;
  const { requireKnownProvider } = await import("../../../providers/choose-provider.ts");
  const { config, variable } = await settingsOf(open, assignee ?? null);
  requireKnownProvider(config, { model: model ?? undefined, provider: provider ?? undefined }, variable);
}

/** Of the assignee, if it is a profile of this home: it may have a server of its own below `providers`. */
async function settingsOf({ app, context }: OpenDesk, assignee: string | null): Promise<LoadedConfig> {
  if (assignee === null || assignee === app.profile.name) return app.resolved;
  const [{ listProfiles }, { loadConfig }, { profileAt }] = await Promise.all([
    import("../../../profiles/profile-store.ts"),
    import("../../../config/load.ts"),
    import("../../../profiles/profile.ts"),
  ]);
  const { root } = app.profile;
  if (!(await listProfiles(root)).some(({ name }) => name === assignee)) return app.resolved;
  const { configPath, envPath } = profileAt(root, assignee);
  return loadConfig({ configPath, envPath, variables: context.variables, flags: new Map() });
}
