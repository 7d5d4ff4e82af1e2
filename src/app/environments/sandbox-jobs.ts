import { createDockerRequest } from "../../environments/docker/engine/prepare-docker.ts";
import { findSandbox } from "../../environments/docker/lifecycle/find-sandbox.ts";
import type { EnvironmentRequest } from "../../environments/environment-request.ts";
import type { JobRecord } from "../../environments/jobs/job.ts";
import { AppError } from "../../lib/errors.ts";
import type { App } from "../app.ts";
import { openJobRecords, openNotifyingEnvironment, quietReporter } from "./sandbox.ts";

export interface ListedJobs {
  readonly jobs: readonly JobRecord[];
  /** Why the current states could not be read; then the jobs have their last known states. */
  readonly problem: string | undefined;
}

/** Lists all jobs of a sandbox. The sandbox is opened only if a job has not ended yet, to read its current state. */
export async function listSandboxJobs(
  app: App,
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<ListedJobs> {
  using held = await openJobRecords(app, request, signal);
  const known = held.store.list();
  if (known.every(({ state }) => state === "ended")) return { jobs: known, problem: undefined };
  try {
    // A stopped sandbox is not started. The state is not recorded, because a later poll may find an exit code.
    if (!(await isRunning(request, signal))) {
      const jobs = known.map(
        (job): JobRecord => (job.state === "running" ? { ...job, state: "ended", reason: "lost" } : job),
      );
      return { jobs, problem: undefined };
    }
    await using environment = await openNotifyingEnvironment(request, signal);
    return { jobs: await held.jobsOf(environment).list(signal), problem: undefined };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return { jobs: held.store.list(), problem: error.message };
  }
}

/** Whether the sandbox is running and so can have processes. */
async function isRunning(request: EnvironmentRequest, signal: AbortSignal): Promise<boolean> {
  const quiet = { ...request, reporter: quietReporter }; // notices are reported when the sandbox is opened
  switch (request.options.backend) {
    case "docker":
    case "podman": {
      const { engine, spec } = await createDockerRequest(quiet, signal);
      const state = (await findSandbox(engine, spec, signal))?.state;
      return state === "running" || state === "paused";
    }
    case "singularity": {
      const { prepareSingularity } = await import("../../environments/singularity/prepare-singularity.ts");
      const { findInstance } = await import("../../environments/singularity/instance.ts");
      const { engine, spec } = await prepareSingularity(quiet, signal);
      return (await findInstance(engine, spec.name, signal)) !== undefined;
    }
    default:
      return true;
  }
}
