import type {
  SettingProblem,
  SettingsAnswer,
  SettingsEdit,
  SettingsSaved,
  SettingsYaml,
} from "../../contract/setup/settings.ts";

/** Reads and changes the settings of any profile of the home. Each function throws `profile-not-found`. */
export interface SettingsData {
  read(profile: string): Promise<Omit<SettingsAnswer, "at">>;
  readYaml(profile: string): Promise<Omit<SettingsYaml, "at">>;
  /** Throws `config-key-unknown`, or `setting-fixed` if a flag or variable overrides one of the settings. */
  change(profile: string, edit: SettingsEdit, signal: AbortSignal): Promise<SettingsOutcome>;
  replaceYaml(
    profile: string,
    edit: { readonly text: string; readonly version: string },
    signal: AbortSignal,
  ): Promise<SettingsOutcome>;
}

/** `stale`: config.yaml was changed since that version. Only `saved` has written anything. */
export type SettingsOutcome =
  | ({ readonly outcome: "saved" } & SettingsSaved)
  | { readonly outcome: "stale" }
  | { readonly outcome: "refused"; readonly problems: readonly SettingProblem[] };
