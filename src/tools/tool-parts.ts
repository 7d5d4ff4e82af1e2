import type { Environment, ShellSession } from "../environments/environment.ts";
import type { EnvironmentFiles } from "../environments/files/environment-files.ts";
import type { Jobs } from "../environments/jobs/jobs.ts";
import type { OutputWindow } from "../environments/output-window.ts";
import type { FileGuards } from "../policy/guarded-files.ts";
import type { MovedCommands } from "./terminal/moved-commands.ts";

/** The environment of one session, with its shell, files and jobs. */
export interface OpenedEnvironment {
  readonly environment: Environment;
  readonly session: ShellSession;
  readonly files: EnvironmentFiles;
  /** Opened on the first call, because most sessions have no jobs. */
  jobs(signal: AbortSignal): Promise<Jobs>;
}

export type PastRole = "user" | "assistant" | "tool";

export interface PastSession {
  readonly id: string;
  readonly title: string | undefined;
  readonly source: string;
  readonly cwd: string;
  readonly activeAt: number;
  /** The session that this one continues, if any. */
  readonly parent: string | undefined;
}

export interface PastMessage {
  /** Its position in the session, starting at 1. */
  readonly number: number;
  readonly role: PastRole;
  readonly text: string;
}

export interface PastHit {
  readonly session: PastSession;
  /** The matching messages, best first. */
  readonly matches: readonly { readonly number: number | undefined; readonly snippet: string }[];
}

/** Read-only access to the sessions of the profile. */
export interface PastSessions {
  search(
    query: {
      readonly text: string;
      readonly roles: readonly PastRole[];
      readonly order: "best" | "newest";
      readonly limit: number;
      /** The session that searches. Of its own messages only compacted ones are found, because its model sees the others. */
      readonly searcher: string;
    },
    signal: AbortSignal,
  ): Promise<readonly PastHit[]>;
  /** The most recently used first. */
  list(limit: number): readonly (PastSession & { readonly opening: string; readonly messages: number })[];
  /** Accepts a unique prefix of an id; undefined if no session or several sessions match. */
  find(id: string): PastSession | undefined;
  messages(id: string): readonly PastMessage[];
}

/** A file for the people of a conversation. */
export interface OutgoingFile {
  /** The session that sends it. */
  readonly owner: string;
  readonly callId: string;
  /** Without folders. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly caption: string | undefined;
}

/** How a surface gives files to people. */
export interface FileSending {
  readonly maxBytes: number;
  /** Folders from which files may be sent, beside the working folder and temporary ones. */
  readonly folders: readonly string[];
  /** Resolves once the file is certain to be sent, even after a crash. Repeated for the same call, it sends the file only once. */
  send(file: OutgoingFile, signal: AbortSignal): Promise<void>;
}

/** A model that sees images. */
export interface Vision {
  readonly maxBytes: number;
  /** Answers a question about an image. Throws `image-undescribed` if it cannot. */
  look(bytes: Uint8Array, question: string, signal: AbortSignal): Promise<string>;
}

/** The dependencies of a session's tools, all passed in. */
export interface ToolParts {
  /** Opened on the first call, then reused. */
  openEnvironment(signal: AbortSignal): Promise<OpenedEnvironment>;
  /** The session id, which is the owner of its jobs. */
  readonly owner: string;
  /** The files that tools must not read or change. */
  readonly guards: FileGuards;
  readonly limits: {
    readonly timeout: number;
    readonly maxForegroundTimeout: number;
  };
  /** Whether commands run in a sandbox that a call may ask to leave. */
  readonly hasSandbox?: boolean;
  /** Commands that new messages of the person have moved to the background. */
  readonly moved: MovedCommands;
  /** Whether the session can be notified later that a job has ended. */
  readonly canNotify: boolean;
  /** The user's answer to the question of a call, if there was one in time; undefined on surfaces that cannot ask. */
  readonly findAnswer: ((callId: string) => string | undefined) | undefined;
  /** Undefined on surfaces that cannot send files. */
  readonly fileSending: FileSending | undefined;
  /** Undefined if no model is known to see images. */
  readonly vision: Vision | undefined;
  /** Undefined where earlier sessions must not be read. */
  readonly pastSessions: PastSessions | undefined;
  redact(text: string, options?: { readonly code?: boolean }): string;
  createWindow(): OutputWindow;
}
