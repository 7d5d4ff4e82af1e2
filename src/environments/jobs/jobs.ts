import type { ShellSession, Survivor, TargetPath } from "../environment.ts";
import type { JobLifetime, JobRecord } from "./job.ts";
import type { WatchHits } from "./watch/watch-state.ts";

export interface StartJobOptions {
  /** The command gets the session's folder, variables, functions and aliases; the session is not changed. */
  readonly session: ShellSession;
  /** The id by which the job is listed, swept and reported. */
  readonly owner: string;
  readonly lifetime: JobLifetime;
  readonly workdir?: TargetPath | undefined;
  /** Variables for this job only; their values never appear in arguments or files. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether `write`, `submit` and `close` will be used; otherwise the job sees the end of its input at once. */
  readonly takesInput?: boolean;
  /** Whether it runs on its own terminal, which takes input; falls back to a pipe where no terminal is available. */
  readonly pty?: boolean;
  readonly notify?: boolean;
  /** Notify the owner of output lines that contain one of these texts; ignored together with `notify`. */
  readonly watch?: readonly string[];
  /** Maximum age; persistent jobs have none by default. */
  readonly maxAgeMs?: number;
}

export type JobStarted =
  | {
      readonly kind: "started";
      readonly job: JobRecord;
      /** Jobs that already run the same command in the same folder: the new job may be a mistake. */
      readonly sameCommandJobs: readonly JobRecord[];
      /** Sentences about options that could not be honoured. */
      readonly notes: readonly string[];
    }
  /** No process of the job is running. */
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
  /** Output from the middle that was not kept; the page marks the gap. The totals include it. */
  readonly droppedBytes: number;
  readonly droppedLines: number;
  /** Whether the page was truncated to the maximum size. */
  readonly isCut: boolean;
}

/** Raw output. */
export interface OutputPiece {
  readonly job: JobRecord;
  /** The offset of the first byte in the whole output; later than requested if the requested bytes were dropped. */
  readonly from: number;
  readonly bytes: Buffer;
  readonly totalBytes: number;
}

export type WatchEvent =
  | ({ readonly kind: "hits"; readonly job: JobRecord } & WatchHits)
  /** The job is no longer watched; its end is reported instead. */
  | { readonly kind: "watch-ended"; readonly job: JobRecord; readonly message: string }
  /** A message about all watched jobs. */
  | { readonly kind: "notice"; readonly message: string };

/** The current phase of a job's owner. */
export type OwnerPhase = "in-turn" | "between-turns" | "gone";

/** `ended`, `no-input`, `closed`: nothing was written. `blocked`: the job does not read; at most a part was written. */
export type InputOutcome = "written" | "ended" | "no-input" | "closed" | "blocked";

export interface KillOutcome {
  readonly kind: "killed" | "already-ended" | "survived";
  readonly job: JobRecord;
  readonly survivors: readonly Survivor[];
}

/** Background commands of an environment. An id may be given as a prefix of at least four hex digits. */
export interface Jobs {
  start(command: string, options: StartJobOptions, signal: AbortSignal): Promise<JobStarted>;
  /** All known jobs with their current state, oldest first. */
  list(signal: AbortSignal): Promise<readonly JobRecord[]>;
  poll(id: string, signal: AbortSignal): Promise<JobStatus>;
  /** Lines of its output, by default the last ones. Reading the end of an ended job counts as notified. */
  log(id: string, page: { offset?: number; limit?: number }, signal: AbortSignal): Promise<LogPage>;
  /** Raw output from a byte offset, or the last -`from` bytes. Not redacted: for the user, never for the model. */
  read(id: string, from: number, signal: AbortSignal): Promise<OutputPiece>;
  /** Resolves when the job ends, after the timeout, or when `signal` aborts; in the last two cases the job continues. */
  wait(
    id: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "ended" | "timed-out" | "interrupted"; readonly job: JobRecord }>;
  write(id: string, input: string | Uint8Array, signal: AbortSignal): Promise<InputOutcome>;
  /** Writes a line with a newline. */
  submit(id: string, line: string, signal: AbortSignal): Promise<InputOutcome>;
  /** Closes its input; on a terminal this sends Ctrl-D, after which it still takes input. */
  close(id: string, signal: AbortSignal): Promise<InputOutcome>;
  /** Resizes its terminal and makes the programs on it redraw; does nothing without a terminal. */
  resize(
    id: string,
    size: { readonly rows: number; readonly columns: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** Ends the job with all its descendants, including those that outlived it. */
  kill(id: string, signal: AbortSignal): Promise<KillOutcome>;
  /** Ends the owner's jobs that must not outlive its turn or session. */
  sweep(owner: string, ended: "turn" | "session", signal: AbortSignal): Promise<readonly KillOutcome[]>;
  /**
   * Ends expired jobs of all owners: jobs whose turn or session has ended, and jobs above their maximum age. Must be
   * called regularly, by code that knows the phase of each owner.
   */
  sweepExpired(phaseOf: (owner: string) => OwnerPhase, signal: AbortSignal): Promise<readonly KillOutcome[]>;
  /**
   * Ended jobs of the owner that have not been reported. Each job is reserved for one caller across all processes; unless
   * it is confirmed within a minute, another caller gets it, because the first may have died before reporting.
   */
  takeCompletions(owner: string, signal: AbortSignal): Promise<readonly JobRecord[]>;
  confirmCompletions(ids: readonly string[], signal: AbortSignal): Promise<void>;
  /** Watch events of the owner's jobs since the last call in any process. */
  takeWatchEvents(owner: string, signal: AbortSignal): Promise<readonly WatchEvent[]>;
}
