import { AppError } from "../../lib/errors.ts";
import { quoteWord } from "../channel/quote.ts";
import { type LookUpJobs, type SeenJob, showJob } from "../jobs/seen-job.ts";
import type { Container } from "./container.ts";
import type { Engine } from "./engine.ts";
import { LABEL } from "./labels.ts";
import { findLastingUse } from "./sandbox-processes.ts";

/** Throws while somebody uses the sandbox or a job runs in it; by force, gives the jobs that will end with it. */
export async function requireUnused(
  engine: Engine,
  { id, name, state, labels }: Container,
  { force, lookUpJobs }: { readonly force: boolean; readonly lookUpJobs: LookUpJobs },
  signal: AbortSignal,
): Promise<readonly SeenJob[]> {
  if (state !== "running") return [];
  const use = await findLastingUse(engine, id, signal);
  const jobs = await lookUpJobs(use.jobs, signal);
  if (force) return jobs;
  if (use.isHeld) {
    throw new AppError("sandbox-unavailable", `The sandbox ${name} is in use by another process.`, {
      hint: "Wait until it is done, or add --force.",
    });
  }
  const [first] = jobs;
  if (first !== undefined) {
    const task = labels[LABEL.task] ?? "default";
    const ofTask = task === "default" ? "" : ` --task ${quoteWord(task)}`;
    throw new AppError("sandbox-unavailable", describeJobs(name, jobs), {
      hint: `Wait, end each with \`hermes sandbox jobs kill ${first.id}${ofTask}\`, or add --force.`,
    });
  }
  return [];
}

export function describeJobs(sandbox: string, jobs: readonly SeenJob[]): string {
  return `Jobs run in the sandbox ${sandbox}: ${jobs.map(showJob).join(", ")}.`;
}
