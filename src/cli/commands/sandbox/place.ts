import { type App, environmentFacts } from "../../../app.ts";
import { describeDocker, type PreparedDocker } from "../../../environments/docker/prepare-docker.ts";
import { hasOperations } from "../../../environments/docker/snapshots/operation.ts";
import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { currentFolder } from "../../current-folder.ts";
import { startApp } from "../../start-app.ts";

/** What the sandbox commands start from; notices and progress go to stderr. */
export async function requestFor(
  context: CommandContext,
  task: string,
): Promise<{ app: App; request: EnvironmentRequest }> {
  const { terminal, variables, userHome } = context;
  const app = await startApp(context);
  const reporter = {
    onNotice: (text: string) => terminal.note(`hermes: ${text}`),
    onProgress: (text: string) => terminal.note(`hermes: ${text}`),
  };
  return {
    app,
    request: { ...environmentFacts(app, { cwd: currentFolder(), variables, userHome, reporter }), task },
  };
}

export interface DockerDesk extends PreparedDocker {
  readonly app: App;
  readonly request: EnvironmentRequest;
  /** Why no sandbox may be made with the settings. */
  readonly refusals: readonly AppError[];
}

/**
 * The same for the commands that only make sense where there are containers. Those that may make one are refused when
 * the settings do not allow it; all others work on what exists.
 */
export async function dockerFor(
  context: CommandContext,
  task: string,
  { recover = true, makes = false }: { readonly recover?: boolean; readonly makes?: boolean } = {},
): Promise<DockerDesk> {
  const { app, request } = await requestFor(context, task);
  if (request.options.backend !== "docker" && request.options.backend !== "podman") {
    const { backend } = request.options;
    throw new AppError(
      "sandbox-unavailable",
      `This command looks after containers of Docker and Podman, and terminal.backend is ${backend}.`,
      {
        hint:
          backend === "singularity"
            ? "See and stop instances with `apptainer instance list` and `apptainer instance stop NAME`."
            : "Set it with `hermes config set terminal.backend docker`.",
      },
    );
  }
  const prepared = await describeDocker(request, context.signal);
  if (makes && prepared.refusals[0] !== undefined) throw prepared.refusals[0];
  if (recover) await recoverLeft(prepared, request, context.signal);
  return { app, request, ...prepared };
}

/** Whoever comes after a kill finishes or takes back what was being done, and says so. */
async function recoverLeft(
  { engine, spec }: PreparedDocker,
  { reporter }: EnvironmentRequest,
  signal: AbortSignal,
): Promise<void> {
  if (!(await hasOperations(spec))) return;
  const { recoverOperations } = await import("../../../environments/docker/snapshots/recover.ts");
  for (const { reason } of await recoverOperations(engine, spec, { dryRun: false, now: Date.now() }, signal))
    reporter.onNotice(`${reason}.`);
}
