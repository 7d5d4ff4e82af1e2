import { z } from "zod";
import type { BoardChange } from "./boards.ts";
import type { ChatChange, TurnEvent } from "./chat.ts";
import type { LogLines } from "./logs.ts";
import type { SandboxChange, SandboxLoad } from "./machines/sandboxes.ts";
import type { NeedsChange } from "./overview.ts";
import { type Position, positionSchema } from "./position.ts";
import type { SessionChange } from "./sessions.ts";
import type { PlatformChange } from "./setup/platforms.ts";
import type { ProfileChange } from "./setup/profiles.ts";
import type { SettingsChange } from "./setup/settings.ts";
import type { RunLogPiece } from "./tasks.ts";

/** What a page can follow: `always` has the events for every page, the other kinds those of one named thing. */
export const TOPIC_KINDS = ["always", "board", "run", "turn", "sandboxes", "load", "log"] as const;

export type TopicKind = (typeof TOPIC_KINDS)[number];

/** `always`, `board:SLUG`, `run:SLUG/RUN`, `turn:ID`, `sandboxes:PROFILE`, `load:PROFILE` or `log:PROFILE/FILE`. */
export const topicSchema = z
  .string()
  .max(300)
  .regex(/^(always|board:[^\s:]+|(run|turn|sandboxes|load|log):[^\s]+)$/, "is not a topic");

export type Topic = z.infer<typeof topicSchema>;

/** The data of each event by its name. A source of events adds its own line here. */
export interface LiveEvents {
  /** The first event of every stream. `resumed`: nothing was missed since the position that the page named. */
  readonly hello: { readonly at: Position; readonly resumed: boolean; readonly version: string };
  /** Every 15 seconds. A page treats its connection as lost after 40 seconds without any event. */
  readonly beat: { readonly at: Position };
  /** Events of these topics (null: of all) were missed, so the page reads what it shows of them again. */
  readonly reset: { readonly at: Position; readonly topics: readonly Topic[] | null };
  readonly "needs-change": NeedsChange;
  readonly "session-change": SessionChange;
  readonly "settings-change": SettingsChange;
  readonly "profile-change": ProfileChange;
  readonly "platform-change": PlatformChange;
  /** Topic `board:SLUG`. */
  readonly "board-change": BoardChange;
  readonly "chat-change": ChatChange;
  /** Topic `turn:ID`. */
  readonly "turn-event": TurnEvent;
  /** Topic `run:SLUG/RUN`. */
  readonly "run-line": RunLogPiece;
  /** Topic `log:PROFILE/FILE`. */
  readonly "log-line": LogLines;
  /** Topic `sandboxes:PROFILE`. */
  readonly "sandbox-change": SandboxChange;
  /** Topic `load:PROFILE`. */
  readonly "sandbox-load": SandboxLoad;
  /** The server is stopping; the page reconnects after `backInMs`. */
  readonly bye: { readonly backInMs: number };
}

export type LiveEventName = keyof LiveEvents;

/** The data of one server-sent event; its name is the name of the event, and its id a position. */
export interface LiveMessage<Name extends LiveEventName = LiveEventName> {
  /** Null for events of the stream itself. */
  readonly topic: Topic | null;
  readonly data: LiveEvents[Name];
}

/** The name that the page gives its stream, to change its topics later. A second stream with the same name ends the first. */
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
 * snapshot that the page shows; the page gets the events after it. Null means from now on.
 */
export const topicsSchema = z.strictObject({
  topics: z
    .record(topicSchema, positionSchema.nullable())
    .refine((topics) => Object.keys(topics).length <= 100, "are more than 100"),
});

export type TopicsBody = z.infer<typeof topicsSchema>;

/** Answer of the PUT. `reset`: topics whose events since that position are no longer known; the page reads them again. */
export const topicsChangedSchema = z.strictObject({
  at: positionSchema,
  reset: z.array(topicSchema),
});

export type TopicsChanged = z.infer<typeof topicsChangedSchema>;
