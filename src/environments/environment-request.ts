import type { TerminalOptions } from "./options.ts";
import type { Offer } from "./sync/offered-file.ts";

/** Who hears what a person should know, in sentences. */
export interface Reporter {
  onNotice(text: string): void;
  /** A line about something that takes long. */
  onProgress(text: string): void;
}

export interface LentFiles {
  /** A plain word that nobody else uses at the same time. */
  readonly owner: string;
  list(signal: AbortSignal): Promise<Offer>;
}

/** What an environment may know of its profile and this machine. Values only: nothing here is looked up later. */
export interface EnvironmentFacts {
  readonly options: TerminalOptions;
  readonly profile: { readonly name: string; readonly root: string; readonly home: string };
  /** Asked for only by environments that outlive us. */
  profileId(): Promise<string>;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A variable of the environment, else of the profile's `.env`. */
  variable(name: string): string | undefined;
  readonly userHome: string;
  readonly cwd: string;
  readonly reporter: Reporter;
  /** Files that are copied to an environment which cannot mount them, and removed there when it is let go. */
  readonly lent?: LentFiles | undefined;
}

/** Which environment is wanted. */
export interface EnvironmentRequest extends EnvironmentFacts {
  /** The name that all who share the environment ask for. */
  readonly task: string;
  /** A command follows at once, so that its shell may be started before everything is known about the place. */
  readonly runsAtOnce?: boolean;
  /** Asked when the environment is let go: whether the place itself may go too, if nobody else uses it. */
  mayRemove?(): boolean;
}

/** The name of the environment that all sessions of a profile share. */
export const SHARED_TASK = "default";

/** The name of a conversation's environment by the setting `isolation`; without a task of the board a session is its own. */
export function environmentTask(
  isolation: TerminalOptions["isolation"],
  { session, task = session }: { readonly session: string; readonly task?: string | undefined },
): string {
  return { shared: SHARED_TASK, session, task }[isolation];
}

/** The name of the environment in what is stored: the same for every process that means the same place. */
export function environmentKey({ options, task }: Pick<EnvironmentRequest, "options" | "task">): string {
  if (options.backend === "local") return "local";
  if (options.backend !== "ssh") return `${options.backend}:${task}`;
  return `ssh:${options.ssh_user}@${options.ssh_host}:${options.ssh_port}`;
}
