import type { Environment } from "../../../environments/environment.ts";
import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";
import type { ProfileJobs } from "../../../environments/jobs/open-profile-jobs.ts";
import { openEnvironment } from "../../../environments/open-environment.ts";
import type { CommandContext } from "../../context.ts";
import { requestFor } from "./place.ts";

/** The records of the jobs of a task's sandbox, without the sandbox. */
export async function openRecords(
  context: CommandContext,
  task: string,
): Promise<{ readonly request: EnvironmentRequest; readonly records: ProfileJobs }> {
  // Loaded only here, because the help of `sandbox jobs` is part of every sandbox command.
  const [{ app, request }, { openProfileJobs }, { createRedactor }] = await Promise.all([
    requestFor(context, task),
    import("../../../environments/jobs/open-profile-jobs.ts"),
    import("../../../lib/redact/redactor.ts"),
  ]);
  const { redact } = createRedactor({ secrets: app.resolved.secrets });
  return { request, records: await openProfileJobs(request, (text) => redact(text), context.signal) };
}

export interface JobPlace extends AsyncDisposable {
  readonly jobs: Jobs;
  readonly environment: Environment;
  /** Whether what is started there goes on when this command is over. */
  readonly lasts: boolean;
}

/** The jobs of a task's sandbox. */
export async function openJobPlace(context: CommandContext, task: string): Promise<JobPlace> {
  const { request, records } = await openRecords(context, task);
  try {
    const environment = await openEnvironment(request, context.signal);
    return {
      environment,
      lasts: records.last,
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
