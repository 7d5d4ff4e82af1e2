import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { type ConfigKey, configKeys, findKey, requireKey } from "../../../config/keys.ts";
import { requireSound } from "../../../config/load.ts";
import { type Problem, problemLine } from "../../../config/problem.ts";
import { readText } from "../../../config/read-text.ts";
import { type ResolvedConfig, resolveConfig } from "../../../config/resolve.ts";
import { writeSecret, writeSetting } from "../../../config/write.ts";
import { parseYamlFile } from "../../../config/yaml-file.ts";
import { closest } from "../../../lib/did-you-mean.ts";
import { AppError } from "../../../lib/errors.ts";
import { readTextFile, writeFileAtomic } from "../../../lib/files.ts";
import { PROFILES, type ProviderProfile } from "../../../providers/profiles.ts";
import type { CommandContext } from "../../context.ts";
import { runEditor } from "../../run-editor.ts";

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
      throw new AppError("confirmation-missing", "Nothing was typed, so nothing was changed.", {
        hint: `To remove it: hermes config unset ${name}`,
      });
    await writeSecret(profile.envPath, profile.home, secret, value, signal);
    (await context.log()).info("secret set", { key: name });
    return terminal.note(`${secret} is set in ${profile.envPath}.`);
  }
  const setting = keyOfVariable(name);
  const { key, inside } = requireKnown(setting, resolved);
  if (given === undefined) {
    throw new AppError("usage-wrong", `${setting} needs a value`, {
      hint: `Write \`hermes config set ${setting} VALUE\`.`,
    });
  }
  const others = resolved.problems.filter((problem) => problem.key !== key.key);
  requireSound({ ...resolved, problems: others });
  const value = inside.length === 0 ? typedValue(key, setting, given) : looseValue(given);
  await requireFits(key, inside, value, profile.configPath);
  await writeSetting(profile.configPath, profile.home, [...key.path, ...inside], value, signal);
  (await context.log()).info("setting set", { key: setting, value });
  terminal.note(`${setting} is ${JSON.stringify(value)} in ${profile.configPath}.`);
  const stronger = resolved.settings
    .get(key.key)
    ?.statements.find((statement) => statement.origin !== "file");
  if (stronger) terminal.note(`  It has no effect while ${stronger.where} says otherwise.`);
}

export async function unsetSetting(context: CommandContext, given: string): Promise<void> {
  const name = keyOfVariable(given);
  const { terminal, signal } = context;
  const { profile, resolved } = await context.openApp();
  const text = (await readTextFile(profile.configPath)) ?? "";
  const words = name.split(".");
  const inFile = parseYamlFile(text).find(words) !== undefined;
  const secret = secretVariable(name, resolved);
  // What the file holds can always be taken out, also what this version does not know.
  if (!inFile && secret === undefined) requireKnown(name, resolved);
  if (secret) await writeSecret(profile.envPath, profile.home, secret, undefined, signal);
  if (inFile) await writeSetting(profile.configPath, profile.home, words, undefined, signal);
  if (inFile || secret) (await context.log()).info("setting removed", { key: name });
  terminal.note(
    inFile || secret ? `${name} is no longer set.` : `${name} was not set in ${profile.configPath}.`,
  );
}

/** The variable in `.env` that is meant by a secret setting, or by the variable of a provider's key itself. */
function secretVariable(name: string, { config }: ResolvedConfig): string | undefined {
  const setting = configKeys().find(({ key, env, secret }) => secret && (key === name || env.includes(name)));
  const profiles: readonly ProviderProfile[] = Object.values(PROFILES);
  const isKey =
    profiles.some(({ keyVariables }) => keyVariables.includes(name)) ||
    Object.values(config.providers).some(({ key_env }) => key_env === name);
  return setting?.env[0] ?? (isKey ? name : undefined);
}

/** Like `requireKey`, and also names the variable that somebody meant who knows a key by that. */
function requireKnown(name: string, { config }: ResolvedConfig): ReturnType<typeof requireKey> {
  const keys = configKeys();
  const profiles: readonly ProviderProfile[] = Object.values(PROFILES);
  const variables = [
    ...profiles.flatMap(({ keyVariables }) => keyVariables),
    ...Object.values(config.providers).flatMap(({ key_env }) => key_env ?? []),
    ...keys.flatMap(({ env }) => env),
  ];
  const isVariable = /^[A-Za-z]\w*_\w+$/.test(name) && findKey(name, keys) === undefined;
  const near = isVariable ? closest(name, variables) : undefined;
  if (near === undefined) return requireKey(name, keys);
  throw new AppError("config-key-unknown", `There is no setting ${name}.`, { hint: `Did you mean ${near}?` });
}

/** The setting that a variable overrides, for people who know it by that name. */
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
    for (const problem of problems) terminal.print(`${problemLine(problem)}.\n  ${problem.hint}`);
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

/** Edits a copy and puts it in place only when it is sound, so that a slip never breaks what runs. */
export async function editConfig(context: CommandContext): Promise<void> {
  const { openApp, terminal, signal } = context;
  const { profile } = await openApp();
  const before = (await readTextFile(profile.configPath)) ?? "";
  const draft = `${profile.configPath}.draft-${randomBytes(4).toString("hex")}.yaml`;
  await writeFileAtomic(draft, before || "# Settings of Hermes. See `hermes config keys`.\n", {
    mode: 0o600,
  });
  for (;;) {
    await runEditor(draft, context);
    const after = (await readTextFile(draft)) ?? "";
    const problems = fileProblemsOf(draft, after);
    if (problems.length === 0) {
      if (((await readTextFile(profile.configPath)) ?? "") !== before)
        throw changedMeanwhile(profile.configPath, draft);
      if (after !== before) await writeFileAtomic(profile.configPath, after, {});
      await rm(draft, { force: true });
      return terminal.note(after === before ? "Nothing changed." : `Saved ${profile.configPath}.`);
    }
    for (const problem of problems) terminal.note(`${problemLine(problem)}.\n  ${problem.hint}`);
    const answer = await terminal.ask("Edit again? [Y/n] ", signal);
    if (answer === undefined || /^n/i.test(answer.trim())) {
      throw new AppError("config-invalid", `Not saved; ${profile.configPath} is as it was.`, {
        hint: `Your text is in ${draft}.`,
      });
    }
  }
}

function typedValue(key: ConfigKey, name: string, given: string): unknown {
  const reading = readText(key, given);
  if ("problem" in reading)
    throw new AppError(
      "config-invalid",
      `${name} ${reading.problem}, not ${JSON.stringify(given)}; nothing was changed.`,
      { hint: `See what it takes with \`hermes config explain ${name}\`.` },
    );
  return reading.value;
}

/** Inside a map the field's own type is only known to the schema: JSON where it is JSON, text otherwise. */
function looseValue(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

async function requireFits(
  key: ConfigKey,
  inside: readonly string[],
  value: unknown,
  path: string,
): Promise<void> {
  const whole = inside.length === 0 ? value : withValue(await currentValue(key, path), inside, value);
  const result = key.schema.safeParse(whole);
  if (result.success) return;
  const [issue] = result.error.issues;
  const field = issue && issue.path.length > 0 ? `${key.key}.${issue.path.join(".")}` : key.key;
  throw new AppError(
    "config-invalid",
    `${field}: ${issue?.message ?? "does not fit"}; nothing was changed.`,
    {
      hint: `See what it takes with \`hermes config explain ${key.key}\`.`,
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

function fileProblemsOf(path: string, text: string): readonly Problem[] {
  const file = { path, yaml: parseYamlFile(text) };
  return resolveConfig(configKeys(), { flags: new Map(), environments: [], file }).problems;
}

function changedMeanwhile(path: string, draft: string): AppError {
  return new AppError(
    "file-unwritable",
    `${path} was changed by someone else meanwhile, so it was not overwritten.`,
    {
      hint: `Your text is in ${draft}; compare the two and copy what you need.`,
    },
  );
}

/** Variables that are nearly one of ours: a typing error there would otherwise be silence. */
function misspelledVariables(variables: CommandContext["variables"]): Problem[] {
  const names = configKeys().flatMap((key) => key.env);
  const known = new Set(names);
  return Object.keys(variables)
    .filter((name) => /^(TERMINAL|HERMES)_/.test(name) && !known.has(name))
    .flatMap((name) => {
      const near = closest(name, names);
      if (near === undefined) return [];
      const hint = `Did you mean ${near}?`;
      return [
        {
          kind: "unknown-key" as const,
          key: undefined,
          where: name,
          message: "no setting reads this variable",
          hint,
          used: false,
        },
      ];
    });
}
