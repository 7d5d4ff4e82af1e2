import type { ShellSession, Survivor, TargetPath } from "../environment.ts";
import type { JobLifetime, JobRecord } from "./job.ts";

export interface StartJob {
  /** Whose folder, variables, functions and aliases the command finds; it stays as it is. */
  readonly session: ShellSession;
  /** The id under which the job is listed, swept and told about. */
  readonly owner: string;
  readonly lifetime: JobLifetime;
  readonly workdir?: TargetPath | undefined;
  /** Variables of this job alone; their values are in no argument and no file. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether `write`, `submit` and `close` will be used; else the job sees the end of its input at once. */
  readonly takesInput?: boolean;
  /** Whether the owner is to be told when it ends. */
  readonly notify?: boolean;
}

export type JobStarted =
  | { readonly kind: "started"; readonly job: JobRecord }
  /** Nothing of it runs. */
  | { readonly kind: "failed-start"; readonly message: string };

export interface JobStatus {
  readonly job: JobRecord;
  readonly uptimeMs: number;
  /** The end of its output. */
  readonly preview: string;
}

export interface LogPage {
  readonly job: JobRecord;
  readonly text: string;
  /** Number of the first line of the page, from 0. */
  readonly offset: number;
  readonly totalLines: number;
  readonly totalBytes: number;
  /** The page was longer than a page may be, and so is not whole. */
  readonly isCut: boolean;
}

/** `ended`, `no-input`, `closed`: nothing was written. `blocked`: the job does not read, and got a part at most. */
export type InputOutcome = "written" | "ended" | "no-input" | "closed" | "blocked";

export interface KillOutcome {
  readonly kind: "killed" | "already-ended" | "survived";
  readonly job: JobRecord;
  readonly survivors: readonly Survivor[];
}

/** Commands of an environment that nobody waits for. Each id may be the beginning of one, of four hex digits or more. */
export interface Jobs {
  start(command: string, options: StartJob, signal: AbortSignal): Promise<JobStarted>;
  /** All that are known, oldest first, looked at anew. */
  list(signal: AbortSignal): Promise<readonly JobRecord[]>;
  poll(id: string, signal: AbortSignal): Promise<JobStatus>;
  /** Lines of its output, the last ones unless an offset says from where. Having read the end counts as being told. */
  log(id: string, page: { offset?: number; limit?: number }, signal: AbortSignal): Promise<LogPage>;
  /** Resolves when it is over, when the time is, or when `signal` is aborted; the job runs on in the last two cases. */
  wait(
    id: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "ended" | "timed-out" | "interrupted"; readonly job: JobRecord }>;
  write(id: string, input: string | Uint8Array, signal: AbortSignal): Promise<InputOutcome>;
  /** Writes a line. */
  submit(id: string, line: string, signal: AbortSignal): Promise<InputOutcome>;
  /** Ends its input. */
  close(id: string, signal: AbortSignal): Promise<InputOutcome>;
  /** Ends it with all its descendants, those that outlived it too. */
  kill(id: string, signal: AbortSignal): Promise<KillOutcome>;
  /** Ends what must not outlive the owner's turn or session. */
  sweep(owner: string, over: "turn" | "session", signal: AbortSignal): Promise<readonly KillOutcome[]>;
  /** Jobs of the owner that ended and that it has not been told about: each exactly once, in whichever process. */
  takeCompletions(owner: string, signal: AbortSignal): Promise<readonly JobRecord[]>;
}
