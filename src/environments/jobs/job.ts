import type { TargetPath } from "../environment.ts";
import type { WatchState } from "./watch-state.ts";

/** How long a job may live: until its turn ends, until its session ends, or until somebody ends it. */
export const JOB_LIFETIMES = ["turn", "session", "persistent"] as const;
export type JobLifetime = (typeof JOB_LIFETIMES)[number];

/** Why a job is over. `lost`: it is gone and nobody recorded how it ended. */
export const JOB_REASONS = ["exited", "killed", "lost", "failed_start"] as const;
export type JobReason = (typeof JOB_REASONS)[number];

/** Where a job reads from: nothing, a pipe, or a terminal of its own that also takes its output. */
export const JOB_INPUTS = ["none", "pipe", "terminal"] as const;
export type JobInput = (typeof JOB_INPUTS)[number];

/** Exit codes of jobs that left none of their own. */
export const KILLED_EXIT_CODE = -15;
export const UNKNOWN_EXIT_CODE = -1;

/** The processes of a job inside its environment, named for good: pids are used again, with their start times they are not. */
export interface JobProcess {
  /** Start times count from here. */
  readonly bootId: string;
  readonly pid: number;
  readonly startTime: string;
  /** The one that waits for the job and writes down its exit code. */
  readonly keeperPid: number;
  readonly keeperStartTime: string;
}

/** Texts that somebody wants to hear of, and how far the output has been searched for them. */
export interface JobWatch {
  readonly patterns: readonly string[];
  readonly state: WatchState;
}

/** What is known of a job, by whichever process asks. */
export interface JobRecord {
  readonly id: string;
  /** Which environment it runs in. */
  readonly environmentKey: string;
  /** The session that started it. */
  readonly owner: string;
  /** Redacted. */
  readonly command: string;
  readonly cwd: TargetPath | undefined;
  readonly lifetime: JobLifetime;
  /** When it is ended, however it does; undefined for a job that lives until somebody ends it. */
  readonly expiresAt: number | undefined;
  readonly input: JobInput;
  /** Whether somebody wants to be told when it ends. */
  readonly notify: boolean;
  readonly notified: boolean;
  readonly state: "starting" | "running" | "ended";
  readonly reason: JobReason | undefined;
  readonly exitCode: number | undefined;
  /** The system ended it because memory ran out. */
  readonly ranOutOfMemory: boolean;
  /** Milliseconds since 1970, as all times here. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Somebody decided to end it: however it is seen to end after this, it was killed. */
  readonly killRequested: boolean;
  /** Where its output is; undefined until it runs. */
  readonly folder: TargetPath | undefined;
  readonly process: JobProcess | undefined;
  /** Undefined where nobody watches, or not any more. */
  readonly watch: JobWatch | undefined;
}
