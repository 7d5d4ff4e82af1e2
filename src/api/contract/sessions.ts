import { z } from "zod";
import { positionSchema } from "./position.ts";

const time = z.int();
const count = z.int().min(0);

export const sessionSchema = z.object({
  id: z.string(),
  profile: z.string(),
  title: z.string().nullable(),
  /** The start of the first message. */
  opening: z.string(),
  source: z.string(),
  cwd: z.string(),
  /** `provider:model` */
  model: z.string(),
  parent: z.string().nullable(),
  createdAt: time,
  activeAt: time,
  archivedAt: time.nullable(),
  messages: count,
  costUsd: z.number(),
  /** Whether a process is running one of its turns. */
  isRunning: z.boolean(),
});
export type Session = z.infer<typeof sessionSchema>;

/** GET profiles/:p/sessions?after&source&since&archived, without `q`: the most recently used first. */
export const sessionsQuerySchema = z.strictObject({
  q: z.string().optional(),
  after: z.string().optional(),
  /** Sources separated by commas, or `all`; by default those that people start. */
  source: z.string().optional(),
  /** Only sessions used at or after this time. */
  since: z.coerce.number().int().optional(),
  archived: z.enum(["true", "false"]).optional(),
  /** Order of hits: `best` (default) or `newest`. */
  order: z.enum(["best", "newest"]).optional(),
});
export type SessionsQuery = z.input<typeof sessionsQuerySchema>;

/** A passage of text; `isHit` marks the words that were searched for. */
export const textPieceSchema = z.object({ text: z.string(), isHit: z.boolean() });

export const searchHitSchema = z.object({
  role: z.enum(["user", "assistant", "tool"]),
  at: time,
  isUndone: z.boolean(),
  snippet: z.array(textPieceSchema),
  /** The turn of the message, for the link into the transcript. */
  turn: z.string(),
});
export type SearchHit = z.infer<typeof searchHitSchema>;

export const sessionsAnswerSchema = z.object({
  sessions: z.array(sessionSchema.extend({ hits: z.array(searchHitSchema) })),
  /** Null on the last page, and for a search. */
  next: z.string().nullable(),
  /** The number of sessions that match the filter; null for a search. */
  count: count.nullable(),
  /** The sources of all sessions, for the filter. */
  sources: z.array(z.string()),
  at: positionSchema,
});
export type SessionsAnswer = z.infer<typeof sessionsAnswerSchema>;

/** Sums over requests to models. */
export const totalsSchema = z.object({
  requests: count,
  inputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  costUsd: z.number(),
  /** Answers whose price is unknown and not part of the cost. */
  unpriced: count,
});
export type Totals = z.infer<typeof totalsSchema>;

/** Answer of GET and PATCH profiles/:p/sessions/:id. */
export const shownSessionSchema = sessionSchema.extend({
  turns: count,
  usage: totalsSchema,
  /** The turn that runs, and the process that runs it. */
  openTurn: z.object({ id: z.string(), startedAt: time, isAlive: z.boolean() }).nullable(),
  /** Its ancestors, and the branches and sessions that came from it. */
  family: z.array(z.object({ id: z.string(), title: z.string().nullable(), parent: z.string().nullable() })),
  /** The task whose worker uses it. */
  task: z.object({ board: z.string(), id: z.string(), runId: z.int() }).nullable(),
  at: positionSchema,
});
export type ShownSession = z.infer<typeof shownSessionSchema>;

/** PATCH profiles/:p/sessions/:id */
export const sessionEditSchema = z.strictObject({
  title: z.string().optional(),
  archived: z.boolean().optional(),
});
export type SessionEdit = z.infer<typeof sessionEditSchema>;

/** One use of a tool, and its result. */
export const callSchema = z.object({
  callId: z.string(),
  tool: z.string(),
  /** What it does, in one line. */
  text: z.string(),
  /** JSON as the model wrote it, at most 16 kB. */
  input: z.string(),
  state: z.enum(["planned", "started", "ok", "failed", "denied", "stopped", "skipped", "unknown"]),
  durationMs: z.number().nullable(),
  /** At most 16 kB; the whole text is behind `…/sessions/:id/outputs/:callId`. */
  output: z.string(),
  outputBytes: count,
  /** A part of the result for people only, such as a diff. */
  display: z.string().nullable(),
});
export type Call = z.infer<typeof callSchema>;

export const entrySchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("user"),
    key: z.int(),
    at: time,
    text: z.string(),
    images: count,
    /** A note that was given while the turn ran. */
    isSteer: z.boolean(),
  }),
  /** One step: what the model said and the calls that it made. */
  z.object({
    type: z.literal("assistant"),
    key: z.int(),
    at: time,
    text: z.string(),
    reasoning: z.string(),
    calls: z.array(callSchema),
  }),
]);
export type Entry = z.infer<typeof entrySchema>;

export const turnSchema = z.object({
  id: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  isUndone: z.boolean(),
  /** Whether the model now sees a summary in its place. */
  isCompacted: z.boolean(),
  costUsd: z.number(),
  entries: z.array(entrySchema),
});
export type Turn = z.infer<typeof turnSchema>;

/** GET …/sessions/:id/turns?before&limit: the newest turns before a cursor, oldest first. */
export const turnsAnswerSchema = z.object({
  turns: z.array(turnSchema),
  /** `before` of the page with the turns before these; null at the beginning. */
  before: z.string().nullable(),
  at: positionSchema,
});
export type TurnsAnswer = z.infer<typeof turnsAnswerSchema>;

/** Data of the event `session-change`. */
export const sessionChangeSchema = z.object({
  profile: z.string(),
  sessions: z.array(sessionSchema),
  gone: z.array(z.string()),
  /** Sessions with new or longer turns; a page that shows one of them reads its end again. */
  turns: z.array(z.object({ session: z.string(), turn: z.string() })),
});
export type SessionChange = z.infer<typeof sessionChangeSchema>;
