import type { Environment } from "../environments/environment.ts";
import type { EnvironmentRequest } from "../environments/environment-request.ts";
import type { ProfileJobs } from "../environments/jobs/open-profile-jobs.ts";
import type { Workspace } from "../tools/workspace.ts";

export interface WorkspaceHolder extends AsyncDisposable {
  /** Opens the place when it is first asked for; a failure is forgotten, so that the next call tries anew. */
  workspace(signal: AbortSignal): Promise<Workspace>;
}

/** The place of one session. Nothing is opened for a conversation that never runs anything. */
export function createWorkspaceHolder(
  request: EnvironmentRequest,
  redact: (text: string) => string,
): WorkspaceHolder {
  let environment: Environment | undefined;
  let records: ProfileJobs | undefined;

  const openJobs = retrying(async (signal) => {
    const { openProfileJobs } = await import("../environments/jobs/open-profile-jobs.ts");
    if (environment === undefined) throw new Error("the jobs of a place are asked of the place");
    records ??= await openProfileJobs(request, redact, signal);
    return records.jobsOf(environment);
  });

  const open = retrying(async (signal): Promise<Workspace> => {
    const [{ openEnvironment }, { createEnvironmentFiles }] = await Promise.all([
      import("../environments/open-environment.ts"),
      import("../environments/files/environment-files.ts"),
    ]);
    const [opened, ripgrep] = await Promise.all([
      openEnvironment(request, signal),
      request.options.backend === "local" ? ownRipgrep() : undefined,
    ]);
    environment = opened;
    const session = opened.openSession();
    return {
      environment: opened,
      session,
      files: createEnvironmentFiles(opened, session, { ripgrep }),
      jobs: openJobs.get,
    };
  });

  return {
    workspace: open.get,
    async [Symbol.asyncDispose]() {
      await open.settled();
      await openJobs.settled();
      await environment?.[Symbol.asyncDispose]();
      records?.[Symbol.dispose]();
    },
  };
}

async function ownRipgrep(): Promise<string | undefined> {
  const { findBundledRipgrep } = await import("../environments/files/search/bundled-ripgrep.ts");
  return findBundledRipgrep();
}

/** Does something once for all who ask, and again for the next after a failure. */
function retrying<Result>(action: (signal: AbortSignal) => Promise<Result>): {
  readonly get: (signal: AbortSignal) => Promise<Result>;
  settled(): Promise<void>;
} {
  let attempt: Promise<Result> | undefined;
  return {
    get(signal) {
      attempt ??= action(signal).catch((error: unknown) => {
        attempt = undefined;
        throw error;
      });
      return attempt;
    },
    async settled() {
      await attempt?.catch(() => undefined);
    },
  };
}
