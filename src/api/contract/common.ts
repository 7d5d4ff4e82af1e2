import { z } from "zod";

/** What a signed-in browser may do. `work`: board, sessions, chat. `shell`: commands and sandboxes. `admin`: settings, keys, profiles. */
export const DASHBOARD_SCOPES = ["read", "work", "shell", "admin"] as const;

export type DashboardScope = (typeof DASHBOARD_SCOPES)[number];

/** The body of every error below `/api`: a code of the table of errors, what happened, and what to do next. */
export const problemSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
});

export type Problem = z.infer<typeof problemSchema>;

/**
 * A position in the stream of events, `EPOCH.SEQUENCE`. A snapshot carries the one before it was read, as `at`: a page drops
 * events that are not newer. The epoch is random per process; positions of different epochs cannot be compared.
 */
export const positionSchema = z.string().regex(/^[A-Za-z0-9_-]{1,32}\.\d{1,16}$/);

export type Position = z.infer<typeof positionSchema>;

/** Answer of `GET health/live`, which says nothing else to strangers. */
export const aliveSchema = z.strictObject({ status: z.literal("ok") });
