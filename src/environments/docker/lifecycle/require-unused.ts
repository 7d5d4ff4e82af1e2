import { AppError } from "../../../lib/errors.ts";
import { SHARED_TASK, taskFlag } from "../../environment-request.ts";
import { type FindJobCommands, formatJob, type JobCommand } from "../../jobs/job-command.ts";
import type { Engine } from "../engine/engine.ts";
import { findPersistentUse } from "../isolation/sandbox-processes.ts";
import { LABEL } from "../spec/labels.ts";
import type { Container } from "./container.ts";
import { describeHolders, formatHolders } from "./sandbox-holders.ts";

/** Throws while a process or a job uses the sandbox; with `force`, returns the jobs that its removal will end. */
export async function requireUnused(
  engine: Engine,
  { id, name, state, labels }: Container,
  { force, lookUpJobs }: { readonly force: boolean; readonly lookUpJobs: FindJobCommands },
  signal: AbortSignal,
): Promise<readonly JobCommand[]> {
  if (state !== "running") return [];
  const use = await findPersistentUse(engine, id, signal);
  const jobs = await lookUpJobs(use.jobs, signal);
  if (force) return jobs;
  if (use.isHeld) {
    const byHolders = formatHolders(await describeHolders(use.holders, signal));
    const hint = "Wait until it is done, or add --force.";
    throw new AppError("sandbox-unavailable", `The sandbox ${name} is in use ${byHolders}.`, { hint });
  }
  const [first] = jobs;
  if (first !== undefined) {
    const ofTask = taskFlag(labels[LABEL.task] ?? SHARED_TASK);
    throw new AppError("sandbox-unavailable", describeJobs(name, jobs), {
      hint: `Wait, end each with \`hermes sandbox jobs kill ${first.id}${ofTask}\`, or add --force.`,
    });
  }
  return [];
}

export function describeJobs(sandbox: string, jobs: readonly JobCommand[]): string {
  return `Jobs run in the sandbox ${sandbox}: ${jobs.map(formatJob).join(", ")}.`;
}
