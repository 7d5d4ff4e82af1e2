import type { Environment } from "../environments/environment.ts";
import type { EnvironmentRequest } from "../environments/environment-request.ts";
import type { ProfileJobs } from "../environments/jobs/open-profile-jobs.ts";
import { messageOf } from "../lib/errors.ts";
import type { Workspace } from "../tools/workspace.ts";

const SWEEP_WITHIN_MS = 15_000;

export interface WorkspaceHolder extends AsyncDisposable {
  /** Opens the place when it is first asked for; a failure is forgotten, so that the next call tries anew. */
  workspace(signal: AbortSignal): Promise<Workspace>;
}

export interface WorkspaceParts {
  readonly request: EnvironmentRequest;
  redact(text: string): string;
  /** Whether a session is still known; jobs of those that are not have nobody who will ask for them. */
  isKnown(session: string): boolean;
}

/** The place of one session. Nothing is opened for a conversation that never runs anything. */
export function createWorkspaceHolder({ request, redact, isKnown }: WorkspaceParts): WorkspaceHolder {
  let environment: Environment | undefined;
  let records: ProfileJobs | undefined;

  const openJobs = retrying(async (signal) => {
    const { openProfileJobs } = await import("../environments/jobs/open-profile-jobs.ts");
    if (environment === undefined) throw new Error("the jobs of a place are asked of the place");
    records ??= await openProfileJobs(request, redact, signal);
    return records.jobsOf(environment);
  });

  /** Whoever has to do with jobs ends those that have outlived their session or their time, in this place. */
  async function sweepJobs(): Promise<void> {
    const jobs = await openJobs.opened();
    const deadline = AbortSignal.timeout(SWEEP_WITHIN_MS);
    try {
      await jobs?.sweepExpired((owner) => (isKnown(owner) ? "in-turn" : "gone"), deadline);
    } catch (error) {
      const why = messageOf(error);
      request.reporter.onNotice(`Jobs without a session were not ended, a later session tries again: ${why}`);
    }
  }

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
      await open.opened();
      await sweepJobs();
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
  /** What there is, without doing it. */
  opened(): Promise<Result | undefined>;
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
    async opened() {
      return await attempt?.catch(() => undefined);
    },
  };
}
