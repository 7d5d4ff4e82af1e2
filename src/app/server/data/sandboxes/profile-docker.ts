import type { EnvironmentRequest } from "../../../../environments/environment-request.ts";
import type { App } from "../../../app.ts";
import { createEnvironmentFacts } from "../../../environments/environments.ts";
import {
  type DockerOptions,
  type OpenedDocker,
  openDocker,
  quietReporter,
} from "../../../environments/sandbox.ts";

/** The request for the sandbox of a task, in the home folder of the user. */
export function requestOf(
  app: App,
  task: string,
  reporter: EnvironmentRequest["reporter"] = quietReporter,
): EnvironmentRequest {
  return { ...createEnvironmentFacts(app, { cwd: app.userHome, reporter }), task };
}

/** Opens the container engine of a profile. Throws if its backend has no containers. */
export async function openProfileDocker(
  app: App,
  options: DockerOptions & {
    readonly task?: string;
    readonly reporter?: EnvironmentRequest["reporter"];
  },
  signal: AbortSignal,
): Promise<OpenedDocker> {
  return await openDocker(requestOf(app, options.task ?? "default", options.reporter), options, signal);
}

export const hasContainers = ({ resolved }: App): boolean =>
  ["docker", "podman"].includes(resolved.config.terminal.backend);
