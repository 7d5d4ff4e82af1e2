import { z } from "zod";
import { positionSchema } from "../position.ts";

const time = z.int();

/** One model of the catalogue. */
const listedModelSchema = z.object({
  name: z.string(),
  /** `PROVIDER:NAME`, which makes it the default. */
  reference: z.string(),
  contextTokens: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  /** US dollars per million tokens; null if unknown. */
  price: z.object({ input: z.number(), output: z.number() }).nullable(),
  vision: z.boolean().nullable(),
  reasoning: z.boolean().nullable(),
  isFavourite: z.boolean(),
  isDefault: z.boolean(),
});
export type ListedModel = z.infer<typeof listedModelSchema>;

/** GET profiles/:profile/models, and POST profiles/:profile/models/refresh */
export const modelsAnswerSchema = z.object({
  /** The model of new sessions; null without one. */
  current: z
    .object({
      model: z.string(),
      provider: z.string(),
      address: z.string(),
      /** The line, variable or flag that names the model. */
      place: z.string().nullable(),
      /** The variable or setting of its key. */
      keyFrom: z.string().nullable(),
    })
    .nullable(),
  /** Why there is no model. */
  problem: z.object({ text: z.string(), hint: z.string() }).nullable(),
  /** The flag or variable that overrides the model of config.yaml. */
  fixedBy: z.string().nullable(),
  providers: z.array(
    z.object({
      provider: z.string(),
      /** Whether its models can be used now: it has a key or needs none. */
      isUsable: z.boolean(),
      /** When its server sent the list; null for the list of well-known models. */
      listedAt: time.nullable(),
      problem: z.string().nullable(),
      models: z.array(listedModelSchema),
    }),
  ),
  at: positionSchema,
});
export type ModelsAnswer = z.infer<typeof modelsAnswerSchema>;

/** PUT profiles/:profile/model */
export const defaultModelSchema = z.strictObject({ model: z.string().trim().min(1).max(300) });

export const defaultModelSetSchema = z.object({ model: z.string(), provider: z.string() });
export type DefaultModelSet = z.infer<typeof defaultModelSetSchema>;

/** A key of a provider. Its value, or a part of it, is never sent. */
const providerKeySchema = z.object({
  /** The variable that contains it. */
  variable: z.string(),
  /** It is set in the environment of the server, so that it cannot be changed here. */
  isFixed: z.boolean(),
  state: z.enum(["ready", "cooling", "refused"]),
  coolingUntil: time.nullable(),
  usedAt: time.nullable(),
});
export type ProviderKey = z.infer<typeof providerKeySchema>;

/** GET profiles/:profile/keys */
export const keysAnswerSchema = z.object({
  providers: z.array(
    z.object({
      provider: z.string(),
      isCurrent: z.boolean(),
      keys: z.array(providerKeySchema),
      /** The variable for one more key; null if all are in use. */
      nextVariable: z.string().nullable(),
    }),
  ),
  /** model.api_key is set, and its server gets that key instead of those of its provider. */
  isOverridden: z.boolean(),
  at: positionSchema,
});
export type KeysAnswer = z.infer<typeof keysAnswerSchema>;

/** PUT profiles/:profile/keys/:name */
export const keyEditSchema = z.strictObject({
  value: z.string().min(1).max(20_000),
  /** Whether a stored key is replaced; otherwise a key that is set already is refused. */
  replace: z.boolean(),
});
export type KeyEdit = z.infer<typeof keyEditSchema>;

/** POST profiles/:profile/keys/:name/test: the result of one request with the key. */
export const keyTestSchema = z.object({
  works: z.boolean(),
  /** The model that was asked; null if no request was possible. */
  model: z.string().nullable(),
  /** Why it does not work, and what to do. */
  message: z.string().nullable(),
});
export type KeyTest = z.infer<typeof keyTestSchema>;
