import { z } from "zod";
import { PROFILES } from "./profiles.ts";

const API_MODES = ["chat_completions", "anthropic_messages", "codex_responses"] as const;
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable");
const address = z.url({ protocol: /^https?$/, error: "expected an http or https address" });
const tokens = z.int().min(1).nullable().default(null);

/** Section `model`: the model that answers, and how it is reached. */
export const modelOptions = z.strictObject({
  default: z.string().default("").meta({ description: "Model that answers" }),
  provider: z
    .string()
    .default("auto")
    .meta({
      description: `Provider of the model: a name below providers, or ${Object.keys(PROFILES).join(", ")}; auto finds one by the keys that are set`,
    }),
  base_url: address.or(z.literal("")).default("").meta({
    description: "Address of a compatible server; empty means the provider's own",
  }),
  api_key: z.string().default("").meta({
    description:
      "Key for base_url; without it, a server that is no provider's gets OPENAI_API_KEY, but never over plain http to another machine",
    secret: true,
  }),
  api_mode: z
    .enum(["auto", ...API_MODES])
    .default("auto")
    .meta({ description: "Wire format; auto follows the provider" }),
  context_length: tokens.meta({
    description: "Context window in tokens; unset means what the provider reports",
  }),
  max_tokens: tokens.meta({ description: "Longest answer in tokens; unset means the provider's own limit" }),
  aliases: z.record(z.string(), z.string()).default({}).meta({ description: "Short names for models" }),
});

/** Key `providers`: servers by name. Keys are named by their variable, never written here. */
export const providersOption = z
  .record(
    z.string(),
    z.strictObject({
      name: z.string().optional(),
      base_url: address.optional(),
      key_env: variableName.optional(),
      api_mode: z.enum(API_MODES).optional(),
      model: z.string().optional(),
      models: z
        .union([z.array(z.string()), z.record(z.string(), z.record(z.string(), z.unknown()))])
        .optional(),
      headers: z.record(z.string(), z.string()).optional(),
      request_overrides: z.record(z.string(), z.unknown()).optional(),
      ssl_ca_cert: z.string().optional(),
      ssl_verify: z.boolean().optional(),
      connect_timeout_seconds: z.number().positive().optional(),
      request_timeout_seconds: z.number().positive().optional(),
      stale_timeout_seconds: z.number().positive().optional(),
    }),
  )
  .default({})
  .meta({
    description:
      "Model servers by name: address, variable of the key, wire format, models, timeouts. The key of a provider goes to its own address and to the base_url that is set here for that provider, and nowhere else",
  });
