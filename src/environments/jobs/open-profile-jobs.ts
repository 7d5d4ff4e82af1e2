import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openDatabase } from "../../lib/sqlite/database.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { Environment } from "../environment.ts";
import { type EnvironmentRequest, environmentKey } from "../environment-request.ts";
import type { TerminalOptions } from "../options.ts";
import { createJobs } from "./create-jobs.ts";
import { createJobStore, type JobStore, jobMigration } from "./job-store.ts";
import type { Jobs } from "./jobs.ts";

export interface ProfileJobs extends Disposable {
  /** The records, for callers that do not need to open the environment. */
  readonly store: JobStore;
  jobsOf(environment: Environment): Jobs;
  /** Whether jobs survive the process that started them. */
  readonly jobsSurvive: boolean;
}

/**
 * Opens the jobs of the requested environment. All processes of a profile share their records in `jobs.sqlite` of the
 * profile's home.
 */
export async function openProfileJobs(
  request: EnvironmentRequest,
  redact: (text: string) => string,
  signal: AbortSignal,
): Promise<ProfileJobs> {
  const path = join(request.profile.home, "jobs.sqlite");
  const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
  const database = await openDatabase(path, options, signal);
  const jobsSurvive = outlivesProcess(request.options);
  // A process with another sandbox would consider the job lost, so a sandbox of a single process gets its own key.
  const key = jobsSurvive ? environmentKey(request) : `${environmentKey(request)}:${randomUUID()}`;
  const store = createJobStore(database, key);
  const graceMs = request.options.daemon_term_grace_seconds * 1_000;
  return {
    store,
    jobsSurvive,
    jobsOf: (environment) => createJobs({ environment, store, clock: systemClock, redact, graceMs }),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

/** Whether processes in the environment survive the process that opened it. */
function outlivesProcess({ backend, docker_persist_across_processes }: TerminalOptions): boolean {
  return (backend !== "docker" && backend !== "podman") || docker_persist_across_processes;
}
