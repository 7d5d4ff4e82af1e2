import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { type ConfigKey, configKeys, findKey, requireKey } from "../../../config/config-keys.ts";
import { problemsOfText } from "../../../config/editing/settings-text.ts";
import { writeSecret, writeSetting } from "../../../config/files/write-setting.ts";
import { parseYamlFile } from "../../../config/files/yaml-file.ts";
import { requireNoBadValues } from "../../../config/load-config.ts";
import type { ResolvedConfig } from "../../../config/resolved-config.ts";
import { loadSections, schemaAt } from "../../../config/schema.ts";
import { formatProblem, type Problem, unknownNameProblem } from "../../../config/setting-problem.ts";
import { parseSettingText } from "../../../config/setting-text.ts";
import { AppError } from "../../../lib/errors.ts";
import { readTextFile, writeFileAtomic } from "../../../lib/files/files.ts";
import { findClosest } from "../../../lib/text/did-you-mean.ts";
import { PROVIDER_PROFILES, type ProviderProfile } from "../../../providers/routes/profiles.ts";
import type { CommandContext } from "../../context.ts";
import { runEditor } from "../../terminal/run-editor.ts";

export async function setSetting(
  context: CommandContext,
  name: string,
  given: string | undefined,
): Promise<void> {
  const { profile, resolved } = await context.openApp();
  const { terminal, signal } = context;
  const secret = secretVariable(name, resolved);
  if (secret !== undefined) {
    const value = given ?? (await terminal.readSecret(`${name} (not shown): `, signal));
    if (value === "")
      throw new AppError("confirmation-missing", "The value is empty; nothing was changed.", {
        hint: `To remove it, run \`hermes config unset ${name}\`.`,
      });
    await writeSecret(profile.envPath, profile.home, secret, value, signal);
    (await context.log()).info("secret set", { key: name });
    return terminal.note(`Set ${secret} in ${profile.envPath}.`);
  }
  const setting = keyOfVariable(name);
  const { key, inside } = requireKnown(setting, resolved);
  if (given === undefined) {
    throw new AppError("usage-wrong", `${setting} needs a value`, {
      hint: `Write \`hermes config set ${setting} VALUE\`.`,
    });
  }
  const others = resolved.problems.filter((problem) => problem.key !== key.key);
  requireNoBadValues({ ...resolved, problems: others });
  const typed = inside.length === 0 ? typedValue(key, setting, given) : looseValue(given);
  const value = await requireValid(key, inside, typed, profile.configPath);
  await writeSetting(profile.configPath, profile.home, [...key.path, ...inside], value, signal);
  (await context.log()).info("setting set", { key: setting, value });
  terminal.note(`${setting} is ${JSON.stringify(value)} in ${profile.configPath}.`);
  const stronger = resolved.settings
    .get(key.key)
    ?.layerValues.find((layerValue) => layerValue.origin !== "file");
  if (stronger) terminal.note(`  It has no effect, because ${stronger.where} overrides it.`);
}

export async function unsetSetting(context: CommandContext, given: string): Promise<void> {
  const name = keyOfVariable(given);
  const { terminal, signal } = context;
  const { profile, resolved } = await context.openApp();
  const text = (await readTextFile(profile.configPath)) ?? "";
  const words = name.split(".");
  const inFile = parseYamlFile(text).find(words) !== undefined;
  const secret = secretVariable(name, resolved);
  // Any key in the file can be removed, even one that this version does not know.
  if (!inFile && secret === undefined) requireKnown(name, resolved);
  if (secret) await writeSecret(profile.envPath, profile.home, secret, undefined, signal);
  if (inFile) await writeSetting(profile.configPath, profile.home, words, undefined, signal);
  if (inFile || secret) (await context.log()).info("setting removed", { key: name });
  terminal.note(
    inFile || secret ? `${name} is no longer set.` : `${name} was not set in ${profile.configPath}.`,
  );
}

/** The `.env` variable of a secret setting or of a provider's key, if `name` is one. */
function secretVariable(name: string, resolved: ResolvedConfig): string | undefined {
  const setting = configKeys().find(({ key, env, secret }) => secret && (key === name || env.includes(name)));
  return setting?.env[0] ?? keyVariables(resolved).find((variable) => variable === name);
}

/** The variables of the keys of all providers. */
function keyVariables({ config }: ResolvedConfig): readonly string[] {
  const profiles: readonly ProviderProfile[] = Object.values(PROVIDER_PROFILES);
  return [
    ...profiles.flatMap((profile) => profile.keyVariables),
    ...Object.values(config.providers).flatMap(({ key_env }) => key_env ?? []),
  ];
}

/** Like `requireKey`, but also suggests a similar variable if the name looks like a variable. */
function requireKnown(name: string, resolved: ResolvedConfig): ReturnType<typeof requireKey> {
  const keys = configKeys();
  const variables = [...keyVariables(resolved), ...keys.flatMap(({ env }) => env)];
  const isVariable = /^[A-Za-z]\w*_\w+$/.test(name) && findKey(name, keys) === undefined;
  const near = isVariable ? findClosest(name, variables) : undefined;
  if (near === undefined) return requireKey(name, keys);
  throw new AppError("config-key-unknown", `There is no setting ${name}.`, { hint: `Did you mean ${near}?` });
}

/** The setting that a variable overrides; the name itself if it is not a variable. */
function keyOfVariable(name: string): string {
  return configKeys().find(({ env }) => env.includes(name))?.key ?? name;
}

export async function checkConfig(context: CommandContext, { json }: { json?: boolean }): Promise<void> {
  const { profile, resolved } = await context.openApp();
  const { terminal } = context;
  const problems = [...resolved.problems, ...misspelledVariables(context.variables)];
  if (json) {
    terminal.printJson({ ok: problems.length === 0, path: profile.configPath, problems });
  } else {
    for (const problem of problems) terminal.print(`${formatProblem(problem)}.\n  ${problem.hint}`);
    if (problems.length === 0)
      terminal.print(`No problems in ${profile.configPath}, ${profile.envPath} and the variables.`);
  }
  if (problems.length > 0) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    throw new AppError("config-invalid", `${count} found.`, {
      hint: "Correct them and run `hermes config check` again.",
    });
  }
}

/** Edits a copy and replaces config.yaml only if the copy is valid. */
export async function editConfig(context: CommandContext): Promise<void> {
  const { openApp, terminal, signal } = context;
  const { configPath: path } = (await openApp()).profile;
  const before = (await readTextFile(path)) ?? "";
  const draft = `${path}.draft-${randomBytes(4).toString("hex")}.yaml`;
  await writeFileAtomic(draft, before || "# Settings of Hermes. See `hermes config keys`.\n", {
    mode: 0o600,
  });
  for (;;) {
    await runEditor(draft, context);
    const after = (await readTextFile(draft)) ?? "";
    const problems = await problemsOfText(draft, after);
    if (problems.length === 0) {
      if (((await readTextFile(path)) ?? "") !== before)
        throw new AppError(
          "file-unwritable",
          `${path} was changed by another process; it was not overwritten.`,
          {
            hint: `Your version is in ${draft}; compare the two and merge them.`,
          },
        );
      if (after !== before) await writeFileAtomic(path, after, {});
      await rm(draft, { force: true });
      return terminal.note(after === before ? "No changes." : `Saved ${path}.`);
    }
    for (const problem of problems) terminal.note(`${formatProblem(problem)}.\n  ${problem.hint}`);
    const answer = await terminal.ask("Edit again? [Y/n] ", signal);
    if (answer === undefined || /^n/i.test(answer.trim())) {
      throw new AppError("config-invalid", `Not saved; ${path} is unchanged.`, {
        hint: `Your version is in ${draft}.`,
      });
    }
  }
}

function typedValue(key: ConfigKey, name: string, given: string): unknown {
  const parsed = parseSettingText(key, given);
  if ("problem" in parsed)
    throw new AppError(
      "config-invalid",
      `${name} ${parsed.problem}, not ${JSON.stringify(given)}; nothing was changed.`,
      { hint: `See its type with \`hermes config explain ${name}\`.` },
    );
  return parsed.value;
}

/** A value inside a map, whose type only the schema defines: JSON if it can be parsed, else text. */
function looseValue(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** Validates the value and returns it normalised by the schema, for example trimmed. */
async function requireValid(
  key: ConfigKey,
  inside: readonly string[],
  value: unknown,
  path: string,
): Promise<unknown> {
  const whole = inside.length === 0 ? value : withValue(await currentValue(key, path), inside, value);
  const sections = await loadSections(key.path.slice(0, 1));
  const result = schemaAt(sections, key.path).safeParse(whole);
  // For a map the given value is kept, because the schema would add defaults.
  if (result.success) return typeof value === "string" ? valueAt(result.data, inside) : value;
  const [issue] = result.error.issues;
  const field = issue && issue.path.length > 0 ? `${key.key}.${issue.path.join(".")}` : key.key;
  throw new AppError(
    "config-invalid",
    `${field}: ${issue?.message ?? "does not fit"}; nothing was changed.`,
    {
      hint: `See its type with \`hermes config explain ${key.key}\`.`,
    },
  );
}

async function currentValue(key: ConfigKey, path: string): Promise<unknown> {
  return parseYamlFile((await readTextFile(path)) ?? "").find(key.path)?.value ?? {};
}

function withValue(container: unknown, [word, ...rest]: readonly string[], value: unknown): unknown {
  if (word === undefined) return value;
  const record =
    typeof container === "object" && container !== null ? (container as Record<string, unknown>) : {};
  return { ...record, [word]: withValue(record[word], rest, value) };
}

function valueAt(container: unknown, words: readonly string[]): unknown {
  return words.reduce((value, word) => (value as Record<string, unknown>)[word], container);
}

/** Finds variables with a name similar to one of ours, because a typo would otherwise be ignored silently. */
function misspelledVariables(variables: CommandContext["variables"]): Problem[] {
  const names = configKeys().flatMap((key) => key.env);
  const known = new Set(names);
  return Object.keys(variables)
    .filter((name) => /^(TERMINAL|HERMES)_/.test(name) && !known.has(name))
    .flatMap((name) => {
      const near = findClosest(name, names);
      if (near === undefined) return [];
      return [unknownNameProblem(undefined, name, "no setting reads this variable", `Did you mean ${near}?`)];
    });
}
