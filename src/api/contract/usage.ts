import { z } from "zod";
import { totalsSchema } from "./sessions.ts";

/** GET profiles/:p/usage?from&until&by=day|model */
export const usageQuerySchema = z.strictObject({
  from: z.coerce.number().int().optional(),
  until: z.coerce.number().int().optional(),
  by: z.enum(["day", "model"]).default("day"),
});
export type UsageQuery = z.input<typeof usageQuerySchema>;

export const usageAnswerSchema = z.object({
  /** By local day of the server (`2026-11-19`) without gaps, oldest first; or by model, the most expensive first. */
  rows: z.array(totalsSchema.extend({ name: z.string() })),
  total: totalsSchema,
  from: z.int(),
  until: z.int(),
});
export type UsageAnswer = z.infer<typeof usageAnswerSchema>;
