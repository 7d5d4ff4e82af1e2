import { z } from "zod";
import { platformOptions } from "../common-options.ts";

const route = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, "expected lower-case letters, digits, - and _"),
  verify: z.enum(["github", "gitlab", "standard", "generic", "none"]),
  /** The variable of the route's own secret, instead of WEBHOOK_SECRET. */
  secret_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable")
    .optional(),
  enabled: z.boolean().default(true),
  /** The events that are accepted; an empty list means all. */
  events: z.array(z.string().min(1)).default([]),
  prompt: z.string().min(1).optional(),
  toolsets: z.array(z.string().min(1)).default(["todo"]),
  /** Where the answer goes: a chat on another platform. */
  deliver: z
    .strictObject({
      platform: z.string().min(1),
      chat: z.string().min(1),
      thread: z.string().min(1).optional(),
    })
    .optional(),
  /** The prompt itself goes to `deliver`, without a turn. */
  deliver_only: z.boolean().default(false),
  /** Where the answer is posted, signed as in Standard Webhooks. */
  answer_url: z.url({ protocol: /^https?$/, error: "expected an http or https address" }).optional(),
});
export type WebhookRoute = z.infer<typeof route>;

/** Section `platforms.webhook`: a listener that other services post events to. */
export const webhookOptions = platformOptions("WEBHOOK", {
  allow_all_users: z.boolean().default(true).meta({
    description: "Whether every route is answered; each request has proved itself by its signature",
    env: "WEBHOOK_ALLOW_ALL_USERS",
  }),
  host: z.string().trim().min(1).default("127.0.0.1").meta({
    description: "Address that the listener is bound to",
    env: "WEBHOOK_HOST",
  }),
  port: z.int().min(1).max(65_535).default(8_644).meta({ description: "Its port", env: "WEBHOOK_PORT" }),
  secret: z.string().default("").meta({
    description: "Secret of the routes that name no variable of their own",
    env: "WEBHOOK_SECRET",
    secret: true,
  }),
  routes: z.array(route).default([]).meta({
    description:
      "What is listened to, each at /webhooks/NAME: how it is verified (github, gitlab, standard, generic; none only on a loopback address), the variable of its secret (secret_env), which events, the prompt with {fields} of the payload, the toolsets of its turns, and where the answer goes (deliver, answer_url)",
  }),
  rate_limit_per_minute: z.int().min(1).default(30).meta({
    description: "Verified requests of one route that are accepted in a minute",
  }),
  max_body_bytes: z.int().min(1).default(1_048_576).meta({ description: "Largest body of a request" }),
});
export type WebhookOptions = z.infer<typeof webhookOptions>;
