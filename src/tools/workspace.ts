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

export type PastRole = "user" | "assistant" | "tool";

/** An earlier conversation of the profile. */
export interface PastSession {
  readonly id: string;
  readonly title: string | undefined;
  readonly source: string;
  readonly cwd: string;
  /** Milliseconds since 1970. */
  readonly activeAt: number;
  /** The session that it goes on with, if it is the later part of one. */
  readonly parent: string | undefined;
}

export interface PastMessage {
  /** Its place in the session, from 1. */
  readonly number: number;
  readonly role: PastRole;
  readonly text: string;
}

export interface PastHit {
  readonly session: PastSession;
  /** The messages that fit, the best first. */
  readonly matches: readonly { readonly number: number | undefined; readonly snippet: string }[];
}

/** The conversations of the profile, to be looked at and never changed. */
export interface PastSessions {
  search(
    query: {
      readonly text: string;
      readonly roles: readonly PastRole[];
      readonly order: "best" | "newest";
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<readonly PastHit[]>;
  /** The most recently used first. */
  list(limit: number): readonly (PastSession & { readonly opening: string; readonly messages: number })[];
  /** Undefined when there is no such session, or more than one that begins so. */
  find(id: string): PastSession | undefined;
  messages(id: string): readonly PastMessage[];
}

/** What the tools of a session are made from. Nothing here is looked up elsewhere. */
export interface ToolParts {
  /** Opened when it is first needed, and then the same. */
  workspace(signal: AbortSignal): Promise<Workspace>;
  /** The session, as jobs know their owner. */
  readonly owner: string;
  /** The profile's own folder on the user's machine, some files of which are nobody's to read. */
  readonly home: string;
  readonly limits: {
    /** Seconds of a foreground command unless it says otherwise, and at most. */
    readonly timeout: number;
    readonly maxForegroundTimeout: number;
  };
  /** Whether the session can be told later that a job has ended. */
  readonly canNotify: boolean;
  /** Undefined where nobody can be asked. */
  readonly ask: Ask | undefined;
  /** Undefined where earlier sessions are not to be looked at. */
  readonly pastSessions: PastSessions | undefined;
  /** Takes secrets out of what the model reads. */
  redact(text: string, options?: { readonly code?: boolean }): string;
  createWindow(): OutputWindow;
}
