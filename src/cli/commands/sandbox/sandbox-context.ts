import type { App } from "../../../app/app.ts";
import { createEnvironmentFacts } from "../../../app/environments/environments.ts";
import { type DockerOptions, type OpenedDocker, openDocker } from "../../../app/environments/sandbox.ts";
import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { currentFolder } from "../../terminal/current-folder.ts";

/** The options of a command for the sandbox of a task. */
export interface ChosenOptions extends JsonOption {
  readonly task: string;
  /** The name or id of a sandbox, instead of the task's sandbox. */
  readonly chosenSandbox: string | undefined;
}

export interface SandboxContext {
  readonly app: App;
  readonly request: EnvironmentRequest;
}

/** Creates the environment request of a sandbox command. Notices and progress go to stderr. */
export async function createSandboxRequest(context: CommandContext, task: string): Promise<SandboxContext> {
  const app = await startApp(context);
  const facts = createEnvironmentFacts(app, { cwd: currentFolder(), reporter: context.reporter });
  return { app, request: { ...facts, task } };
}

export type DockerContext = SandboxContext & OpenedDocker;

/** Creates the request and opens the container engine, for commands that need containers. */
export async function openDockerContext(
  context: CommandContext,
  task: string,
  options: DockerOptions = {},
): Promise<DockerContext> {
  const sandbox = await createSandboxRequest(context, task);
  return { ...sandbox, ...(await openDocker(sandbox.request, options, context.signal)) };
}
