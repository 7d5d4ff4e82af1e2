import { z } from "zod";
import { positionSchema } from "./position.ts";

/** The columns of a board, in the order of a task's lifecycle. */
export const statusSchema = z.enum([
  ...["triage", "todo", "scheduled", "ready", "running"],
  ...["blocked", "review", "done", "archived"],
] as const);
export type Status = z.infer<typeof statusSchema>;

/** A time in milliseconds since 1970. */
const time = z.int();
const count = z.int().min(0);

export const boardSchema = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  icon: z.string().nullable(),
  color: z.string().nullable(),
  defaultWorkdir: z.string().nullable(),
  paused: z.boolean(),
  createdAt: time,
});
export type Board = z.infer<typeof boardSchema>;

export const boardStatsSchema = z.object({
  counts: z.record(statusSchema, count),
  oldestReadyAgeSeconds: count.nullable(),
  costUsd: z.number(),
});

/** A profile of this home, or a lane (an assignee that is not a profile). */
export const assigneeSchema = z.object({
  name: z.string(),
  kind: z.enum(["profile", "lane"]),
  /** Its tasks that are neither done nor archived. */
  open: count,
});

/** A move that a person may make, from one of the statuses `from` to one of `to`. */
export const moveRuleSchema = z.object({
  move: z.string(),
  from: z.array(statusSchema),
  to: z.array(statusSchema),
  /** What the move does and when it is refused, as a sentence. */
  rule: z.string(),
  /** The required fields of the move. */
  needs: z.array(z.enum(["reason", "reviewer", "at"])),
  /** Whether a page asks for confirmation. */
  confirm: z.boolean(),
});
export type MoveRule = z.infer<typeof moveRuleSchema>;

/** GET boards */
export const boardsAnswerSchema = z.object({
  boards: z.array(boardSchema.extend({ stats: boardStatsSchema })),
  /** Boards that cannot be opened. */
  problems: z.array(z.object({ slug: z.string(), message: z.string(), hint: z.string().nullable() })),
  moves: z.array(moveRuleSchema),
  at: positionSchema,
});
export type BoardsAnswer = z.infer<typeof boardsAnswerSchema>;

/** Answer of GET boards/:b, POST boards and PATCH boards/:b. */
export const boardAnswerSchema = boardSchema.extend({
  stats: boardStatsSchema,
  assignees: z.array(assigneeSchema),
  tenants: z.array(z.string()),
  /** Limits of tasks that run at once; null means no limit. */
  caps: z.object({ board: z.int().nullable(), host: z.int().nullable() }),
  /** Dispatchers that may be alive. */
  dispatchers: count,
  at: positionSchema,
});
export type BoardAnswer = z.infer<typeof boardAnswerSchema>;

/** POST boards */
export const newBoardSchema = z.strictObject({
  slug: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  icon: z.string().optional(),
  color: z.string().optional(),
  defaultWorkdir: z.string().optional(),
});
export type NewBoard = z.infer<typeof newBoardSchema>;

/** PATCH boards/:b; an omitted field stays as it is. */
export const boardEditSchema = z.strictObject({
  name: z.string().optional(),
  description: z.string().nullable().optional(),
  icon: z.string().nullable().optional(),
  color: z.string().nullable().optional(),
  defaultWorkdir: z.string().nullable().optional(),
});
export type BoardEdit = z.infer<typeof boardEditSchema>;

/** Why a task has its status; the page turns it into a few words on the card. */
export const cardReasonSchema = z.object({
  kind: z.enum([
    /** `count` parents are not done; `task` is the first one. */
    "waits",
    /** Nothing blocks it: the next dispatcher pass starts it. */
    "next",
    "held",
    "unassigned",
    /** Until `until`. */
    "scheduled",
    /** A guard, such as a pause after a failure: `guard` says which, `until` when it ends, null if unknown. */
    "guarded",
    /** The board is paused. */
    "paused",
    /** `until` is the end of the claim. */
    "claimed",
  ]),
  task: z.object({ id: z.string(), seq: z.int() }).nullable(),
  count: count.nullable(),
  until: time.nullable(),
  guard: z.string().nullable(),
});
export type CardReason = z.infer<typeof cardReasonSchema>;

/** The last call of the agent of a run. */
export const lastCallSchema = z.object({
  tool: z.string(),
  /** What it does, in one line: the command, the path, the address. */
  text: z.string(),
  at: time,
  /** Null while it runs. */
  outcome: z.string().nullable(),
});
export type LastCall = z.infer<typeof lastCallSchema>;

/** The open run of a task. */
export const cardRunSchema = z.object({
  id: z.int(),
  startedAt: time,
  profile: z.string().nullable(),
  host: z.string().nullable(),
  tokens: count,
  costUsd: z.number(),
  /** Null while nothing is known, and for runs of other hosts. */
  call: lastCallSchema.nullable(),
});
export type CardRun = z.infer<typeof cardRunSchema>;

/** A task as a column shows it. */
export const cardSchema = z.object({
  id: z.string(),
  seq: z.int(),
  title: z.string(),
  status: statusSchema,
  assignee: z.string().nullable(),
  reviewer: z.string().nullable(),
  priority: z.int(),
  tenant: z.string().nullable(),
  hold: z.boolean(),
  createdAt: time,
  /** When the task last changed; `If-Match` of an edit. */
  updatedAt: time,
  /** When it got its status, as far as is known. */
  since: time,
  reason: cardReasonSchema.nullable(),
  /** The question or the failure of a blocked task. */
  notice: z
    .object({
      kind: z.enum(["question", "failure", "block"]),
      text: z.string(),
      /** `provider`: the model's server refuses the key, the model or the address. */
      cause: z.enum(["blocked", "failed", "provider", "rate-limit-bound"]),
    })
    .nullable(),
  /** Failures in a row. */
  failures: count,
  /** How many parents it has, and how many of them are done; null without parents. */
  parts: z.object({ done: count, total: count }).nullable(),
  comments: count,
  files: count,
  /** Of all its runs. */
  costUsd: z.number(),
  run: cardRunSchema.nullable(),
});
export type Card = z.infer<typeof cardSchema>;

export const CARD_ORDERS = ["board", "priority", "created", "updated", "title"] as const;

/** GET boards/:b/cards?status&after&q&assignee&tenant&order; an empty `assignee` means unassigned. */
export const cardsQuerySchema = z.strictObject({
  /** Statuses separated by commas; by default all but `archived`. */
  status: z.string().optional(),
  /** `next` of an earlier answer; only together with one status. */
  after: z.string().optional(),
  q: z.string().optional(),
  /** Names separated by commas. */
  assignee: z.string().optional(),
  tenant: z.string().optional(),
  /** `board` is the order of the columns: open ones by priority, done and archived by their end. */
  order: z.enum(CARD_ORDERS).optional(),
});
export type CardsQuery = z.infer<typeof cardsQuerySchema>;

export const cardColumnSchema = z.object({
  status: statusSchema,
  /** The number of tasks with this status that match the filter. */
  count,
  cards: z.array(cardSchema),
  /** Cursor of the next page; null on the last page. */
  next: z.string().nullable(),
});
export type CardColumn = z.infer<typeof cardColumnSchema>;

export const cardsAnswerSchema = z.object({
  columns: z.array(cardColumnSchema),
  /** The number of the board's last event; changes up to this number are included. */
  event: z.int(),
  at: positionSchema,
});
export type CardsAnswer = z.infer<typeof cardsAnswerSchema>;

/** What other tasks show of a task. */
export const taskNameSchema = z.object({
  id: z.string(),
  seq: z.int(),
  title: z.string(),
  status: statusSchema,
  assignee: z.string().nullable(),
});
export type TaskName = z.infer<typeof taskNameSchema>;

/** GET boards/:b/links: the edges between tasks that are not archived, the newest tasks first. */
export const linksAnswerSchema = z.object({
  tasks: z.array(taskNameSchema.extend({ priority: z.int() })),
  links: z.array(z.object({ parent: z.string(), child: z.string() })),
  /** How many tasks with links are left out, because there are too many. */
  left: count,
  at: positionSchema,
});
export type LinksAnswer = z.infer<typeof linksAnswerSchema>;

export const boardEventSchema = z.object({
  id: z.int(),
  at: time,
  kind: z.string(),
  actor: z.string(),
  task: taskNameSchema.pick({ id: true, seq: true, title: true }).nullable(),
  runId: z.int().nullable(),
  from: statusSchema.nullable(),
  to: statusSchema.nullable(),
  /** What happened, to be shown after the name of the task. */
  text: z.string(),
});
export type BoardEvent = z.infer<typeof boardEventSchema>;

/** GET boards/:b/events?after&task; without `after`, the newest ones. Oldest first. Internal events are left out. */
export const boardEventsAnswerSchema = z.object({
  events: z.array(boardEventSchema),
  /** `after` of the next request. */
  next: z.int(),
});
export type BoardEventsAnswer = z.infer<typeof boardEventsAnswerSchema>;

/** A problem of a task, with suggestions. */
export const boardFindingSchema = z.object({
  kind: z.string(),
  severity: z.enum(["warning", "error", "critical"]),
  taskId: z.string(),
  seq: z.int(),
  title: z.string(),
  detail: z.string(),
  count,
  since: time,
  /** Commands or sentences. */
  actions: z.array(z.string()),
});
export type BoardFinding = z.infer<typeof boardFindingSchema>;

/** GET boards/:b/diagnostics */
export const diagnosticsAnswerSchema = z.object({
  findings: z.array(boardFindingSchema),
  at: positionSchema,
});
export type DiagnosticsAnswer = z.infer<typeof diagnosticsAnswerSchema>;

/** POST boards/:b/dispatch */
export const dispatchedSchema = z.object({ started: count });
export type Dispatched = z.infer<typeof dispatchedSchema>;

/** Data of the event `board-change`. */
export const boardChangeSchema = z.object({
  board: z.string(),
  /** The changed tasks as they are now. */
  cards: z.array(cardSchema),
  /** Tasks that were deleted. */
  gone: z.array(z.string()),
  /** The number of tasks with each status, without a filter. */
  counts: z.record(statusSchema, count),
  paused: z.boolean(),
  /** The newest event of the board that this change contains. */
  event: z.int(),
  /** The events themselves, for pages that list them; at most 50, the newest ones. */
  events: z.array(boardEventSchema),
  /** Too many tasks changed to send their cards; the page reads them again. */
  isLarge: z.boolean(),
});
export type BoardChange = z.infer<typeof boardChangeSchema>;
