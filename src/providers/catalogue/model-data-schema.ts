import { z } from "zod";

const tokens = z.int().min(1).max(1_000_000_000);
const dollarsPerMillionTokens = z.number().min(0).max(100_000);

/** The form of known-models.json and of a newer file that `hermes model refresh` fetches. */
export const modelDataSchema = z.object({
  schema: z.literal(1),
  /** The day on which the facts were collected. */
  date: z.iso.date(),
  providers: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        context: tokens,
        output: tokens.optional(),
        price: z
          .object({
            input: dollarsPerMillionTokens,
            output: dollarsPerMillionTokens,
            cache_read: dollarsPerMillionTokens,
            cache_write: dollarsPerMillionTokens,
          })
          .optional(),
        vision: z.boolean().optional(),
        reasoning: z.boolean().optional(),
      }),
    ),
  ),
});
