import { basename } from "node:path";
import type { App } from "../../../app/app.ts";
import { findEngine } from "../../../environments/docker/engine/find-engine.ts";
import type { Backend } from "../../../environments/options.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { type Choice, chooseRow } from "./questions.ts";

const ENGINE_WITHIN_MS = 3_000;

/** The name of the container engine that answers on this machine; undefined if there is none. */
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

/** Asks where commands run. The current environment is the preset. */
export async function chooseBackend(context: CommandContext, app: App, engine: string): Promise<Backend> {
  const { backend, docker_image: image } = app.resolved.config.terminal;
  const choices: Choice<Backend>[] = [
    { label: "On this machine", value: "local" },
    { label: `In a ${engine} container with the image ${image}`, value: "docker" },
  ];
  if (!choices.some(({ value }) => value === backend))
    choices.push({ label: `As now: ${backend}`, value: backend });
  const preset = choices.findIndex(({ value }) => value === backend);
  return chooseRow(context, "Where should commands run?", choices, preset);
}

type Mode = App["resolved"]["config"]["approvals"]["mode"];

/** Asks who decides about calls that need approval. The current mode is the preset. */
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
