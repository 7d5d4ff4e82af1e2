import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { openDatabase } from "../../lib/database.ts";
import type { Environment } from "../environment.ts";
import { type EnvironmentRequest, environmentKey } from "../environment-request.ts";
import type { TerminalOptions } from "../options.ts";
import { createJobs } from "./create-jobs.ts";
import { createJobStore, type JobStore, jobMigration } from "./job-store.ts";
import type { Jobs } from "./jobs.ts";

export interface ProfileJobs extends Disposable {
  /** The records alone, for whoever has no need to open the environment. */
  readonly store: JobStore;
  jobsOf(environment: Environment): Jobs;
  /** Whether jobs go on when the process that started them is over. */
  readonly last: boolean;
}

/**
 * The jobs of the environment that a request means. Their records are in `jobs.sqlite` of the profile's home, where every
 * process of the profile finds them.
 */
export async function openProfileJobs(
  request: EnvironmentRequest,
  redact: (text: string) => string,
  signal: AbortSignal,
): Promise<ProfileJobs> {
  const path = join(request.profile.home, "jobs.sqlite");
  const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
  const database = await openDatabase(path, options, signal);
  const last = outlivesProcess(request.options);
  // What is looked for in another sandbox seems to be lost, so nobody else may look.
  const key = last ? environmentKey(request) : `${environmentKey(request)}:${randomUUID()}`;
  const store = createJobStore(database, key);
  const graceMs = request.options.daemon_term_grace_seconds * 1_000;
  return {
    store,
    last,
    jobsOf: (environment) => createJobs({ environment, store, clock: systemClock, redact, graceMs }),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

/** Whether what runs in the environment goes on when the process that opened it is over. */
function outlivesProcess({ backend, docker_persist_across_processes }: TerminalOptions): boolean {
  return (backend !== "docker" && backend !== "podman") || docker_persist_across_processes;
}
