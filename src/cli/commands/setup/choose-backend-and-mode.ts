import { basename } from "node:path";
import type { App } from "../../../app/app.ts";
import { inspectLocalSandbox } from "../../../app/environments/local-sandbox.ts";
import { findEngine } from "../../../environments/docker/engine/find-engine.ts";
import type { Backend, TerminalOptions } from "../../../environments/options.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { currentFolder } from "../../terminal/current-folder.ts";
import { type Choice, chooseRow } from "./questions.ts";

const ENGINE_WITHIN_MS = 3_000;

/** The name of the running container engine; undefined if there is none. */
export async function findRunningEngine(app: App, signal: AbortSignal): Promise<string | undefined> {
  const { docker_binary: binary } = app.resolved.config.terminal;
  try {
    const engine = await findEngine({ backend: "docker", binary, variables: app.variables });
    const { exitCode, timedOut } = await engine.run(["info"], ENGINE_WITHIN_MS, signal);
    if (timedOut || exitCode !== 0) return undefined;
    return basename(engine.binary) === "podman" ? "Podman" : "Docker";
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) return undefined; // none is installed
    throw error;
  }
}

export interface EnvironmentChoice {
  readonly backend: Backend;
  readonly local_sandbox: TerminalOptions["local_sandbox"];
}

/** Asks where commands run. The default answer is the current environment. */
export async function chooseBackend(
  context: CommandContext,
  app: App,
  { engine, canSandbox }: { readonly engine: string | undefined; readonly canSandbox: boolean },
): Promise<EnvironmentChoice> {
  const { backend, local_sandbox, docker_image: image } = app.resolved.config.terminal;
  const now = { backend, local_sandbox };
  const choices: Choice<EnvironmentChoice>[] = [
    { label: "On this machine", value: { backend: "local", local_sandbox: "off" } },
  ];
  if (engine !== undefined)
    choices.push({
      label: `In a ${engine} container with the image ${image}`,
      value: { backend: "docker", local_sandbox },
    });
  if (canSandbox)
    choices.push({
      label: "On this machine, in a sandbox that can change only the project and hides your credentials",
      value: { backend: "local", local_sandbox: "workspace" },
    });
  const isNow = ({ value }: Choice<EnvironmentChoice>): boolean =>
    value.backend === backend && (backend !== "local" || value.local_sandbox === local_sandbox);
  if (!choices.some(isNow)) {
    const sandbox = backend === "local" ? `, sandbox ${local_sandbox}` : "";
    choices.push({ label: `As now: ${backend}${sandbox}`, value: now });
  }
  return chooseRow(context, "Where should commands run?", choices, choices.findIndex(isNow));
}

/** Whether local commands could run in a sandbox on this machine. */
export async function canUseLocalSandbox(app: App, signal: AbortSignal): Promise<boolean> {
  try {
    const { problem } = await inspectLocalSandbox(app, { cwd: currentFolder(), mode: "workspace" }, signal);
    return problem === null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) return false;
    throw error;
  }
}

type Mode = App["resolved"]["config"]["approvals"]["mode"];

/** Asks who decides about calls that need approval. The default answer is the current mode. */
export async function chooseMode(context: CommandContext, app: App): Promise<Mode> {
  const choices: readonly Choice<Mode>[] = [
    { label: "smart: a reviewer model answers first, you answer the rest", value: "smart" },
    { label: "manual: you answer every question", value: "manual" },
    { label: "off: nothing is asked; a few calls are always refused", value: "off" },
  ];
  const preset = choices.findIndex(({ value }) => value === app.resolved.config.approvals.mode);
  const question = "Who decides about a call that could destroy, leak or publish something?";
  return chooseRow(context, question, choices, preset);
}
