import { z } from "zod";
import { RESET_MODES } from "./platforms/common-options.ts";
import { PLATFORM_NAMES, PLATFORMS, type PlatformName } from "./platforms/platform-registry.ts";

const names = z.array(z.string().trim().min(1)).default([]);

type PlatformShape = {
  [Name in PlatformName]: z.ZodPrefault<(typeof PLATFORMS)[Name]["options"]>;
};

/** Section `platforms`: one section for each messaging service. */
export const platformsOptions = z.strictObject(
  Object.fromEntries(
    PLATFORM_NAMES.map((name) => [name, (PLATFORMS[name].options as z.ZodObject).prefault({})]),
  ) as unknown as PlatformShape,
);

/** Section `gateway`: the process that answers on messaging platforms. */
export const gatewayOptions = z.strictObject({
  allowed_users: names.meta({
    description: "Ids of the people who are answered on every platform",
    env: "GATEWAY_ALLOWED_USERS",
  }),
  allow_all_users: z
    .boolean()
    .default(false)
    .meta({ description: "Whether everyone is answered on every platform", env: "GATEWAY_ALLOW_ALL_USERS" }),
  group_sessions_per_user: z
    .boolean()
    .default(true)
    .meta({ description: "Whether each person in a group has a session of their own" }),
  thread_sessions_per_user: z
    .boolean()
    .default(false)
    .meta({ description: "Whether each person in a thread has a session of their own" }),
  busy_input_mode: z.enum(["queue", "steer", "interrupt"]).default("queue").meta({
    description:
      "What happens with a message while a turn of its chat runs: queue (answered afterwards), steer (a note to the running turn), interrupt (the turn is stopped; a command that runs goes on in the background)",
  }),
  busy_ack_enabled: z
    .boolean()
    .default(true)
    .meta({ description: "Whether a message that has to wait is acknowledged, once per turn" }),
  drain_timeout_seconds: z.int().min(0).default(180).meta({
    description: "Seconds that running turns get to end before the gateway stops; 0 interrupts them at once",
  }),
  max_concurrent_turns: z.int().min(1).max(48).default(16).meta({
    description: "Turns of chats that run at the same time; further messages wait in their order",
  }),
  continue_within_seconds: z.int().min(0).default(3_600).meta({
    description:
      "Seconds that the gateway may have been down for a turn that its end cut off to be continued by itself; after that the person is asked",
  }),
  watchdog_seconds: z.int().min(0).default(60).meta({
    description:
      "Seconds that the process may be blocked before it is ended, so that a supervisor starts it again; 0 means never",
  }),
  reconnect_attention_seconds: z.int().min(0).default(7_200).meta({
    description:
      "Seconds without a connection after which a platform is reported as needing attention; 0 means never",
  }),
  channel_aliases: z
    .record(z.string().min(1), z.string().min(1))
    .default({})
    .meta({ description: "Names of your own for chats, as team: irc:#team" }),
  media_allow_dirs: names.meta({
    description:
      "More folders from which files may be sent to people; the working folder and temporary folders always may",
    env: "HERMES_MEDIA_ALLOW_DIRS",
  }),
  max_attachment_mb: z
    .int()
    .min(0)
    .default(20)
    .meta({ description: "Largest attachment of a message, in megabytes" }),
});

/** Section `streaming`: answers that grow while they are written. */
export const streamingOptions = z.strictObject({
  enabled: z.boolean().default(false).meta({
    description: "Whether an answer is shown while it is written, on platforms where messages can be edited",
  }),
  edit_interval: z
    .number()
    .min(0.2)
    .max(60)
    .default(0.8)
    .meta({ description: "Seconds between two edits of a message" }),
  buffer_threshold: z
    .int()
    .min(1)
    .default(24)
    .meta({ description: "Characters that an answer has before its beginning is shown" }),
});
export type StreamingOptions = z.infer<typeof streamingOptions>;

const resetMode = z.enum(RESET_MODES);
const resetModeOf = (chats: string) =>
  resetMode
    .nullable()
    .default(null)
    .meta({ description: `Overrides session_reset.mode in ${chats}` });

/** Section `session_reset`: when a chat gets a new session by itself. */
export const sessionResetOptions = z.strictObject({
  mode: resetMode.default("none").meta({
    description:
      "When the next message of a chat starts a new session: none (only /new does), idle (after idle_minutes), daily (at at_hour), both",
  }),
  dm: resetModeOf("direct chats"),
  group: resetModeOf("groups and channels"),
  thread: resetModeOf("threads"),
  idle_minutes: z
    .int()
    .min(1)
    .default(1_440)
    .meta({ description: "Minutes without a message or a running turn after which a session is idle" }),
  at_hour: z
    .int()
    .min(0)
    .max(23)
    .default(4)
    .meta({ description: "Hour at which a new day begins, local time" }),
  notify: z.boolean().default(true).meta({ description: "Whether the chat is told about its new session" }),
});
export type SessionResetOptions = z.infer<typeof sessionResetOptions>;
