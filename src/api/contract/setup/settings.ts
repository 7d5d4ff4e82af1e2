import { z } from "zod";
import { positionSchema } from "../position.ts";

/** Identifies the text of config.yaml that a page shows. */
const versionSchema = z.string().max(64);

/** One setting of a profile, for a form. Values are texts as `hermes config set` takes them. */
export const settingSchema = z.object({
  key: z.string(),
  type: z.enum(["boolean", "integer", "number", "string", "enum", "list", "map", "integer|map"]),
  /** A list of texts, which a form can show with one item per line. */
  isTextList: z.boolean(),
  isNullable: z.boolean(),
  /** The choices of an enum. */
  values: z.array(z.string()).nullable(),
  description: z.string(),
  /** What the setting takes, such as "a whole number". */
  expected: z.string(),
  /** The effective value; null for a secret, which is never sent. */
  value: z.string().nullable(),
  default: z.string().nullable(),
  /** What config.yaml itself sets, valid or not; null if it does not set it. */
  stored: z.string().nullable(),
  /** Why the stored text is not used. */
  problem: z.string().nullable(),
  origin: z.enum(["flag", "env", "file", "default"]),
  /** The flag, the variable, or the file and line that the value is from; null for a default. */
  place: z.string().nullable(),
  /** The flag or variable that overrides config.yaml. While it is set, the setting cannot be changed here. */
  fixedBy: z.string().nullable(),
  isSecret: z.boolean(),
  /** Whether a secret is set. */
  isSet: z.boolean(),
  /** The variable that sets it. */
  variable: z.string(),
  /** The value contains a secret, which is masked, so it cannot be edited here. */
  isMasked: z.boolean(),
  /** Null if the setting is in use; otherwise the values of terminal.backend that use it. */
  unusedUnless: z.array(z.string()).nullable(),
});
export type Setting = z.infer<typeof settingSchema>;

/** A problem of the settings, as `hermes config check` reports it. */
export const settingProblemSchema = z.object({
  /** Null if it concerns a whole file or line. */
  key: z.string().nullable(),
  text: z.string(),
  hint: z.string(),
  /** The settings can be used nevertheless, for instance because it is only an unknown key. */
  isWarning: z.boolean(),
  /** The line of config.yaml; null if it is elsewhere. */
  line: z.int().nullable(),
});
export type SettingProblem = z.infer<typeof settingProblemSchema>;

/** GET profiles/:profile/settings */
export const settingsAnswerSchema = z.object({
  settings: z.array(settingSchema),
  problems: z.array(settingProblemSchema),
  /** The path of config.yaml. */
  path: z.string(),
  version: versionSchema,
  at: positionSchema,
});
export type SettingsAnswer = z.infer<typeof settingsAnswerSchema>;

/** PATCH profiles/:profile/settings. Null removes a setting from config.yaml. */
export const settingsEditSchema = z.strictObject({
  changes: z
    .record(z.string().max(200), z.string().max(100_000).nullable())
    .refine((changes) => Object.keys(changes).length > 0, "is empty"),
  version: versionSchema,
});
export type SettingsEdit = z.infer<typeof settingsEditSchema>;

/** Answer of both edits. `changed` has the names of the settings that were written. */
export const settingsSavedSchema = z.object({ version: versionSchema, changed: z.array(z.string()) });
export type SettingsSaved = z.infer<typeof settingsSavedSchema>;

/** GET profiles/:profile/settings/yaml */
export const settingsYamlSchema = z.object({
  text: z.string(),
  /** The text contains secrets, which are masked, so it cannot be edited here. */
  isMasked: z.boolean(),
  problems: z.array(settingProblemSchema),
  path: z.string(),
  version: versionSchema,
  at: positionSchema,
});
export type SettingsYaml = z.infer<typeof settingsYamlSchema>;

/** PUT profiles/:profile/settings/yaml */
export const settingsYamlEditSchema = z.strictObject({
  text: z.string().max(1_000_000),
  version: versionSchema,
});

/** The settings or keys of a profile were changed, by any process. */
export interface SettingsChange {
  readonly profile: string;
}

/** Fields of the problem `settings-invalid`: what is wrong, by setting or line. */
export interface InvalidSettings {
  readonly problems: readonly SettingProblem[];
}
