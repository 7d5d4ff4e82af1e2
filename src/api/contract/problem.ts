import { z } from "zod";

/** The body of every error below `/api`: a code from src/lib/errors.ts, what happened, and what to do next. */
export const problemSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
});

export type Problem = z.infer<typeof problemSchema>;
