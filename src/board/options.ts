import { z } from "zod";

const cap = z.int().min(1).nullable().default(null);
const wholeNumber = (min: number, preset: number, description: string) =>
  z.int().min(min).default(preset).meta({ description });

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
  dispatch_in_gateway: z.boolean().default(true).meta({
    description: "Whether the gateway of the home dispatches its boards",
  }),
  dispatch_profiles: z.array(z.string()).nullable().default(null).meta({
    description: "Profiles whose tasks this home may claim; unset means all, an empty list means none",
  }),
  dispatch_stale_timeout_seconds: wholeNumber(
    0,
    14_400,
    "Reclaim a task that has run for this many seconds and sent no heartbeat for an hour; 0 means never",
  ),
  max_spawn: cap.meta({ description: "Maximum running tasks of a board; unset means no cap" }),
  max_in_progress: cap.meta({
    description:
      "Maximum running tasks of this host over all boards; unset means 2 to 8, depending on its memory",
  }),
  max_in_progress_per_profile: z
    .union([z.int().min(0), z.record(z.string(), z.int().min(0))])
    .nullable()
    .default(null)
    .meta({
      description:
        "Maximum running tasks of one profile: a number for all or a map of profile to number; 0 means no cap",
    }),
  max_children_per_task: wholeNumber(0, 50, "Tasks that the workers of one task may create; 0 means none"),
  max_depth: wholeNumber(0, 5, "Generations of tasks that workers may create below a user's task"),
  shared_attachments_mb: wholeNumber(
    0,
    1_024,
    "Megabytes of attachments that a board on PostgreSQL may store",
  ),
  failure_limit: wholeNumber(1, 2, "Failures in a row before a task is blocked"),
  failure_retry_seconds: wholeNumber(
    0,
    86_400,
    "Seconds after which a task blocked by failures gets one new attempt",
  ),
  default_assignee: z
    .string()
    .trim()
    .default("")
    .meta({ description: "Profile that runs tasks without an assignee" }),
  reconcile_orphans: z
    .boolean()
    .default(true)
    .meta({ description: "Repair running tasks whose run no longer exists" }),
  worker_log_rotate_bytes: wholeNumber(0, 2_097_152, "Size at which a worker's log is rotated"),
  worker_log_backup_count: wholeNumber(0, 1, "Rotated worker logs that are kept"),
  done_sub_retention_days: wholeNumber(
    0,
    30,
    "Days to keep a subscription to a finished task; 0 keeps it forever",
  ),
  default_workdir: z
    .string()
    .default("")
    .meta({ description: "Working folder of tasks that do not set one" }),
  claim_ttl_seconds: wholeNumber(1, 900, "Seconds for which a manual claim is valid"),
  crash_grace_seconds: wholeNumber(0, 30, "Seconds before a missing worker counts as crashed"),
  rate_limit_cooldown_seconds: wholeNumber(0, 300, "Seconds a rate-limited task waits"),
  diagnostics: z
    .strictObject({
      failure_threshold: wholeNumber(1, 3, "Failures of a task before it is reported"),
      crash_threshold: wholeNumber(1, 2, "Crashes of a task before it is reported"),
      blocked_stale_hours: z
        .number()
        .min(0)
        .default(24)
        .meta({ description: "Hours a task may stay blocked before it is reported" }),
      stranded_threshold_seconds: wholeNumber(
        0,
        1_800,
        "Seconds a ready task may wait before it is reported",
      ),
      storm_tasks_per_hour: wholeNumber(
        1,
        30,
        "Tasks that workers of one task and its descendants may create in an hour before it is reported",
      ),
    })
    .prefault({}),
});
