import { loadConfig } from "../../config/load-config.ts";
import {
  createDockerRequest,
  type PreparedDocker,
  sandboxesFolderOf,
} from "../../environments/docker/engine/prepare-docker.ts";
import type { SandboxStore } from "../../environments/docker/lifecycle/sandbox-record.ts";
import { hasOperations } from "../../environments/docker/recovery/operation.ts";
import type { Environment } from "../../environments/environment.ts";
import type { EnvironmentRequest } from "../../environments/environment-request.ts";
import type { Jobs } from "../../environments/jobs/jobs.ts";
import type { ProfileJobs } from "../../environments/jobs/open-profile-jobs.ts";
import { openEnvironment } from "../../environments/open-environment.ts";
import { AppError } from "../../lib/errors.ts";
import { findProfileId } from "../../profiles/profile-id.ts";
import { listProfiles } from "../../profiles/profile-store.ts";
import type { App, AppChoice } from "../app.ts";

/** A reporter that reports nothing, for requests whose notices are reported elsewhere. */
export const quietReporter = { onNotice: () => undefined, onProgress: () => undefined };

/** Opens an environment that reports notices as they arrive, for callers that do not read them from results. */
export async function openNotifyingEnvironment(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<Environment> {
  const environment = await openEnvironment(request, signal);
  return {
    openSession: environment.openSession,
    warm: environment.warm,
    async run(...parameters) {
      const result = await environment.run(...parameters);
      // The notices of a failed command become part of its error.
      if (result.ended === "exited") for (const notice of result.notices) request.reporter.onNotice(notice);
      return result;
    },
    get runningCommands() {
      return environment.runningCommands;
    },
    outside: environment.outside,
    explainRefusal: environment.explainRefusal,
    [Symbol.asyncDispose]: () => environment[Symbol.asyncDispose](),
  };
}

export interface DockerOptions {
  /** Whether to finish or roll back the operations of killed processes first; true by default. */
  readonly recover?: boolean;
  /** Whether the command may create a container; throws if the settings do not allow one. */
  readonly mayCreate?: boolean;
}

/** A container engine, and the sandbox of a request on it. */
export interface OpenedDocker extends PreparedDocker {
  readonly request: EnvironmentRequest;
  /** Why the settings do not allow a new sandbox; empty if they do. */
  readonly refusals: readonly AppError[];
}

/** Prepares a request for commands that need containers. Throws for a backend without containers. */
export async function openDocker(
  request: EnvironmentRequest,
  { recover = true, mayCreate = false }: DockerOptions,
  signal: AbortSignal,
): Promise<OpenedDocker> {
  const { backend } = request.options;
  if (backend !== "docker" && backend !== "podman") {
    throw new AppError(
      "sandbox-unavailable",
      `This command needs Docker or Podman, but terminal.backend is ${backend}.`,
      {
        hint:
          backend === "singularity"
            ? "List and stop instances with `apptainer instance list` and `apptainer instance stop NAME`."
            : "Set it with `hermes config set terminal.backend docker`.",
      },
    );
  }
  const prepared = await createDockerRequest(request, signal);
  if (mayCreate && prepared.refusals[0] !== undefined) throw prepared.refusals[0];
  if (recover) await recoverInterrupted(prepared, request, signal);
  return { ...prepared, request };
}

/** Finishes or rolls back the operations of killed processes, and reports a notice for each. */
async function recoverInterrupted(
  { engine, spec }: PreparedDocker,
  { reporter }: EnvironmentRequest,
  signal: AbortSignal,
): Promise<void> {
  if (!(await hasOperations(spec))) return;
  const { recoverOperations } = await import("../../environments/docker/recovery/recover.ts");
  for (const { reason } of await recoverOperations(engine, spec, { dryRun: false, now: Date.now() }, signal))
    reporter.onNotice(`${reason}.`);
}

/** Opens the job records of a task's sandbox without opening the sandbox. */
export async function openJobRecords(
  { resolved }: App,
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<ProfileJobs> {
  const [{ openProfileJobs }, { createRedactor }] = await Promise.all([
    import("../../environments/jobs/open-profile-jobs.ts"),
    import("../../lib/redact/redactor.ts"),
  ]);
  const { redact } = createRedactor({ secrets: resolved.secrets });
  return openProfileJobs(request, (text) => redact(text), signal);
}

export interface SandboxJobs extends AsyncDisposable {
  readonly jobs: Jobs;
  readonly environment: Environment;
  /** Whether jobs survive the end of this command. */
  readonly lasts: boolean;
}

/** Opens a task's sandbox and its jobs. */
export async function openSandboxJobs(
  app: App,
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<SandboxJobs> {
  const records = await openJobRecords(app, request, signal);
  try {
    const environment = await openNotifyingEnvironment(request, signal);
    return {
      environment,
      lasts: records.jobsSurvive,
      jobs: records.jobsOf(environment),
      async [Symbol.asyncDispose]() {
        records[Symbol.dispose]();
        await environment[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    records[Symbol.dispose]();
    throw error;
  }
}

/** An existing profile and the folder with the records of its sandboxes. */
export interface KnownProfile extends SandboxStore {
  readonly name: string;
}

/** Lists the profiles of the root that have an id. */
export async function listKnownProfiles(
  choice: Pick<AppChoice, "variables" | "settings">,
  root: string,
): Promise<KnownProfile[]> {
  const known: KnownProfile[] = [];
  for (const profile of await listProfiles(root)) {
    const profileId = await findProfileId(profile);
    if (profileId === undefined) continue;
    const { config } = await loadConfig(profile, choice);
    const sandboxesFolder = sandboxesFolderOf(config.terminal, profile.home);
    known.push({ name: profile.name, profileId, sandboxesFolder });
  }
  return known;
}
