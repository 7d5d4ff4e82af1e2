import { z } from "zod";

const cap = z.int().min(1).nullable().default(null);

/** Section `kanban`: the board, its dispatcher and its workers. */
export const kanbanOptions = z.strictObject({
  database_url: z.string().default("").meta({
    description:
      "PostgreSQL address of a board shared by several hosts; empty means board.sqlite in the root home",
    secret: true,
  }),
  dispatch_interval_seconds: z.number().min(1).default(60).meta({
    description: "Seconds between two passes of the dispatcher when nothing wakes it",
  }),
  dispatch_profiles: z.array(z.string()).nullable().default(null).meta({
    description: "Profiles whose tasks this home may claim; unset means all, an empty list means none",
  }),
  dispatch_stale_timeout_seconds: z.int().min(0).default(14_400).meta({
    description: "Reclaim a running task without a sign of life for this long; 0 means never",
  }),
  max_spawn: cap.meta({ description: "Running tasks a board may have; unset means no cap" }),
  max_in_progress: cap.meta({
    description: "Running tasks this host may have over all boards; unset means by its memory, 2 to 8",
  }),
  max_in_progress_per_profile: z
    .union([z.int().min(0), z.record(z.string(), z.int().min(0))])
    .nullable()
    .default(null)
    .meta({
      description:
        "Running tasks of one profile: a number for all or a map of profile to number; 0 means no cap",
    }),
  max_children_per_task: z.int().min(0).default(50).meta({
    description: "Tasks that the workers of one task may make; 0 means none",
  }),
  max_depth: z.int().min(0).default(5).meta({
    description: "How many steps a task made by workers may be from the task of a person",
  }),
  shared_attachments_mb: z.int().min(0).default(1_024).meta({
    description: "Megabytes of attachments that a board on PostgreSQL keeps for all its hosts",
  }),
  failure_limit: z
    .int()
    .min(1)
    .default(2)
    .meta({ description: "Failures in a row before a task is blocked" }),
  failure_retry_seconds: z.int().min(0).default(86_400).meta({
    description: "Seconds after which a task blocked by failures gets one fresh attempt",
  }),
  default_assignee: z
    .string()
    .trim()
    .default("")
    .meta({ description: "Profile that gets tasks without an assignee" }),
  reconcile_orphans: z.boolean().default(true).meta({ description: "Repair tasks whose run has vanished" }),
  worker_log_rotate_bytes: z
    .int()
    .min(0)
    .default(2_097_152)
    .meta({ description: "Size at which a worker's log is rotated" }),
  worker_log_backup_count: z
    .int()
    .min(0)
    .default(1)
    .meta({ description: "Rotated worker logs that are kept" }),
  done_sub_retention_days: z
    .int()
    .min(0)
    .default(30)
    .meta({ description: "Days a subscription to a finished task is kept" }),
  default_workdir: z.string().default("").meta({ description: "Folder of tasks that name none" }),
  claim_ttl_seconds: z
    .int()
    .min(1)
    .default(900)
    .meta({ description: "Seconds a claim made by hand is held" }),
  crash_grace_seconds: z
    .int()
    .min(0)
    .default(30)
    .meta({ description: "Seconds before a vanished worker counts as crashed" }),
  rate_limit_cooldown_seconds: z
    .int()
    .min(0)
    .default(300)
    .meta({ description: "Seconds a rate-limited task waits" }),
  diagnostics: z
    .strictObject({
      failure_threshold: z
        .int()
        .min(1)
        .default(3)
        .meta({ description: "Failures of a task worth a finding" }),
      crash_threshold: z.int().min(1).default(2).meta({ description: "Crashes of a task worth a finding" }),
      blocked_stale_hours: z
        .number()
        .min(0)
        .default(24)
        .meta({ description: "Hours a task may stay blocked without a finding" }),
      stranded_threshold_seconds: z.int().min(0).default(1_800).meta({
        description: "Seconds a ready task may wait without a finding",
      }),
      storm_tasks_per_hour: z.int().min(1).default(30).meta({
        description: "Tasks that workers may make in an hour, starting from one task, without a finding",
      }),
    })
    .prefault({}),
});
