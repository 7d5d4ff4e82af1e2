import type { Setting, SettingProblem } from "../../../api/contract/setup/settings.ts";
import type { SettingsData, SettingsOutcome } from "../../../api/dashboard/data/settings-data.ts";
import { type ConfigKey, configKeys, requireKey } from "../../../config/config-keys.ts";
import {
  type EditResult,
  editSettings,
  findKeys,
  replaceSettings,
} from "../../../config/editing/edit-settings.ts";
import { problemsOfText, versionOf } from "../../../config/editing/settings-text.ts";
import { parseYamlFile, type YamlFile } from "../../../config/files/yaml-file.ts";
import type { Setting as ResolvedSetting } from "../../../config/resolved-config.ts";
import { isIgnored, type Problem } from "../../../config/setting-problem.ts";
import { describeExpectedText } from "../../../config/setting-text.ts";
import { AppError } from "../../../lib/errors.ts";
import { readTextFile } from "../../../lib/files/files.ts";
import { redactJson } from "../../../lib/redact/redact-json.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import type { Profile } from "../../../profiles/profile.ts";
import type { App } from "../../app.ts";
import type { LoadProfile } from "./load-profile.ts";

/** The settings of all profiles of a home. */
export function openSettings(appOf: LoadProfile): SettingsData {
  return {
    async read(name) {
      const { app, text } = await readConsistently(appOf, name);
      const { resolved, profile } = app;
      const yaml = parseYamlFile(text);
      const redact = redactorOf(app, yaml);
      const backend = resolved.config.terminal.backend;
      return {
        settings: [...resolved.settings.values()].map((setting) =>
          toSetting(setting, { yaml, redact, backend, profile }),
        ),
        problems: resolved.problems.map((problem) => toProblem(problem, profile, redact)),
        path: profile.configPath,
        version: versionOf(text),
      };
    },
    async readYaml(name) {
      const app = await appOf(name);
      const { profile } = app;
      const text = await readConfig(profile);
      const redact = redactorOf(app, parseYamlFile(text));
      const shown = redact(text);
      const problems = await problemsOfText(profile.configPath, text);
      return {
        text: shown,
        isMasked: shown !== text,
        problems: problems.map((problem) => toProblem(problem, profile, redact)),
        path: profile.configPath,
        version: versionOf(text),
      };
    },
    async change(name, { changes, version }, signal) {
      const { profile, resolved } = await appOf(name);
      const wanted = new Map<ConfigKey, string | null>();
      for (const [keyName, key] of findKeys(Object.keys(changes))) {
        if (key === undefined) throw unknownKey(keyName);
        requireEditable(resolved.settings.get(keyName));
        wanted.set(key, changes[keyName] ?? null);
      }
      const { configPath, home } = profile;
      const effective = ({ key }: ConfigKey): unknown => resolved.settings.get(key)?.value;
      const result = await editSettings({ configPath, home, version }, wanted, effective, signal);
      return toOutcome(result, ({ key, problem }) => ({
        key,
        text: problem,
        hint: "",
        isWarning: false,
        line: null,
      }));
    },
    async replaceYaml(name, { text, version }, signal) {
      const app = await appOf(name);
      const { configPath, home } = app.profile;
      const before = await readConfig(app.profile);
      const redact = redactorOf(app, parseYamlFile(before));
      if (redact(before) !== before)
        throw new AppError("config-invalid", "config.yaml contains a secret, so it cannot be edited here.", {
          hint: "Move the secret to .env with `hermes config edit` and `hermes config set`.",
        });
      const result = await replaceSettings({ configPath, home, version }, text, signal);
      return toOutcome(result, (problem) => toProblem(problem, app.profile, redact));
    },
  };
}

const readConfig = async ({ configPath }: Profile): Promise<string> => (await readTextFile(configPath)) ?? "";

const ATTEMPTS = 5;

/** The settings and the text of config.yaml that they were read from. */
async function readConsistently(appOf: LoadProfile, name: string): Promise<{ app: App; text: string }> {
  for (let attempt = 1; ; attempt++) {
    const before = await readConfig((await appOf(name)).profile);
    const app = await appOf(name);
    const text = await readConfig(app.profile);
    if (text === before || attempt === ATTEMPTS) return { app, text };
  }
}

/** Masks the secrets of a profile, including those that config.yaml contains by mistake. */
function redactorOf({ resolved }: App, yaml: YamlFile): (text: string) => string {
  const misplaced = configKeys()
    .filter(({ secret }) => secret)
    .flatMap(({ path }) => {
      const value = yaml.find(path)?.value;
      return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
    });
  const { redact } = createRedactor({ secrets: [...resolved.secrets, ...misplaced] });
  return (text) => redact(text);
}

interface Shown {
  readonly yaml: YamlFile;
  readonly redact: (text: string) => string;
  readonly backend: string;
  readonly profile: Profile;
}

function toSetting(
  { key, value, origin, layerValues }: ResolvedSetting,
  { yaml, redact, backend, profile }: Shown,
): Setting {
  const winner = layerValues.find(({ problem }) => problem === undefined);
  const inFile = layerValues.find((layer) => layer.origin === "file");
  const stored = key.secret ? undefined : yaml.find(key.path)?.value;
  const raw = toText(value);
  const shown = toText(redactJson(value, redact));
  const storedShown = stored === undefined ? null : toText(redactJson(stored, redact));
  const isUnused = key.usedBy !== undefined && !key.usedBy.includes(backend);
  const fixed = findFixed(layerValues);
  return {
    key: key.key,
    type: key.type,
    isTextList: key.isTextList,
    isNullable: key.nullable,
    values: key.values === undefined ? null : [...key.values],
    description: key.description,
    expected: describeExpectedText(key),
    value: key.secret ? null : shown,
    default: key.secret ? null : toText(key.default),
    stored: storedShown,
    problem: inFile?.problem === undefined ? null : redact(inFile.problem),
    origin,
    place: winner === undefined ? null : shortPlace(winner.where, profile),
    fixedBy: fixed === undefined ? null : shortPlace(fixed.where, profile),
    isSecret: key.secret,
    isSet: key.secret && value !== "" && winner !== undefined,
    variable: key.env[0],
    isMasked: !key.secret && (shown !== raw || (stored !== undefined && storedShown !== toText(stored))),
    unusedUnless: isUnused ? [...(key.usedBy ?? [])] : null,
  };
}

/** The flag or variable that overrides config.yaml. */
function findFixed(layerValues: ResolvedSetting["layerValues"]) {
  return layerValues.find(({ problem, origin }) => problem === undefined && origin !== "file");
}

function requireEditable(setting: ResolvedSetting | undefined): void {
  if (setting === undefined) return;
  const { key, layerValues } = setting;
  if (key.secret)
    throw new AppError("setting-fixed", `${key.key} is a secret, which belongs in .env.`, {
      hint: `Set it as the key ${key.env[0]}.`,
    });
  const fixed = findFixed(layerValues);
  if (fixed !== undefined)
    throw new AppError("setting-fixed", `${key.key} is fixed by ${fixed.where}, so it was not saved.`);
}

function unknownKey(name: string): AppError {
  try {
    requireKey(name, configKeys());
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return new AppError("config-key-unknown", `${name} is inside a setting; change the whole setting.`);
}

/** The text of a value as a form shows it and `hermes config set` takes it. */
function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toProblem(given: Problem, profile: Profile, redact: Shown["redact"]): SettingProblem {
  const { key, where, message, hint } = given;
  const [, line] = where.startsWith(`${profile.configPath}:`) ? (/:(\d+):\d+$/.exec(where) ?? []) : [];
  const place = shortPlace(where, profile);
  return {
    key: key ?? null,
    text: redact(key === undefined ? `${place}: ${message}` : `${place}: ${key} ${message}`),
    hint,
    isWarning: isIgnored(given),
    line: line === undefined ? null : Number(line),
  };
}

/** A place without the folder of the profile and without the column. */
function shortPlace(where: string, { home }: Profile): string {
  return where.replaceAll(`${home}/`, "").replace(/(:\d+):\d+$/, "$1");
}

function toOutcome<Refusal>(
  result: EditResult<Refusal>,
  toShown: (refusal: Refusal) => SettingProblem,
): SettingsOutcome {
  if (result.outcome === "refused") return { outcome: "refused", problems: result.problems.map(toShown) };
  return result.outcome === "stale" ? result : { ...result, changed: [...result.changed] };
}
