import type { Engine } from "../../../environments/docker/engine/engine.ts";
import { runInteractiveShell } from "../../../environments/docker/engine/run-interactive-shell.ts";
import { ensureSandbox } from "../../../environments/docker/lifecycle/ensure-sandbox.ts";
import { releaseSandbox } from "../../../environments/docker/lifecycle/release-sandbox.ts";
import { affectsClient } from "../../../environments/docker/spec/create-arguments.ts";
import type { SandboxSpec } from "../../../environments/docker/spec/sandbox-spec.ts";
import type { Reporter } from "../../../environments/environment-request.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { openDockerContext } from "./sandbox-context.ts";

/** Opens an interactive shell. The sandbox counts as in use while the shell is open. */
export async function openShell(context: CommandContext, { task }: { task: string }): Promise<void> {
  const { engine, spec, request } = await openDockerContext(context, task);
  if (!context.terminal.interactive) {
    throw new AppError("usage-wrong", "A shell needs a terminal.", {
      hint: "In scripts, use `hermes sandbox exec -- COMMAND`.",
    });
  }
  const { id } = await ensureSandbox(engine, spec, request.reporter, context.signal);
  try {
    const { workingFolder } = spec;
    const { flags, variables } = forwardedToShell(spec, engine, request.reporter);
    context.exit(await runInteractiveShell(engine, { id, workingFolder, flags, variables }, context.signal));
  } finally {
    await releaseSandbox(engine, id, spec, false, request.reporter);
  }
}

/**
 * The variables of `env_passthrough` and `docker_forward_env`. The client reads their values from its own environment, because `ps`
 * shows its arguments.
 */
function forwardedToShell(
  { forwardedVariables }: SandboxSpec,
  { env }: Engine,
  { onNotice }: Reporter,
): { readonly flags: readonly string[]; readonly variables: Readonly<Record<string, string>> } {
  const entries = [...forwardedVariables].filter(([name, value]) => {
    if (!affectsClient(name) || env[name] === value) return true;
    onNotice(`${name} is not passed to the shell: it would change the behaviour of the container client.`);
    return false;
  });
  return {
    flags: entries.flatMap(([name]) => ["--env", name]),
    variables: Object.fromEntries(entries),
  };
}
