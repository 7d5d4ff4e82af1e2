import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { openDatabase } from "../../lib/database.ts";
import type { Environment } from "../environment.ts";
import { type EnvironmentRequest, environmentKey } from "../environment-request.ts";
import { createJobs } from "./create-jobs.ts";
import { createJobStore, type JobStore, jobMigration } from "./job-store.ts";
import type { Jobs } from "./jobs.ts";

export interface ProfileJobs extends Disposable {
  /** The records alone, for whoever has no need to open the environment. */
  readonly store: JobStore;
  jobsOf(environment: Environment): Jobs;
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
  await mkdir(request.profile.home, { recursive: true, mode: 0o700 });
  const path = join(request.profile.home, "jobs.sqlite");
  const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
  const database = await openDatabase(path, options, signal);
  const store = createJobStore(database, environmentKey(request));
  const graceMs = request.options.daemon_term_grace_seconds * 1_000;
  return {
    store,
    jobsOf: (environment) => createJobs({ environment, store, clock: systemClock, redact, graceMs }),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}
