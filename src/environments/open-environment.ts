import { AppError } from "../lib/errors.ts";
import type { Environment } from "./environment.ts";
import type { EnvironmentRequest } from "./environment-request.ts";
import type { Backend } from "./options.ts";

type Open = (request: EnvironmentRequest, signal: AbortSignal) => Promise<Environment>;

const OPEN: { readonly [Kind in Backend]: Open } = {
  local: async ({ options, variables, profile, cwd }) => {
    const { openLocalEnvironment } = await import("./local/local-environment.ts");
    return openLocalEnvironment({ options, variables, profileHome: profile.home, cwd });
  },
  docker: openContainer,
  podman: openContainer,
  ssh: async ({ options, variables, profileId }) => {
    const { openSshEnvironment } = await import("./ssh/ssh-environment.ts");
    return openSshEnvironment({ options, variables, profileId: await profileId() });
  },
  singularity: refuse,
};

/** Opens the environment that the settings name. There is no other one to fall back to. */
export function openEnvironment(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  return OPEN[request.options.backend](request, signal);
}

/** Docker and Podman differ in the program that is called, and in what it can do. */
async function openContainer(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  const { openDockerEnvironment } = await import("./docker/docker-environment.ts");
  const { prepareDocker } = await import("./docker/prepare-docker.ts");
  return openDockerEnvironment({ ...(await prepareDocker(request, signal)), reporter: request.reporter });
}

async function refuse({ options }: EnvironmentRequest): Promise<never> {
  throw new AppError(
    "environment-unbuilt",
    `terminal.backend ${options.backend} is not built yet in this version.`,
  );
}

/** What a process owes its predecessors before or beside its own work, in the backends that outlive a process. */
export async function lookAfterAbandoned(request: EnvironmentRequest, signal: AbortSignal): Promise<void> {
  if (OPEN[request.options.backend] !== openContainer) return;
  const { prepareDocker } = await import("./docker/prepare-docker.ts");
  const { reclaimAtStart } = await import("./docker/reclaim-at-start.ts");
  const { engine, sandboxesFolder } = await prepareDocker(request, signal);
  const { options, reporter } = request;
  const profileId = await request.profileId();
  await reclaimAtStart({ engine, options, profileId, sandboxesFolder, reporter, now: Date.now() }, signal);
}
