import type { TerminalOptions } from "./options.ts";

/** Who hears what a person should know, in sentences. */
export interface Reporter {
  onNotice(text: string): void;
  /** A line about something that takes long. */
  onProgress(text: string): void;
}

/** Whose environment is wanted, and what it may know of this machine. Values only: nothing here is looked up later. */
export interface EnvironmentRequest {
  readonly options: TerminalOptions;
  readonly profile: { readonly name: string; readonly root: string; readonly home: string };
  /** Asked for only by environments that outlive us. */
  profileId(): Promise<string>;
  readonly task: string;
  /** Asked when the environment is let go: whether the place itself may go too, if nobody else uses it. */
  mayRemove?(): boolean;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A variable of the environment, else of the profile's `.env`. */
  variable(name: string): string | undefined;
  readonly userHome: string;
  readonly cwd: string;
  readonly reporter: Reporter;
}
