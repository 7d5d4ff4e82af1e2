import { type ConfigKey, configKeys, requireKey } from "../../../config/config-keys.ts";
import { requireNoBadValues } from "../../../config/load-config.ts";
import { createJsonSchema } from "../../../config/reference-page.ts";
import type { ResolvedConfig, Setting } from "../../../config/resolved-config.ts";
import { formatProblem } from "../../../config/setting-problem.ts";
import { describeExpectedText } from "../../../config/setting-text.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { renderTable } from "../../terminal/table.ts";

/** Printed instead of the value of a secret. */
const HIDDEN = "«secret»";

export async function printPath({ openApp, terminal }: CommandContext, { json }: JsonOption): Promise<void> {
  const { profile } = await openApp();
  if (json) terminal.printJson({ config: profile.configPath, env: profile.envPath, home: profile.home });
  else terminal.print(profile.configPath);
}

export async function showConfig(
  context: CommandContext,
  section: string | undefined,
  { json, all }: JsonOption & { all?: boolean },
): Promise<void> {
  const { terminal } = context;
  const { resolved, profile } = await startApp(context);
  const inSection = [...resolved.settings.values()].filter(
    ({ key }) => section === undefined || key.key === section || key.key.startsWith(`${section}.`),
  );
  if (inSection.length === 0) requireKey(section ?? "", configKeys());
  // A single section is shown in full; all sections together only with values that differ from the default.
  const shown = inSection.filter(
    ({ origin }) => all || json || section !== undefined || origin !== "default",
  );
  if (json) return terminal.printJson(shown.map(asJson));
  terminal.print(terminal.colours.dim(`# ${profile.name}: ${profile.configPath}`));
  if (shown.length === 0)
    return terminal.print(
      "All settings have their default values. List them with `hermes config show --all`.",
    );
  const rows = shown.map((setting) => [setting.key.key, text(shownValue(setting)), source(setting)]);
  terminal.print(renderTable(["SETTING", "VALUE", "FROM"], rows, terminal));
}

export async function getSetting(
  { openApp, terminal }: CommandContext,
  name: string,
  { json }: JsonOption,
): Promise<void> {
  const { key, inside } = requireKey(name, configKeys());
  const { resolved } = await openApp();
  requireNoBadValues(resolved);
  const setting = settingOf(resolved, key);
  const value = inside.reduce<unknown>(step, shownValue(setting));
  if (value === undefined) {
    throw new AppError("config-key-unknown", `${name} is not set: ${key.key} has no ${inside.join(".")}.`, {
      hint: `List its entries with \`hermes config get ${key.key}\`.`,
    });
  }
  if (json) terminal.printJson({ key: name, value, origin: setting.origin });
  else terminal.print(text(value));
}

export async function listKeys({ terminal }: CommandContext, { json }: JsonOption): Promise<void> {
  const keys = configKeys();
  if (json) return terminal.printJson(keys.map(keyAsJson));
  const rows = keys.map((key) => [key.key, key.type, key.secret ? "" : text(key.default), key.description]);
  terminal.print(renderTable(["SETTING", "TYPE", "DEFAULT", "MEANING"], rows, terminal));
}

export async function explainSetting(
  { openApp, terminal }: CommandContext,
  name: string,
  { json }: JsonOption,
): Promise<void> {
  const { key } = requireKey(name, configKeys());
  const { resolved } = await openApp();
  const setting = settingOf(resolved, key);
  const layers = setting.layerValues.map((layerValue) => ({
    origin: layerValue.origin,
    where: layerValue.where,
    value: key.secret ? HIDDEN : (layerValue.value ?? null),
    problem: layerValue.problem ?? null,
  }));
  if (json) return terminal.printJson({ ...keyAsJson(key), ...asJson(setting), layers });
  const { bold, dim, yellow } = terminal.colours;
  terminal.print(bold(key.key));
  terminal.print(`  ${key.description}.`);
  terminal.print("");
  terminal.print(`  takes      ${describeExpectedText(key)}`);
  terminal.print(`  variable   ${key.env.join(" or ")}`);
  if (!key.secret)
    terminal.print(`  flag       ${key.flag} ${key.type === "boolean" ? "[true|false]" : "VALUE"}`);
  if (key.usedBy) terminal.print(`  used when  terminal.backend is ${key.usedBy.join(" or ")}`);
  terminal.print("");
  const winner = setting.layerValues.find((layerValue) => layerValue.problem === undefined);
  const layerLines = setting.layerValues.map((layerValue, index) => {
    const value =
      layerValue.problem === undefined
        ? text(layers[index]?.value)
        : yellow(`refused: ${layerValue.problem}`);
    return `${layerValue === winner ? "→" : " "} ${layerValue.origin.padEnd(8)} ${value}  ${dim(layerValue.where)}`;
  });
  for (const line of layerLines) terminal.print(line);
  terminal.print(
    `${winner ? " " : "→"} ${"default".padEnd(8)} ${key.secret ? "not set" : text(key.default)}`,
  );
  const bad = resolved.problems.find((problem) => problem.kind === "unreadable");
  if (bad) terminal.note(`hermes: ${formatProblem(bad)}.\n  ${bad.hint}`);
}

export async function printSchema({ terminal }: CommandContext): Promise<void> {
  terminal.printJson(await createJsonSchema());
}

function settingOf(resolved: ResolvedConfig, key: ConfigKey): Setting {
  const setting = resolved.settings.get(key.key);
  if (!setting) throw new Error(`the loader omitted ${key.key}`);
  return setting;
}

function keyAsJson(setting: ConfigKey) {
  const { key, env, type, nullable, values, default: standard, description, secret } = setting;
  return {
    key,
    env: env[0],
    type,
    nullable,
    ...(values && { values }),
    default: secret ? null : standard,
    description,
    secret,
  };
}

function asJson(setting: Setting) {
  return { key: setting.key.key, value: shownValue(setting), origin: setting.origin };
}

function shownValue({ key, value }: Setting): unknown {
  if (!key.secret) return value;
  return value === "" ? null : HIDDEN;
}

function source({ origin, layerValues }: Setting): string {
  const winner = layerValues.find((layerValue) => layerValue.problem === undefined);
  return winner ? `${origin} ${winner.where}` : origin;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function step(value: unknown, word: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, word) ? (value as Record<string, unknown>)[word] : undefined;
}
