import { z } from "zod";

/**
 * A position in the stream of events, `EPOCH.SEQUENCE`. A snapshot carries the position before it was read, as `at`; pages drop
 * events that are not newer. The epoch is random per process, and positions of different epochs cannot be compared.
 */
export const positionSchema = z.string().regex(/^[A-Za-z0-9_-]{1,32}\.\d{1,16}$/);

export type Position = z.infer<typeof positionSchema>;
