import type { z } from "zod";
import type { App } from "../../../app/app.ts";
import { checkPlatformLogin, type PlatformLogin } from "../../../app/server/check-platform-login.ts";
import { openGatewayRecords } from "../../../app/server/gateway-status.ts";
import { type ConfigKey, configKeys } from "../../../config/config-keys.ts";
import { writeSecret, writeSettings } from "../../../config/files/write-setting.ts";
import { parseSettingText } from "../../../config/setting-text.ts";
import { listReadiness } from "../../../gateway/platforms/configured-platforms.ts";
import { PLATFORMS, type PlatformName } from "../../../gateway/platforms/platform-registry.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { askText, askYes, chooseRow } from "../setup/questions.ts";

type Values = Readonly<Record<string, unknown>>;

/**
 * Asks for the settings of a platform and logs in with them; writes them only if the login worked. If the platform is already set up,
 * Enter keeps each current value.
 */
export async function setUpPlatform(context: CommandContext, given: string | undefined): Promise<void> {
  const { terminal, signal } = context;
  if (!terminal.interactive)
    throw new AppError("terminal-missing", "Setup asks questions, which needs a terminal.", {
      hint: "Without one, use `hermes config set platforms.NAME.KEY VALUE`; `hermes config keys` lists the keys.",
    });
  const app = await startApp(context);
  await requireStopped(app, signal);
  const name = await choosePlatform(context, app, given);
  const { label, firstStep } = PLATFORMS[name];
  terminal.note(`\n${label}. ${firstStep}\nEnter takes what is in brackets, Ctrl-C changes nothing.\n`);
  const current: Values = app.resolved.config.platforms[name];
  let values: Values = current;
  for (;;) {
    values = await askValues(context, name, values);
    terminal.note("\nLogging in…");
    const log = await context.log();
    const options = { ...values, enabled: true };
    const proof = await checkPlatformLogin(app, { name, options, log }, signal);
    if (!("problem" in proof)) {
      terminal.note(`Logged in as ${proof.account}.\n`);
      values = { ...values, ...(await askPeople(context, name, values, proof)) };
      break;
    }
    terminal.note(`That did not work: ${proof.problem}.`);
    if (!(await askYes(context, "Try other values?"))) {
      terminal.note("Nothing was changed.");
      return;
    }
    terminal.note("");
  }
  if (current["enabled"] === false) values = { ...values, enabled: true };
  await write(context, app, { name, current, values });
}

/** Throws if the gateway is running, because a second login with the same account would disconnect it. */
async function requireStopped(app: App, signal: AbortSignal): Promise<void> {
  using records = await openGatewayRecords(app, signal);
  const holder = await records.findHolder(signal);
  if (holder === undefined) return;
  throw new AppError("gateway-running", `The gateway runs as process ${holder.pid}.`, {
    hint: "Stop it first, so that setup can log in: `hermes gateway stop`.",
  });
}

async function choosePlatform(
  context: CommandContext,
  app: App,
  given: string | undefined,
): Promise<PlatformName> {
  const offered = listReadiness(app.resolved.config.platforms).filter(
    ({ name }) => PLATFORMS[name].promptedSettings.length > 0,
  );
  const named = offered.find(({ name }) => name === given?.toLowerCase());
  if (named !== undefined) return named.name;
  const names = offered.map(({ name }) => name).join(", ");
  if (given !== undefined)
    throw new AppError("usage-wrong", `Setup knows no platform ${given}.`, { hint: `It knows ${names}.` });
  const choices = offered.map(({ name, label, missing }) => ({
    label: missing.length === 0 ? `${label} (set up)` : label,
    value: name,
  }));
  return chooseRow(context, "Which platform?", choices, 0);
}

async function askValues(context: CommandContext, name: PlatformName, before: Values): Promise<Values> {
  let values = before;
  for (const key of PLATFORMS[name].promptedSettings) {
    const isNeeded = PLATFORMS[name].requiredSettings.some((need) => need === key);
    values = { ...values, [key]: await askValue(context, settingOf(name, key), values[key], isNeeded) };
  }
  return values;
}

async function askPeople(
  context: CommandContext,
  name: PlatformName,
  values: Values,
  proof: Extract<PlatformLogin, { readonly account: string }>,
): Promise<Values> {
  context.terminal.note(
    proof.answersStrangers
      ? "Anybody else gets a code, which you approve with `hermes pairing approve`."
      : "Nobody else is answered.",
  );
  const key = settingOf(name, "allowed_users");
  return { allowed_users: await askValue(context, key, values["allowed_users"], false) };
}

/** Asks until the answer is valid. */
async function askValue(
  context: CommandContext,
  setting: ConfigKey,
  current: unknown,
  isNeeded: boolean,
): Promise<unknown> {
  const { terminal, signal } = context;
  const shown = Array.isArray(current) ? current.join(", ") : String(current ?? "");
  const isSet = shown !== "";
  for (;;) {
    const bracket = !isSet ? "" : setting.secret ? " [unchanged]" : ` [${shown}]`;
    const question = `${setting.description}${setting.secret ? " (not shown)" : ""}${bracket}: `;
    const typed = setting.secret
      ? (await terminal.readSecret(question, signal)).trim()
      : await askText(context, question);
    if (typed === "" && (isSet || !isNeeded)) return current;
    if (typed === "") {
      terminal.note("A value is required.");
      continue;
    }
    const parsed = parseAnswer(setting, typed);
    if ("value" in parsed) return parsed.value;
    terminal.note(`${parsed.problem}.`);
  }
}

function parseAnswer(
  setting: ConfigKey,
  typed: string,
): { readonly value: unknown } | { readonly problem: string } {
  const words = typed
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
  const isList = setting.type === "list" && !typed.startsWith("[");
  const parsed = isList ? { value: words } : parseSettingText(setting, typed);
  if ("problem" in parsed) return parsed;
  const [, platform = "", key = ""] = setting.path;
  const { shape } = PLATFORMS[platform as PlatformName].options as unknown as z.ZodObject;
  const checked = (shape[key] as z.ZodType).safeParse(parsed.value);
  return checked.success
    ? { value: checked.data }
    : { problem: checked.error.issues[0]?.message ?? "the value is not valid" };
}

function settingOf(name: PlatformName, key: string): ConfigKey {
  const found = configKeys().find(({ key: one }) => one === `platforms.${name}.${key}`);
  if (found === undefined) throw new Error(`there is no setting ${key} of ${name}`);
  return found;
}

/** Shows the changes and writes them after a confirmation: secrets to `.env`, the rest to config.yaml. */
async function write(
  context: CommandContext,
  { profile, resolved }: App,
  {
    name,
    current,
    values,
  }: { readonly name: PlatformName; readonly current: Values; readonly values: Values },
): Promise<void> {
  const { terminal, signal } = context;
  const { configPath, envPath, home } = profile;
  const changed = Object.keys(values)
    .filter((key) => JSON.stringify(values[key]) !== JSON.stringify(current[key]))
    .map((key) => settingOf(name, key));
  const done = "Start it with `hermes gateway start`, and see `hermes gateway status`.";
  if (changed.length === 0) return terminal.note(`Everything stays as it is. ${done}`);
  const chosenOf = ({ path }: ConfigKey): unknown => values[path.at(-1) ?? ""];
  for (const setting of changed)
    terminal.note(
      setting.secret
        ? `${envPath}: ${setting.env[0]}, as you typed it`
        : `${configPath}: ${setting.key} is ${JSON.stringify(chosenOf(setting))}`,
    );
  if (!(await askYes(context, "Write this?"))) return terminal.note("Nothing was changed.");
  for (const setting of changed.filter(({ secret }) => secret))
    await writeSecret(envPath, home, setting.env[0], String(chosenOf(setting)), signal);
  const plain = changed.filter(({ secret }) => !secret);
  if (plain.length > 0)
    await writeSettings(
      configPath,
      home,
      plain.map((setting) => [setting.path, chosenOf(setting)] as const),
      signal,
    );
  (await context.log()).info("platform set up", { platform: name, keys: changed.map(({ key }) => key) });
  terminal.note(`Saved. ${done}`);
  for (const { key } of changed) {
    const stronger = resolved.settings.get(key)?.layerValues.find(({ origin }) => origin !== "file");
    if (stronger !== undefined && !stronger.where.includes(envPath))
      terminal.note(`  ${stronger.where} overrides ${key} while it is set.`);
  }
}
