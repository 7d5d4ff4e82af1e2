import { z } from "zod";
import { approvalSchema } from "./approvals.ts";
import { boardEventSchema, cardRunSchema } from "./boards.ts";
import { sandboxRowSchema } from "./machines/sandboxes.ts";
import { positionSchema } from "./position.ts";
import { totalsSchema } from "./sessions.ts";

const time = z.int();
const count = z.int().min(0);

/** Something that waits for a person. */
export const needSchema = z.object({
  /** Stable while it waits, so that its row stays in place. */
  id: z.string(),
  kind: z.enum([
    /** A worker asks; the answer goes to the task. */
    "question",
    /** A person blocked it, or created it as blocked. */
    "block",
    /** It failed and is not retried automatically. */
    "failure",
    /** A question about a call or in a chat, in `approval`. */
    "approval",
    /** It waits for a person's review. */
    "review",
    /** Ready tasks, and no dispatcher. */
    "no-dispatcher",
    /** A finding of the board's diagnostics. */
    "finding",
    /** The settings have a problem. */
    "settings",
    /** A cost limit is reached. */
    "budget",
  ]),
  title: z.string(),
  /** The question, the error, the reason. */
  detail: z.string(),
  /** Who asks, who failed. */
  who: z.string().nullable(),
  since: time,
  /** When it is retried automatically. */
  until: time.nullable(),
  /** Failures in a row. */
  failures: count,
  task: z.object({ board: z.string(), id: z.string(), seq: z.int() }).nullable(),
  approval: approvalSchema.nullable(),
  /** A command or sentence that says how to resolve it; empty if the page has a button. */
  release: z.string(),
  /** What the page offers, in this order. `key`: open the keys of the profile `who`. */
  actions: z.array(z.enum(["answer", "approve", "review", "retry", "key", "resume", "open"])),
});
export type Need = z.infer<typeof needSchema>;

export const runningTaskSchema = cardRunSchema.extend({
  board: z.string(),
  taskId: z.string(),
  seq: z.int(),
  title: z.string(),
  status: z.literal("running"),
});
export type RunningTask = z.infer<typeof runningTaskSchema>;

export const dispatcherSchema = z.object({
  board: z.string(),
  host: z.string(),
  pid: z.int().nullable(),
  lastPassAt: time,
  /** Its process may be alive. */
  isAlive: z.boolean(),
  /** It holds the lease of the board. */
  isLeading: z.boolean(),
  lastError: z.string().nullable(),
  /** Passes in a row that started nothing, and since when. */
  idle: z.object({ passes: count, since: time }).nullable(),
});
export type Dispatcher = z.infer<typeof dispatcherSchema>;

/** GET overview?profile; spending, sandboxes and settings are those of this profile. */
export const overviewAnswerSchema = z.object({
  profile: z.string(),
  facts: z.object({
    running: count,
    /** The slots of this host: how many tasks may run on it at once; null means no limit. */
    places: z.int().nullable(),
    needs: count,
    doneToday: count,
    ready: count,
    spentTodayUsd: z.number(),
    /** `agent.max_daily_cost_usd`; null means no limit. */
    capUsd: z.number().nullable(),
    lastPassAt: time.nullable(),
    dispatchersAlive: count,
  }),
  needs: z.array(needSchema),
  running: z.array(runningTaskSchema),
  /** The last 14 local days, oldest first, without gaps. */
  spending: z.object({
    days: z.array(totalsSchema.extend({ day: z.string() })),
    /** The share of today's input that came from the cache; null without input. */
    cacheShare: z.number().nullable(),
  }),
  /** `problem` says why a container engine could not be asked. */
  sandboxes: z.object({ rows: z.array(sandboxRowSchema), problem: z.string().nullable() }),
  dispatchers: z.array(dispatcherSchema),
  /** The latest events of all boards, newest first. */
  lately: z.array(boardEventSchema.extend({ board: z.string() })),
  /** The first steps of a new home that are done. */
  steps: z.object({ model: z.boolean(), profile: z.boolean(), task: z.boolean() }),
  /** Parts of the answer that could not be read. */
  problems: z.array(z.object({ part: z.string(), message: z.string(), hint: z.string().nullable() })),
  at: positionSchema,
});
export type OverviewAnswer = z.infer<typeof overviewAnswerSchema>;

/** Data of the event `needs-change`, which says that the list of needs has changed: everything that waits now. */
export const needsChangeSchema = z.object({ needs: z.array(needSchema) });
export type NeedsChange = z.infer<typeof needsChangeSchema>;
