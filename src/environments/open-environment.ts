import { AppError } from "../lib/errors.ts";
import type { Environment } from "./environment.ts";
import type { EnvironmentRequest, TemporaryFiles } from "./environment-request.ts";
import type { Backend } from "./options.ts";

type OpenBackend = (request: EnvironmentRequest, signal: AbortSignal) => Promise<Environment>;

const OPEN: { readonly [Kind in Backend]: OpenBackend } = {
  local: async ({ options, variables, profile, cwd, reporter }) => {
    const { openLocalEnvironment } = await import("./local/local-environment.ts");
    const { home: profileHome, root: rootHome } = profile;
    const onNotice = (text: string): void => reporter.onNotice(text);
    return openLocalEnvironment({ options, variables, profileHome, rootHome, cwd, onNotice });
  },
  docker: openContainer,
  podman: openContainer,
  ssh: async ({ options, variables, profile, profileId: readId, temporaryFiles }) => {
    const { openSshEnvironment } = await import("./ssh/ssh-environment.ts");
    const { syncProfileFiles } = await import("./sync/profile-sync.ts");
    const profileId = await readId();
    const sync = syncProfileFiles({ options, profileId, profileHome: profile.home });
    return addTemporaryFiles(
      await openSshEnvironment({ options, variables, profileId, sync }),
      temporaryFiles,
    );
  },
  singularity: async (request, signal) => {
    const { openSingularityEnvironment } = await import("./singularity/singularity-environment.ts");
    const { prepareSingularity } = await import("./singularity/prepare-singularity.ts");
    return addTemporaryFiles(
      openSingularityEnvironment(await prepareSingularity(request, signal)),
      request.temporaryFiles,
    );
  },
};

/** Opens the environment that the settings name. There is no fallback to another kind. */
export function openEnvironment(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  return OPEN[request.options.backend](request, signal);
}

async function addTemporaryFiles(
  environment: Environment,
  lent: TemporaryFiles | undefined,
): Promise<Environment> {
  if (lent === undefined) return environment;
  const { withTemporaryFiles } = await import("./sync/lend-files.ts");
  return withTemporaryFiles(environment, lent);
}

/** Docker and Podman differ only in the program that is called and its capabilities. */
async function openContainer(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  const { prepareExistingSandbox } = await import("./docker/engine/prepare-docker.ts");
  const { reporter } = request;
  const mayRemove = () => request.mayRemove?.() ?? false;
  const prepared = await prepareExistingSandbox(request, signal);
  const earlyShell = request.runsCommandAtOnce
    ? await (await import("./docker/engine/early-shell.ts")).startEarlyShell(prepared.engine, prepared.spec)
    : undefined;
  const { openDockerEnvironment } = await import("./docker/docker-environment.ts");
  return openDockerEnvironment({ ...prepared, reporter, earlyShell, mayRemove });
}

/**
 * Reclaims what earlier processes abandoned, in the backends whose sandboxes outlive a process. Does nothing if the
 * profile was renamed or deleted meanwhile: processes that use the new name do the work then.
 */
export async function reclaimAbandonedSandboxes(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<void> {
  const { options, reporter } = request;
  try {
    if (options.backend === "singularity") {
      const { prepareSingularity } = await import("./singularity/prepare-singularity.ts");
      const { reclaimInstances } = await import("./singularity/reclaim-instances.ts");
      const profileId = await request.profileId();
      const prepared = await prepareSingularity(request, signal);
      await reclaimInstances({ ...prepared, options, profileId, now: Date.now() }, signal);
    } else if (OPEN[options.backend] === openContainer) {
      const { findDocker } = await import("./docker/engine/prepare-docker.ts");
      const { reclaimAtStart } = await import("./docker/reclaim/reclaim-at-start.ts");
      const prepared = await findDocker(request);
      const profileId = await request.profileId();
      await reclaimAtStart({ ...prepared, options, profileId, reporter, now: Date.now() }, signal);
    }
  } catch (error) {
    if (!(error instanceof AppError && error.code === "home-gone")) throw error;
  }
}
