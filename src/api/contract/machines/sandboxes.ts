import { z } from "zod";
import { positionSchema } from "../position.ts";

const time = z.int();
const count = z.int().min(0);

/** A sandbox in a list. */
export const sandboxRowSchema = z.object({
  /** The id of its container. */
  id: z.string(),
  name: z.string(),
  profile: z.string().nullable(),
  task: z.string().nullable(),
  backend: z.string(),
  image: z.string().nullable(),
  state: z.string(),
  isInUse: z.boolean(),
  /** Running jobs. */
  jobs: count,
  /** Last use or stop; null if unknown. */
  usedAt: time.nullable(),
  /** When a stopped sandbox will be removed; null if no such time is known. */
  keptUntil: time.nullable(),
  /** Its settings differ from the current ones. */
  isDrifted: z.boolean(),
  /** What it may use; null means no limit. */
  limits: z.object({
    cpus: z.number().nullable(),
    memoryBytes: count.nullable(),
    processes: count.nullable(),
  }),
  /** False for a container of another program, which cannot be changed here. */
  isOurs: z.boolean(),
});
export type SandboxRow = z.infer<typeof sandboxRowSchema>;

/** What `terminal.backend` says about where commands of a profile run, and the sandboxes there. */
export const sandboxListSchema = z.object({
  profile: z.string(),
  backend: z.string(),
  /** The address of a machine that commands run on instead of in containers, such as `user@host:22`; else null. */
  machine: z.string().nullable(),
  /** The container engine, such as `docker 20.10.24`; null without one. */
  engine: z.string().nullable(),
  rows: z.array(sandboxRowSchema),
  /** Why the container engine did not list its sandboxes. */
  problem: z.object({ message: z.string(), hint: z.string().nullable() }).nullable(),
});
export type SandboxList = z.infer<typeof sandboxListSchema>;

/** GET sandboxes?profile */
export const sandboxListAnswerSchema = sandboxListSchema.extend({ at: positionSchema });
export type SandboxListAnswer = z.infer<typeof sandboxListAnswerSchema>;

export const sandboxJobSchema = z.object({
  id: z.string(),
  command: z.string(),
  state: z.enum(["starting", "running", "ended"]),
  reason: z.string().nullable(),
  exitCode: z.int().nullable(),
  startedAt: time,
  endedAt: time.nullable(),
  /** Whether it runs on a terminal of its own. */
  hasTerminal: z.boolean(),
});
export type SandboxJob = z.infer<typeof sandboxJobSchema>;

/** Something that ends with the sandbox: a process that uses it, a job in it, or the files of a folder in memory. */
export const sandboxUseSchema = z.object({
  kind: z.enum(["process", "job", "folder"]),
  /** The pid on this machine, the id of the job, or the path. */
  id: z.string(),
  /** The command line, if it is known. */
  command: z.string().nullable(),
});
export type SandboxUse = z.infer<typeof sandboxUseSchema>;

export const snapshotSchema = z.object({
  id: z.string(),
  name: z.string().nullable(),
  task: z.string(),
  createdAt: time,
  sizeBytes: count,
  /** False if its image was removed, so that it cannot be restored. */
  isWhole: z.boolean(),
  /** The sandboxes that were created from it. */
  usedBy: z.array(z.string()),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

/** GET profiles/:profile/snapshots */
export const snapshotsAnswerSchema = z.object({ snapshots: z.array(snapshotSchema) });
export type SnapshotsAnswer = z.infer<typeof snapshotsAnswerSchema>;

/** GET profiles/:profile/sandboxes/:name */
export const shownSandboxSchema = sandboxRowSchema.extend({
  createdAt: time.nullable(),
  /** The snapshot or fork that it was created from. */
  origin: z.string().nullable(),
  drift: z.array(z.object({ field: z.string(), had: z.string(), wants: z.string() })),
  isolation: z.object({
    /** The lines of `hermes sandbox explain`. */
    lines: z.array(z.string()),
    /** Whether the kernel was asked; a stopped sandbox is only described by the engine. */
    isSeenFromInside: z.boolean(),
  }),
  uses: z.array(sandboxUseSchema),
  jobList: z.array(sandboxJobSchema),
  /** Why the current states of the jobs could not be read. */
  jobProblem: z.string().nullable(),
});
export type ShownSandbox = z.infer<typeof shownSandboxSchema>;

export const shownSandboxAnswerSchema = shownSandboxSchema.extend({ at: positionSchema });
export type ShownSandboxAnswer = z.infer<typeof shownSandboxAnswerSchema>;

/**
 * Body of an action that ends something: the ids of everything that the person agreed to end. If something else uses the sandbox by
 * then, the answer is 409 `sandbox-changed`, and nothing has happened.
 */
export const endSandboxSchema = z.strictObject({ ends: z.array(z.string().max(300)).max(1_000) });

const name = z.string().min(1).max(100);

export const takeSnapshotSchema = z.strictObject({ name: name.optional() });

/** Body of a fork: the task of the new sandbox. */
export const forkSchema = z.strictObject({ task: name });

/** Body of a restore: the task whose sandbox is replaced. */
export const restoreSchema = endSandboxSchema.extend({ task: name });

/** Body of POST sandboxes/:name/jobs. */
export const newJobSchema = z.strictObject({ command: z.string().min(1).max(20_000), terminal: z.boolean() });

/** What an action has done. */
export const sandboxActionAnswerSchema = z.object({
  /** The name of the sandbox, or the id of the snapshot or job. */
  name: z.string(),
  /** Sentences for the person. */
  notices: z.array(z.string()),
});
export type SandboxActionAnswer = z.infer<typeof sandboxActionAnswerSchema>;

/**
 * Body of POST profiles/:profile/sandbox-gc. With `dryRun`, nothing is done. Otherwise `agreed` has what the person has seen in the
 * dry run, as `ID ACTION`; if the run would do something else by then, the answer is 409 `sandbox-changed`.
 */
export const reclaimSchema = z.strictObject({ dryRun: z.boolean(), agreed: z.array(z.string().max(300)) });

export const reclaimAnswerSchema = z.object({
  rows: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      state: z.string(),
      action: z.enum(["removed", "stopped", "kept", "failed"]),
      reason: z.string(),
    }),
  ),
  problem: z.string().nullable(),
});
export type ReclaimAnswer = z.infer<typeof reclaimAnswerSchema>;

/** Data of the event `sandbox-change` of the topic `sandboxes:PROFILE`: the whole list. */
export type SandboxChange = SandboxList;

/** Data of the event `sandbox-load` of the topic `load:PROFILE`: one sample of each running sandbox of the profile. */
export interface SandboxLoad {
  readonly profile: string;
  readonly takenAt: number;
  readonly samples: readonly {
    readonly id: string;
    /** In processors: 1.5 is one and a half. */
    readonly cpus: number;
    readonly memoryBytes: number;
    readonly processes: number;
  }[];
}
