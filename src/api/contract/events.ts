import { z } from "zod";
import type { BoardChange } from "./boards.ts";
import type { NeedsChange } from "./overview.ts";
import { type Position, positionSchema } from "./position.ts";
import type { SessionChange } from "./sessions.ts";
import type { RunLine } from "./tasks.ts";

/** What a page can follow: `always` for what every page shows, else one thing by its kind and name. */
export const TOPIC_KINDS = ["always", "board", "run", "turn", "load", "log"] as const;

export type TopicKind = (typeof TOPIC_KINDS)[number];

/** `always`, `board:SLUG`, `run:SLUG/RUN`, `turn:ID`, `load:ID` or `log:PROFILE/FILE`. */
export const topicSchema = z
  .string()
  .max(300)
  .regex(/^(always|board:[^\s:]+|(run|turn|load|log):[^\s]+)$/, "is not a topic");

export type Topic = z.infer<typeof topicSchema>;

/** The data of each event by its name. A source of events adds its own line here. */
export interface LiveEvents {
  /** The first event of every stream. `resumed`: nothing was missed since the position that the page named. */
  readonly hello: { readonly at: Position; readonly resumed: boolean; readonly version: string };
  /** Every 15 seconds. A page counts itself as cut off after 40 seconds without any event. */
  readonly beat: { readonly at: Position };
  /** Events of these topics were missed, of all topics if null: the page asks again for what it shows of them. */
  readonly reset: { readonly at: Position; readonly topics: readonly Topic[] | null };
  readonly "needs-change": NeedsChange;
  readonly "session-change": SessionChange;
  /** Topic `board:SLUG`. */
  readonly "board-change": BoardChange;
  /** Topic `run:SLUG/RUN`. */
  readonly "run-line": RunLine;
  /** The server ends; the page comes back after `backInMs`. */
  readonly bye: { readonly backInMs: number };
}

export type LiveEventName = keyof LiveEvents;

/** The data of one server-sent event; its name is the name of the event, and its id a position. */
export interface LiveMessage<Name extends LiveEventName = LiveEventName> {
  /** Null: of the stream itself. */
  readonly topic: Topic | null;
  readonly data: LiveEvents[Name];
}

/** A name that the page chooses for its stream, so that it can change the topics of it. A second stream of that name ends the first. */
export const streamNameSchema = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/);

/** Query of `GET api/events`. The header `Last-Event-ID` wins over `after`; `topics` are separated by spaces. */
export const followSchema = z.strictObject({
  stream: streamNameSchema,
  after: positionSchema.optional(),
  topics: z
    .string()
    .default("")
    .transform((text) => text.split(" ").filter((topic) => topic !== ""))
    .pipe(z.array(topicSchema).max(100)),
});

/**
 * Body of `PUT api/events/:stream/topics`: all topics that the page now follows. The value of a topic is the position of the
 * snapshot that the page shows, from which on it gets the events; null means from now on.
 */
export const topicsSchema = z.strictObject({
  topics: z
    .record(topicSchema, positionSchema.nullable())
    .refine((topics) => Object.keys(topics).length <= 100, "are more than 100"),
});

export type TopicsBody = z.infer<typeof topicsSchema>;

/** Answer of the PUT. `reset`: topics whose events since their position are not known; the page asks again. */
export const topicsChangedSchema = z.strictObject({
  at: positionSchema,
  reset: z.array(topicSchema),
});

export type TopicsChanged = z.infer<typeof topicsChangedSchema>;
