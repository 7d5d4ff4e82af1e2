import { AppError } from "../lib/errors.ts";
import type { Environment } from "./environment.ts";
import type { EnvironmentRequest, LentFiles } from "./environment-request.ts";
import type { Backend } from "./options.ts";

type Open = (request: EnvironmentRequest, signal: AbortSignal) => Promise<Environment>;

const OPEN: { readonly [Kind in Backend]: Open } = {
  local: async ({ options, variables, profile, cwd }) => {
    const { openLocalEnvironment } = await import("./local/local-environment.ts");
    return openLocalEnvironment({ options, variables, profileHome: profile.home, cwd });
  },
  docker: openContainer,
  podman: openContainer,
  ssh: async ({ options, variables, profile, profileId: readId, lent }) => {
    const { openSshEnvironment } = await import("./ssh/ssh-environment.ts");
    const { syncProfileFiles } = await import("./sync/profile-sync.ts");
    const profileId = await readId();
    const sync = syncProfileFiles({ options, profileId, profileHome: profile.home });
    return withLent(await openSshEnvironment({ options, variables, profileId, sync }), lent);
  },
  singularity: async (request, signal) => {
    const { openSingularityEnvironment } = await import("./singularity/singularity-environment.ts");
    const { prepareSingularity } = await import("./singularity/prepare-singularity.ts");
    return withLent(openSingularityEnvironment(await prepareSingularity(request, signal)), request.lent);
  },
};

/** Opens the environment that the settings name. There is no other one to fall back to. */
export function openEnvironment(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  return OPEN[request.options.backend](request, signal);
}

async function withLent(environment: Environment, lent: LentFiles | undefined): Promise<Environment> {
  if (lent === undefined) return environment;
  const { lendFiles } = await import("./sync/lend-files.ts");
  return lendFiles(environment, lent);
}

/** Docker and Podman differ in the program that is called, and in what it can do. */
async function openContainer(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  const { prepareDocker } = await import("./docker/prepare-docker.ts");
  const { reporter } = request;
  const mayRemove = () => request.mayRemove?.() ?? false;
  const prepared = await prepareDocker(request, signal);
  const early = request.runsAtOnce
    ? (await import("./docker/early-shell.ts")).startEarlyShell(prepared.engine, prepared.spec)
    : undefined;
  const { openDockerEnvironment } = await import("./docker/docker-environment.ts");
  return openDockerEnvironment({ ...prepared, reporter, early, mayRemove });
}

/**
 * What a process owes its predecessors before or beside its own work, in the backends that outlive a process. Once the
 * profile has another name or is deleted, that is up to the processes that know it by its new name.
 */
export async function lookAfterAbandoned(request: EnvironmentRequest, signal: AbortSignal): Promise<void> {
  try {
    await lookAfterBackend(request, signal);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "home-gone")) throw error;
  }
}

async function lookAfterBackend(request: EnvironmentRequest, signal: AbortSignal): Promise<void> {
  if (request.options.backend === "singularity") return lookAfterInstances(request, signal);
  if (OPEN[request.options.backend] !== openContainer) return;
  const { findDocker } = await import("./docker/prepare-docker.ts");
  const { reclaimAtStart } = await import("./docker/reclaim-at-start.ts");
  const { engine, sandboxesFolder } = await findDocker(request);
  const { options, reporter } = request;
  const profileId = await request.profileId();
  await reclaimAtStart({ engine, options, profileId, sandboxesFolder, reporter, now: Date.now() }, signal);
}

async function lookAfterInstances(request: EnvironmentRequest, signal: AbortSignal): Promise<void> {
  const { prepareSingularity } = await import("./singularity/prepare-singularity.ts");
  const { reclaimInstances } = await import("./singularity/reclaim-instances.ts");
  const { options } = request;
  const profileId = await request.profileId();
  const place = await prepareSingularity(request, signal);
  await reclaimInstances({ ...place, options, profileId, now: Date.now() }, signal);
}
