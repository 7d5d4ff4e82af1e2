import type { Environment, ShellSession } from "../environments/environment.ts";
import type { EnvironmentFiles } from "../environments/files/environment-files.ts";
import type { Jobs } from "../environments/jobs/jobs.ts";
import type { OutputWindow } from "../environments/output-window.ts";

/** The place of one session: where its commands run and its files lie. */
export interface Workspace {
  readonly environment: Environment;
  readonly session: ShellSession;
  readonly files: EnvironmentFiles;
  /** Opened when first asked for: most sessions have none. */
  jobs(signal: AbortSignal): Promise<Jobs>;
}

/** A question to the person on the other side; undefined when nobody answered in time. */
export type Ask = (
  question: string,
  choices: readonly string[],
  options: { readonly several: boolean },
  signal: AbortSignal,
) => Promise<readonly string[] | undefined>;

/** What the tools of a session are made from. Nothing here is looked up elsewhere. */
export interface ToolParts {
  /** Opened when it is first needed, and then the same. */
  workspace(signal: AbortSignal): Promise<Workspace>;
  /** The session, as jobs know their owner. */
  readonly owner: string;
  readonly limits: {
    /** Seconds of a foreground command unless it says otherwise, and at most. */
    readonly timeout: number;
    readonly maxForegroundTimeout: number;
  };
  /** Whether the session can be told later that a job has ended. */
  readonly canNotify: boolean;
  /** Undefined where nobody can be asked. */
  readonly ask: Ask | undefined;
  /** Takes secrets out of what the model reads. */
  redact(text: string, options?: { readonly code?: boolean }): string;
  createWindow(): OutputWindow;
}
