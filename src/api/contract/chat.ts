import { z } from "zod";
import { approvalSchema } from "./approvals.ts";
import { positionSchema } from "./position.ts";
import { callSchema, entrySchema } from "./sessions.ts";

const count = z.int().min(0);

/** Who answers when a call needs approval; `plan`: only calls that change nothing run. */
export const CHAT_MODES = ["manual", "smart", "off", "plan"] as const;
export const chatModeSchema = z.enum(CHAT_MODES);
export type ChatMode = z.infer<typeof chatModeSchema>;

/** The name that a page chooses for the turn of a message. A repeated request with the same name starts nothing. */
export const turnIdSchema = z.string().regex(/^[\w-]{8,64}$/);

/** POST profiles/:p/turns */
export const newMessageSchema = z.strictObject({
  id: turnIdSchema,
  /** The session to continue; without it, a new one begins. */
  session: z.string().optional(),
  text: z.string().min(1).max(500_000),
  /** `provider:model`, if another model is to answer from now on. */
  model: z.string().max(500).optional(),
  /** The mode from now on; `off` needs the scope `admin`. */
  mode: chatModeSchema.optional(),
});
export type NewMessage = z.infer<typeof newMessageSchema>;

/** Answer of POST profiles/:p/turns, status 202. */
export const sentMessageSchema = z.object({
  turn: z.string(),
  session: z.string(),
  /** Whether it waits until the running turn of the session has ended. */
  isQueued: z.boolean(),
});
export type SentMessage = z.infer<typeof sentMessageSchema>;

/** Something that happened in a turn besides its messages. */
export const turnNoticeSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("notice"), text: z.string() }),
  /** A request failed. `inMs`: when it is sent again; 0 if something else is tried first. */
  z.object({ type: z.literal("retry"), message: z.string(), inMs: count }),
  z.object({ type: z.literal("switch"), from: z.string(), to: z.string(), reason: z.string() }),
  z.object({ type: z.literal("compacting"), tokens: count }),
  z.object({ type: z.literal("compacted"), before: count, after: count }),
  z.object({ type: z.literal("compaction-failed"), message: z.string(), hint: z.string() }),
  z.object({ type: z.literal("cache-broken"), what: z.string() }),
]);
export type TurnNotice = z.infer<typeof turnNoticeSchema>;

/** Everything about a turn of this server but its messages. */
export const turnFactsSchema = z.object({
  /** `waiting`: for another process that runs a turn of the session. `asking`: for the answer of a person. */
  state: z.enum(["waiting", "running", "asking", "stopping", "ended"]),
  /** False until the message is stored; a turn that ends before has done nothing. */
  isStored: z.boolean(),
  endedAt: z.int().nullable(),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  hint: z.string().nullable(),
  costUsd: z.number(),
  /** `after`: the number of messages before it. */
  notices: z.array(z.object({ after: count, notice: turnNoticeSchema })),
  /** Notes that the model has not seen yet. */
  steers: z.array(z.string()),
  /** Questions that wait for a person. */
  questions: z.array(approvalSchema),
});
export type TurnFacts = z.infer<typeof turnFactsSchema>;

/** GET turns/:id: a turn of this server as it is now. */
export const liveTurnSchema = z.object({
  id: z.string(),
  profile: z.string(),
  session: z.string(),
  startedAt: z.int(),
  entries: z.array(entrySchema),
  facts: turnFactsSchema,
  /** The number of the last change that it contains. */
  change: count,
});
export type LiveTurn = z.infer<typeof liveTurnSchema>;

/** One difference between two states of a turn. */
export const turnPatchSchema = z.discriminatedUnion("type", [
  /** Replaces an entry, or adds it at the end. */
  z.object({ type: z.literal("entry"), index: count, entry: entrySchema }),
  /** Adds to a text that has `from` characters so far. */
  z.object({
    type: z.literal("text"),
    index: count,
    field: z.enum(["text", "reasoning"]),
    from: count,
    text: z.string(),
  }),
  /** Replaces a call of an entry. */
  z.object({ type: z.literal("call"), index: count, call: callSchema }),
  /** Removes the entries from this number on. */
  z.object({ type: z.literal("cut"), length: count }),
  z.object({ type: z.literal("facts"), facts: turnFactsSchema }),
]);
export type TurnPatch = z.infer<typeof turnPatchSchema>;

/** Data of the event `turn-event`, topic `turn:ID`. */
export const turnEventSchema = z.object({
  turn: z.string(),
  /** One more than the change before it; a page that has missed one reads the turn again. */
  change: count,
  patches: z.array(turnPatchSchema),
});
export type TurnEvent = z.infer<typeof turnEventSchema>;

/** GET profiles/:p/sessions/:id/chat: what this server does in a session. */
export const sessionChatSchema = z.object({
  /** The turn that runs. */
  turn: liveTurnSchema.nullable(),
  /** Messages that are sent after it, in their order. */
  queue: z.array(z.object({ id: z.string(), text: z.string() })),
  /** Whether the queue waits for a person, because the last turn was stopped or failed. */
  isHeld: z.boolean(),
  /** Why the first message of the queue could not be sent. */
  problem: z.string().nullable(),
  mode: chatModeSchema,
  at: positionSchema,
});
export type SessionChat = z.infer<typeof sessionChatSchema>;

/** GET profiles/:p/chat: what a new message can be answered with. */
export const chatChoicesSchema = z.object({
  /** `provider:model` of a new session; null if no model is set up. */
  model: z.string().nullable(),
  /** Why there is no model. */
  problem: z.object({ message: z.string(), hint: z.string() }).nullable(),
  /** The models that can be chosen, as `provider:model`, favourites first. */
  models: z.array(z.string()),
  mode: chatModeSchema,
  /** Where commands run: local, docker… */
  environment: z.string(),
  /** The folder of a new session. */
  cwd: z.string(),
});
export type ChatChoices = z.infer<typeof chatChoicesSchema>;

/** POST turns/:id/steer */
export const steerSchema = z.strictObject({ text: z.string().min(1).max(65_536) });

/** POST profiles/:p/sessions/:id/queue: send the held messages, or take one of them back. */
export const queueChangeSchema = z.discriminatedUnion("change", [
  z.strictObject({ change: z.literal("send") }),
  z.strictObject({ change: z.literal("remove"), id: turnIdSchema }),
]);
export type QueueChange = z.infer<typeof queueChangeSchema>;

/** Data of the event `chat-change`: a turn of the session has begun or ended, or its queue has changed. */
export const chatChangeSchema = z.object({ profile: z.string(), session: z.string() });
export type ChatChange = z.infer<typeof chatChangeSchema>;
