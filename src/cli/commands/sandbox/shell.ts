import { changesClient } from "../../../environments/docker/create-arguments.ts";
import type { Engine } from "../../../environments/docker/engine.ts";
import { ensureSandbox } from "../../../environments/docker/ensure-sandbox.ts";
import { releaseSandbox } from "../../../environments/docker/release-sandbox.ts";
import { runShell } from "../../../environments/docker/run-shell.ts";
import type { SandboxSpec } from "../../../environments/docker/sandbox-spec.ts";
import type { Reporter } from "../../../environments/environment-request.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { dockerFor } from "./place.ts";

/** A shell for a person; it counts as use of the sandbox while it is open. */
export async function openShell(context: CommandContext, { task }: { task: string }): Promise<void> {
  const { engine, spec, request, sandboxesFolder } = await dockerFor(context, task, { makes: true });
  if (!context.terminal.interactive) {
    throw new AppError("usage-wrong", "A shell needs a terminal.", {
      hint: "For scripts there is `hermes sandbox exec -- COMMAND`.",
    });
  }
  const { id } = await ensureSandbox(engine, spec, request.reporter, context.signal);
  try {
    const { workingFolder } = spec;
    const { flags, variables } = forwardedToShell(spec, engine, request.reporter);
    context.exit(await runShell(engine, { id, workingFolder, flags, variables }, context.signal));
  } finally {
    const options = { force: false, sandboxesFolder, now: Date.now() };
    await releaseSandbox(engine, id, spec, options, request.reporter);
  }
}

/**
 * The variables of `env_passthrough` and `docker_forward_env`, for a client that takes values from its own environment,
 * where no list of processes shows them.
 */
function forwardedToShell(
  { forwardedVariables }: SandboxSpec,
  { env }: Engine,
  { onNotice }: Reporter,
): { readonly flags: readonly string[]; readonly variables: Readonly<Record<string, string>> } {
  const entries = [...forwardedVariables].filter(([name, value]) => {
    if (!changesClient(name) || env[name] === value) return true;
    onNotice(`${name} is not handed to the shell: it would change what the container program itself does.`);
    return false;
  });
  return {
    flags: entries.flatMap(([name]) => ["--env", name]),
    variables: Object.fromEntries(entries),
  };
}
