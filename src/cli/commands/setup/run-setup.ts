import type { App } from "../../../app/app.ts";
import { readRouteSettings } from "../../../app/conversation.ts";
import { findModelChanges, warnOfOverrides } from "../../../app/default-model.ts";
import { writeSecret, writeSettings } from "../../../config/files/write-setting.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import {
  canUseLocalSandbox,
  chooseBackend,
  chooseMode,
  findRunningEngine,
} from "./choose-backend-and-mode.ts";
import { type ChosenModel, chooseModel } from "./choose-model.ts";
import { askYes } from "./questions.ts";

/** One change of config.yaml; `to` is undefined for a removal. */
interface SettingChange {
  readonly path: readonly [section: string, key: string];
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export interface SetupRequest {
  /** Whether to ask only for a model, because none is set up. */
  readonly onlyModel: boolean;
}

/**
 * Asks for a model and, unless `onlyModel`, for the environment and the approvals. Everything is written after the last question, so
 * an interrupted setup changes nothing. Returns whether the user wants to continue.
 */
export async function runSetup(context: CommandContext, { onlyModel }: SetupRequest): Promise<boolean> {
  const { terminal, signal } = context;
  if (!terminal.interactive)
    throw new AppError("terminal-missing", "Setup asks questions, which needs a terminal.");
  const app = await startApp(context);
  const engine = onlyModel ? undefined : findRunningEngine(app, signal);
  engine?.catch(() => undefined); // it is awaited below, but not if the user stops the setup first
  terminal.note(
    onlyModel
      ? "Hermes has no model yet. A few questions; Ctrl-C leaves and changes nothing."
      : "A few questions; Enter takes what is in brackets, Ctrl-C changes nothing.",
  );
  const chosen = await chooseModel(context, app, { offersCurrent: !onlyModel });
  const changes: SettingChange[] = chosen === undefined ? [] : modelChanges(app, chosen);
  if (!onlyModel) {
    const { terminal: environment, approvals } = app.resolved.config;
    const [name, canSandbox] = await Promise.all([engine, canUseLocalSandbox(app, signal)]);
    if (name === undefined)
      terminal.note("\nNo container engine answers, so commands cannot run in a container.");
    const { backend, local_sandbox } =
      name === undefined && !canSandbox
        ? environment
        : await chooseBackend(context, app, { engine: name, canSandbox });
    changes.push({ path: ["terminal", "backend"], from: environment.backend, to: backend });
    changes.push({ path: ["terminal", "local_sandbox"], from: environment.local_sandbox, to: local_sandbox });
    changes.push({ path: ["approvals", "mode"], from: approvals.mode, to: await chooseMode(context, app) });
  }
  return confirmAndWrite(
    context,
    app,
    changes.filter(({ from, to }) => from !== to),
    chosen?.pastedKey,
  );
}

function modelChanges(app: App, { route, variable }: ChosenModel): SettingChange[] {
  const settings = readRouteSettings(app.resolved);
  return findModelChanges(app, { settings, variable }, route).map(({ key, from, to }) => ({
    path: ["model", key],
    from,
    to,
  }));
}

async function confirmAndWrite(
  context: CommandContext,
  app: App,
  changes: readonly SettingChange[],
  pastedKey: ChosenModel["pastedKey"],
): Promise<boolean> {
  const { terminal, signal } = context;
  const { configPath, envPath, home } = app.profile;
  if (changes.length === 0 && pastedKey === undefined) {
    terminal.note("\nEverything stays as it is.");
    return true;
  }
  terminal.note("");
  if (changes.length > 0) terminal.note(`${configPath}:`);
  for (const { path, from, to } of changes)
    terminal.note(`  ${path.join(".")}: ${from ?? "not set"} → ${to ?? "removed"}`);
  if (pastedKey !== undefined) terminal.note(`${envPath}:\n  ${pastedKey.source}: the key that you pasted`);
  if (!(await askYes(context, "Write this?"))) {
    terminal.note("Nothing was changed.");
    return false;
  }
  // The key is written first, so that a failure leaves no settings that need a missing key.
  if (pastedKey !== undefined) await writeSecret(envPath, home, pastedKey.source, pastedKey.value, signal);
  const written = changes.map(({ path, to }) => [path, to] as const);
  if (written.length > 0) await writeSettings(configPath, home, written, signal);
  const keys = changes.map(({ path }) => path.join("."));
  (await context.log()).info("setup written", { keys, secret: pastedKey?.source });
  terminal.note("Saved. Change it at any time with `hermes setup` or `hermes config`.\n");
  for (const sentence of warnings(app, changes)) terminal.note(`  ${sentence}`);
  return true;
}

/** Warns of flags and variables that override the new settings. */
function* warnings(app: App, changes: readonly SettingChange[]): Generator<string> {
  const keyed = changes.flatMap(({ path: [section, key], ...change }) =>
    section === "model" ? [{ ...change, key: key as "default" }] : [],
  );
  yield* warnOfOverrides(app, keyed);
  for (const { path } of changes.filter(({ path: [section] }) => section !== "model")) {
    const layerValues = app.resolved.settings.get(path.join("."))?.layerValues ?? [];
    const stronger = layerValues.find(({ origin }) => origin !== "file");
    if (stronger !== undefined) yield `${stronger.where} overrides ${path.join(".")} while it is set.`;
  }
}
