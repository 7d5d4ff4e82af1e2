import type { TargetPath } from "../environment.ts";

/** How long a job may live: until its turn ends, until its session ends, or until somebody ends it. */
export const JOB_LIFETIMES = ["turn", "session", "persistent"] as const;
export type JobLifetime = (typeof JOB_LIFETIMES)[number];

/** Why a job is over. `lost`: it is gone and nobody recorded how it ended. */
export const JOB_REASONS = ["exited", "killed", "lost", "failed_start"] as const;
export type JobReason = (typeof JOB_REASONS)[number];

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
  /** Whether somebody wants to be told when it ends. */
  readonly notify: boolean;
  readonly notified: boolean;
  readonly state: "starting" | "running" | "ended";
  readonly reason: JobReason | undefined;
  readonly exitCode: number | undefined;
  /** Milliseconds since 1970, as all times here. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Somebody decided to end it: however it is seen to end after this, it was killed. */
  readonly killRequested: boolean;
  /** Where its output is; undefined until it runs. */
  readonly folder: TargetPath | undefined;
  readonly process: JobProcess | undefined;
}
