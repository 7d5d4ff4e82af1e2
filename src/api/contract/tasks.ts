import { z } from "zod";
import { boardEventSchema, cardSchema, statusSchema, taskNameSchema } from "./boards.ts";
import { positionSchema } from "./position.ts";
import { problemSchema } from "./problem.ts";

const time = z.int();
const count = z.int().min(0);

export const taskSchema = z.object({
  id: z.string(),
  seq: z.int(),
  title: z.string(),
  body: z.string().nullable(),
  status: statusSchema,
  assignee: z.string().nullable(),
  priority: z.int(),
  tenant: z.string().nullable(),
  hold: z.boolean(),
  createdBy: z.string(),
  createdAt: time,
  /** `If-Match` of an edit. */
  updatedAt: time,
  startedAt: time.nullable(),
  completedAt: time.nullable(),
  archivedAt: time.nullable(),
  scheduledAt: time.nullable(),
  /** Not claimed before this time, for instance after a failure. */
  notBefore: time.nullable(),
  result: z.string().nullable(),
  failures: count,
  lastError: z.string().nullable(),
  blockKind: z.string().nullable(),
  triageReason: z.string().nullable(),
  phase: z.enum(["work", "review"]),
  implementer: z.string().nullable(),
  reviewer: z.string().nullable(),
  workspaceKind: z.enum(["scratch", "dir", "worktree"]),
  workspacePath: z.string().nullable(),
  branch: z.string().nullable(),
  model: z.string().nullable(),
  provider: z.string().nullable(),
  reasoningEffort: z.string().nullable(),
  skills: z.array(z.string()).nullable(),
  maxRuntimeSeconds: z.int().nullable(),
  maxRetries: z.int().nullable(),
  origin: z.string().nullable(),
  sessionId: z.string().nullable(),
});
export type Task = z.infer<typeof taskSchema>;

export const runSchema = z.object({
  id: z.int(),
  profile: z.string().nullable(),
  host: z.string().nullable(),
  startedAt: time,
  endedAt: time.nullable(),
  /** Null while it runs. */
  outcome: z.string().nullable(),
  /** Whether the outcome counts as a failure. */
  failed: z.boolean(),
  summary: z.string().nullable(),
  error: z.string().nullable(),
  sessionId: z.string().nullable(),
  inputTokens: count,
  outputTokens: count,
  cachedTokens: count,
  costUsd: z.number(),
  /** Whether this host has its log. */
  hasLog: z.boolean(),
});
export type Run = z.infer<typeof runSchema>;

export const commentSchema = z.object({
  id: z.int(),
  author: z.string(),
  body: z.string(),
  createdAt: time,
  /** When a running worker received it as a note; null if none did. */
  readAt: time.nullable(),
});
export type Comment = z.infer<typeof commentSchema>;

export const fileSchema = z.object({
  id: z.int(),
  name: z.string(),
  size: count,
  contentType: z.string().nullable(),
  uploadedBy: z.string(),
  createdAt: time,
});
export type TaskFile = z.infer<typeof fileSchema>;

/** Why a task is not running, and what releases it. GET …/tasks/:t/why */
export const whySchema = z.object({
  reason: z.string(),
  /** A sentence; several parents are on a line each. */
  text: z.string(),
  /** A command or sentence that says how to resolve it; empty when nothing needs to be done. */
  release: z.string(),
  until: time.nullable(),
});
export type Why = z.infer<typeof whySchema>;

/** GET …/tasks/:t, by id, id prefix or number */
export const shownTaskSchema = z.object({
  task: taskSchema,
  card: cardSchema,
  parents: z.array(taskNameSchema),
  children: z.array(taskNameSchema),
  comments: z.array(commentSchema),
  /** The last ones, oldest first. */
  events: z.array(boardEventSchema),
  runs: z.array(runSchema),
  files: z.array(fileSchema),
  /** Where the worker's files are. `changes` summarises the differences from the commit at which the branch began. */
  workspace: z.object({
    path: z.string().nullable(),
    branch: z.string().nullable(),
    changes: z.string().nullable(),
  }),
  /** The moves that this task may make now, by name. */
  moves: z.array(z.string()),
  at: positionSchema,
});
export type ShownTask = z.infer<typeof shownTaskSchema>;

/** POST boards/:b/tasks, with `Idempotency-Key`: 201, or 200 with `created: false`. */
export const newTaskSchema = z.strictObject({
  title: z.string(),
  body: z.string().optional(),
  assignee: z.string().nullable().optional(),
  parents: z.array(z.string()).optional(),
  priority: z.int().optional(),
  tenant: z.string().optional(),
  triage: z.boolean().optional(),
  hold: z.boolean().optional(),
  scheduledAt: time.optional(),
  workspaceKind: z.enum(["scratch", "dir", "worktree"]).optional(),
  workspacePath: z.string().optional(),
  branch: z.string().optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  reasoningEffort: z.string().optional(),
  skills: z.array(z.string()).optional(),
  maxRuntimeSeconds: z.int().optional(),
  maxRetries: z.int().optional(),
});
export type NewTask = z.infer<typeof newTaskSchema>;

/** The answer to a change of one task. */
export const changedTaskSchema = z.object({ task: taskSchema, card: cardSchema });
export type ChangedTask = z.infer<typeof changedTaskSchema>;
export const createdTaskSchema = changedTaskSchema.extend({ created: z.boolean() });
export type CreatedTask = z.infer<typeof createdTaskSchema>;

/** PATCH …/tasks/:t; `If-Match` with `updatedAt` gets 412 if the task has changed since. */
export const taskEditSchema = z.strictObject({
  title: z.string().optional(),
  body: z.string().nullable().optional(),
  assignee: z.string().nullable().optional(),
  priority: z.int().optional(),
  tenant: z.string().nullable().optional(),
  model: z.string().nullable().optional(),
  provider: z.string().nullable().optional(),
  reasoningEffort: z.string().nullable().optional(),
});
export type TaskEdit = z.infer<typeof taskEditSchema>;

const text = z.string();

/** POST …/tasks/:t/moves: a verb, never a bare status. */
export const moveSchema = z.discriminatedUnion("move", [
  z.strictObject({
    move: z.literal("specify"),
    title: text.optional(),
    body: text.optional(),
    assignee: text.optional(),
  }),
  z.strictObject({ move: z.literal("promote") }),
  z.strictObject({
    move: z.literal("block"),
    reason: text,
    kind: z.enum(["dependency", "needs_input", "capability", "transient"]).optional(),
  }),
  z.strictObject({ move: z.literal("unblock"), reason: text.optional() }),
  z.strictObject({ move: z.literal("retry"), fresh: z.boolean().optional() }),
  z.strictObject({ move: z.literal("schedule"), at: time, reason: text.optional() }),
  z.strictObject({ move: z.literal("request-review"), reviewer: text, summary: text.optional() }),
  z.strictObject({ move: z.literal("request-changes"), reason: text }),
  z.strictObject({ move: z.literal("approve"), result: text.optional() }),
  z.strictObject({ move: z.literal("complete"), summary: text.optional(), result: text.optional() }),
  z.strictObject({ move: z.literal("reopen") }),
  /** Ends the run; the task returns to its status before the claim. */
  z.strictObject({ move: z.literal("reclaim") }),
  z.strictObject({ move: z.literal("archive") }),
  /** Keeps its status, but is neither promoted nor claimed until it is released. */
  z.strictObject({ move: z.literal("hold") }),
  z.strictObject({ move: z.literal("release-hold") }),
  /** Removes the guards that delay the task. */
  z.strictObject({ move: z.literal("unguard") }),
]);
export type TaskMove = z.infer<typeof moveSchema>;

/** The problem of a refused move: also the rule, and the tasks that are in the way. */
export const refusedMoveSchema = problemSchema.extend({
  rule: z.string().nullable(),
  tasks: z.array(taskNameSchema),
});
export type RefusedMove = z.infer<typeof refusedMoveSchema>;

/** POST …/tasks/bulk: the tasks are changed independently, with one event for all. */
export const bulkSchema = z.union([
  z.strictObject({ ids: z.array(text).min(1).max(1_000), move: moveSchema }),
  z.strictObject({ ids: z.array(text).min(1).max(1_000), edit: taskEditSchema }),
]);
export type Bulk = z.infer<typeof bulkSchema>;

export const bulkAnswerSchema = z.array(
  z.object({
    id: z.string(),
    ok: z.boolean(),
    problem: problemSchema.nullable(),
  }),
);
export type BulkAnswer = z.infer<typeof bulkAnswerSchema>;

/** POST …/tasks/:t/comments */
export const newCommentSchema = z.strictObject({ body: text });
export type NewComment = z.infer<typeof newCommentSchema>;

/** POST …/tasks/:t/answer: a comment and, with `unblock`, the next run, in one transaction. */
export const newAnswerSchema = z.strictObject({ body: text, unblock: z.boolean().default(true) });
export type NewAnswer = z.input<typeof newAnswerSchema>;

/** Whether the worker had asked a question, which is now answered too. */
export const answeredTaskSchema = changedTaskSchema.extend({
  question: z.object({ id: z.string(), profile: z.string(), state: z.string() }).nullable(),
});
export type AnsweredTask = z.infer<typeof answeredTaskSchema>;

/** GET …/runs/:r/log?before&bytes: a piece of the log that ends at `before`, at most 256 kB. */
export const runLogSchema = z.object({
  text: z.string(),
  /** In bytes, from the start of the stored part of the log. */
  from: count,
  to: count,
  /** The size of the stored part of the log. */
  size: count,
  /** Changes when the start of the log is deleted, which moves all offsets. */
  part: z.string(),
  isRunning: z.boolean(),
  /** The position from which the topic of the run has every later line; null if the run has ended. */
  at: positionSchema.nullable(),
});
export type RunLog = z.infer<typeof runLogSchema>;

/** Data of the event `run-line`: what was appended at `from`. */
export const runLogPieceSchema = runLogSchema
  .omit({ size: true, at: true })
  .extend({ board: z.string(), taskId: z.string(), runId: z.int() });
export type RunLogPiece = z.infer<typeof runLogPieceSchema>;

/** GET …/runs/:r/diff: the worktree of the run against the commit at which its branch began. */
export const runDiffSchema = z.object({
  /** Null if there is a diff; else why there is none. */
  missing: z.string().nullable(),
  path: z.string().nullable(),
  branch: z.string().nullable(),
  base: z.string().nullable(),
  added: count,
  removed: count,
  files: z.array(
    z.object({
      path: z.string(),
      /** Null for a binary file. */
      added: count.nullable(),
      removed: count.nullable(),
      state: z.enum(["added", "changed", "deleted", "renamed"]),
    }),
  ),
  /** The unified diff, at most 1 MB. */
  text: z.string(),
  isCut: z.boolean(),
});
export type RunDiff = z.infer<typeof runDiffSchema>;
