import { ApiError } from "../../../../api/api-error.ts";
import type { SandboxJob, ShownSandbox } from "../../../../api/contract/machines/sandboxes.ts";
import type { SandboxPlace } from "../../../../api/dashboard/data/sandbox-data.ts";
import { describeIsolation, readIsolation } from "../../../../environments/docker/isolation/isolation.ts";
import { findContainer } from "../../../../environments/docker/lifecycle/container.ts";
import type { JobRecord } from "../../../../environments/jobs/job.ts";
import { createJobCommandFinder } from "../../../../environments/jobs/job-command.ts";
import { listSandboxesOf } from "../../../environments/list-app-sandboxes.ts";
import { listSandboxJobs } from "../../../environments/sandbox-jobs.ts";
import type { LoadProfile } from "../load-profile.ts";
import { toRow } from "./list-sandboxes.ts";
import { openProfileDocker, requestOf } from "./profile-docker.ts";
import { listUses } from "./sandbox-uses.ts";

/** How many ended jobs are shown; running ones are always shown. */
const ENDED_JOBS = 20;

/** Reads everything that a page shows of one sandbox. */
export async function showSandbox(
  load: LoadProfile,
  { profile, name }: SandboxPlace,
  signal: AbortSignal,
): Promise<ShownSandbox> {
  const app = await load(profile);
  const docker = await openProfileDocker(app, { recover: false }, signal);
  const row = (await listSandboxesOf(docker, app, {}, signal)).find((other) => other.name === name);
  const container = row && (await findContainer(docker.engine, row.id, signal));
  if (row === undefined || container === undefined)
    throw new ApiError(404, "sandbox_not_found", `This profile has no sandbox ${name}.`);
  const isolation = await readIsolation(docker.engine, container, signal);
  const jobs = row.ours ? await listSandboxJobs(app, requestOf(app, row.task), signal) : undefined;
  const lookUpJobs = createJobCommandFinder(app.profile.home);
  return {
    ...toRow(row, app.resolved.config.terminal.backend),
    createdAt: row.created_at === null ? null : Date.parse(row.created_at),
    origin: row.origin,
    drift: row.drift.map(({ field, had, wants }) => ({ field, had, wants })),
    isolation: { lines: describeIsolation(isolation), isSeenFromInside: isolation.seenFromInside },
    uses: row.ours ? await listUses(docker.engine, container, lookUpJobs, signal) : [],
    jobList: newestFirst(jobs?.jobs ?? []).map(toJob),
    jobProblem: jobs?.problem ?? null,
  };
}

function newestFirst(jobs: readonly JobRecord[]): readonly JobRecord[] {
  const newest = jobs.toReversed();
  const ended = newest.filter(({ state }) => state === "ended").slice(0, ENDED_JOBS);
  return [...newest.filter(({ state }) => state !== "ended"), ...ended];
}

function toJob(job: JobRecord): SandboxJob {
  const { id, command, state, startedAt } = job;
  return {
    ...{ id, command, state, startedAt },
    reason: job.reason ?? null,
    exitCode: job.exitCode ?? null,
    endedAt: job.endedAt ?? null,
    hasTerminal: job.input === "terminal",
  };
}
