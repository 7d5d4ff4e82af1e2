import { quoteWord } from "./channel/quote.ts";
import type { TerminalOptions } from "./options.ts";
import type { OfferedFiles } from "./sync/offered-file.ts";

/** Receives messages for the user, as complete sentences. */
export interface Reporter {
  onNotice(text: string): void;
  /** One line about a slow operation. */
  onProgress(text: string): void;
}

export interface TemporaryFiles {
  /** A plain word that is unique among the lenders of one environment. */
  readonly owner: string;
  list(signal: AbortSignal): Promise<OfferedFiles>;
}

/** Facts about the profile and this machine that an environment may use, resolved before the environment is opened. */
export interface EnvironmentFacts {
  readonly options: TerminalOptions;
  readonly profile: { readonly name: string; readonly root: string; readonly home: string };
  /** Read only by environments that outlive this process. */
  profileId(): Promise<string>;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Reads a variable from the process environment, else from the profile's `.env`. */
  variable(name: string): string | undefined;
  readonly userHome: string;
  readonly cwd: string;
  readonly reporter: Reporter;
  /** Files that are copied to an environment that cannot mount them, and removed from it when it is closed. */
  readonly temporaryFiles?: TemporaryFiles | undefined;
}

export interface EnvironmentRequest extends EnvironmentFacts {
  /** Callers that share an environment pass the same name. */
  readonly task: string;
  /** A command follows immediately: its shell may be started before the sandbox has been inspected. */
  readonly runsCommandAtOnce?: boolean;
  /** Called when the environment is closed: whether its sandbox may be removed too, unless another process uses it. */
  mayRemove?(): boolean;
}

/** The name of the environment that all sessions of a profile share. */
export const SHARED_TASK = "default";

/** ` --task NAME` for a sandbox command that is suggested to the user, if the task is not the default one. */
export function taskFlag(task: string): string {
  return task === SHARED_TASK ? "" : ` --task ${quoteWord(task)}`;
}

/** The name of a conversation's environment under the setting `isolation`. Without a board task, the session is the task. */
export function environmentTask(
  isolation: TerminalOptions["isolation"],
  { session, task = session }: { readonly session: string; readonly task?: string | undefined },
): string {
  return { shared: SHARED_TASK, session, task }[isolation];
}

/** The name of the environment in stored records: every process computes the same name for the same environment. */
export function environmentKey({ options, task }: Pick<EnvironmentRequest, "options" | "task">): string {
  // A job in the local sandbox keeps its files where only the sandbox sees them.
  if (options.backend === "local") return options.local_sandbox === "off" ? "local" : "local:sandbox";
  if (options.backend !== "ssh") return `${options.backend}:${task}`;
  return `ssh:${options.ssh_user}@${options.ssh_host}:${options.ssh_port}`;
}
