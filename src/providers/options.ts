import { z } from "zod";
import { POOL_STRATEGIES } from "./pool/choose-key.ts";
import { API_MODES, PROVIDER_PROFILES } from "./routes/profiles.ts";

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable");
const address = z
  .url({ protocol: /^https?$/, error: "expected an http or https address" })
  .regex(
    /^[A-Za-z]+:\/\/[^\s/?#@\\]+(?:[/?#]\S*)?$/,
    "expected an address without whitespace, user name or password; keys have separate settings",
  )
  .regex(
    /^(?!.*[?&](?:[^=&#]*(?:key|token|secret|password|passwd|signature|credential)|sig|auth|pwd)=)/i,
    "expected an address without a key in its query; use model.api_key, key_env or headers",
  );
const tokens = z.int().min(1).nullable().default(null);

/** Section `model`: the default model and how to reach it. */
export const modelOptions = z.strictObject({
  default: z.string().default("").meta({ description: "Default model" }),
  provider: z
    .string()
    .default("auto")
    .meta({
      description: `Provider of the model: a name below providers, or ${Object.keys(PROVIDER_PROFILES).join(", ")}; auto selects one by the keys that are set`,
    }),
  base_url: address.or(z.literal("")).default("").meta({
    description:
      "Address of a compatible server; empty means the provider's own. An address from a flag or an environment variable applies to the provider of the run, a stored address applies to model.provider",
  }),
  api_key: z.string().default("").meta({
    description:
      "API key for the base_url that is set alongside it (in the environment, or in .env and config.yaml). It is not sent to a different server that a flag or a variable names. Without it, the server of a known provider gets that provider's key, and any other server gets OPENAI_API_KEY, but never over plain http to another machine",
    secret: true,
  }),
  api_mode: z
    .enum(["auto", ...API_MODES])
    .default("auto")
    .meta({ description: "Wire format; auto follows the provider and the model" }),
  context_length: tokens.meta({
    description: "Context window in tokens; unset means the value that the provider reports",
  }),
  ollama_num_ctx: tokens.meta({
    description:
      "Context window in tokens that Ollama loads the model with (num_ctx), sent through Ollama's own API; unset means the server's own setting, and Ollama silently drops the beginning of a longer conversation. Applies to the provider ollama and to servers at port 11434",
  }),
  max_tokens: tokens.meta({
    description: "Maximum answer length in tokens; unset means the provider's own limit",
  }),
  aliases: z.record(z.string(), z.string()).default({}).meta({ description: "Short names for models" }),
  favourites: z
    .array(z.string())
    .default([])
    .meta({ description: "Models that `hermes model list` shows first, as PROVIDER:NAME" }),
});

/** Section `model_catalog`: the list of models and the data file about them. */
export const modelCatalogOptions = z.strictObject({
  url: address.or(z.literal("")).default("").meta({
    description:
      "Address of a newer data file of prices and windows, in the form of src/providers/catalogue/known-models.json; only `hermes model refresh` fetches it. Empty means none",
  }),
  ttl_hours: z
    .number()
    .min(0)
    .default(24)
    .meta({ description: "How long a server's list of models is used before it is fetched again" }),
});

/** Key `providers`: servers by name. They name the variable of a key, and never contain the key itself. */
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
      "Model servers by name: address, environment variable of the key, wire format, models, timeouts. A provider's key is sent only to its own address and to the base_url that is set here for that provider; over plain http to another machine it is sent only if key_env names it here. Headers, ssl_ca_cert, ssl_verify and request_overrides apply to that address only",
  });

/** Key `fallback_providers`: the models that answer when the configured one cannot, in their order. */
export const fallbackProvidersOption = z
  .array(
    z.strictObject({
      provider: z.string().min(1),
      model: z.string().min(1),
      base_url: address.optional(),
      key_env: variableName.optional(),
      context_length: z.int().min(1).optional(),
    }),
  )
  .default([])
  .meta({
    description:
      "Models that answer for the rest of a turn when the model of the session cannot: after the retries if its server is down, sends invalid answers or limits the rate of requests, at once if it refuses the key or does not know the model; never because a conversation is too long. Each has provider, model and, if needed, base_url, key_env and context_length. With a base_url of its own, an entry gets only the key that its key_env names. A session on a local server that is not the configured one never moves to a remote server",
  });

/** Key `credential_pool_strategies`: by provider. */
export const poolStrategiesOption = z.record(z.string(), z.enum(POOL_STRATEGIES)).default({}).meta({
  description:
    "By provider, which of several keys a new session uses: fill_first (the first one until it is used up), round_robin (the one that was not used for the longest time), least_used (the one used in the fewest turns) or random. A session keeps its key as long as the key works, because another key loses the prompt cache. Default: fill_first",
});
