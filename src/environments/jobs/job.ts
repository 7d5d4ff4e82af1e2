import type { TargetPath } from "../environment.ts";
import type { WatchState } from "./watch/watch-state.ts";

/** How long a job may run: until its turn ends, until its session ends, or until it is killed. */
export const JOB_LIFETIMES = ["turn", "session", "persistent"] as const;
export type JobLifetime = (typeof JOB_LIFETIMES)[number];

/** Why a job ended. `lost`: its processes have exited, but no exit code was recorded. */
export const JOB_REASONS = ["exited", "killed", "lost", "failed_start"] as const;
export type JobReason = (typeof JOB_REASONS)[number];

/** Where a job reads from: nothing, a pipe, or a terminal of its own that also takes its output. */
export const JOB_INPUTS = ["none", "pipe", "terminal"] as const;
export type JobInput = (typeof JOB_INPUTS)[number];

/** Exit codes of jobs that recorded none. */
export const KILLED_EXIT_CODE = -15;
export const UNKNOWN_EXIT_CODE = -1;

/** The processes of a job inside its environment, identified by pid and start time, because pids are reused. */
export interface JobProcess {
  /** The boot to which the start times are relative. */
  readonly bootId: string;
  readonly pid: number;
  readonly startTime: string;
  /** The process that waits for the job and records its exit code. */
  readonly keeperPid: number;
  readonly keeperStartTime: string;
}

/** Texts to watch for in the output, and how far the output has been searched. */
export interface JobWatch {
  readonly patterns: readonly string[];
  readonly state: WatchState;
}

/** The record of a job, shared by all processes. */
export interface JobRecord {
  readonly id: string;
  readonly environmentKey: string;
  /** The session that started it. */
  readonly owner: string;
  /** Redacted. */
  readonly command: string;
  readonly cwd: TargetPath | undefined;
  readonly lifetime: JobLifetime;
  /** When the job is killed if it still runs; undefined if it has no time limit. */
  readonly expiresAt: number | undefined;
  readonly input: JobInput;
  /** Whether the owner wants to be notified when it ends. */
  readonly notify: boolean;
  readonly notified: boolean;
  readonly state: "starting" | "running" | "ended";
  readonly reason: JobReason | undefined;
  readonly exitCode: number | undefined;
  /** Whether the kernel killed it because memory ran out. */
  readonly ranOutOfMemory: boolean;
  /** Milliseconds since 1970, like all times in this record. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Whether a kill was requested; from then on, every end counts as killed. */
  readonly killRequested: boolean;
  /** The folder of its output; undefined until it runs. */
  readonly folder: TargetPath | undefined;
  readonly process: JobProcess | undefined;
  /** Undefined if the job is not watched, or no longer watched. */
  readonly watch: JobWatch | undefined;
}
