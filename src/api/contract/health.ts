import { z } from "zod";
import { dispatcherSchema } from "./overview.ts";
import { positionSchema } from "./position.ts";

const time = z.int();
const count = z.int().min(0);

/** Answer of `GET health/live`, which everybody can read. */
export const aliveSchema = z.strictObject({ status: z.literal("ok") });

/** One result of a check of `hermes doctor`. */
export const findingSchema = z.object({
  name: z.string(),
  status: z.enum(["ok", "note", "warn", "fail"]),
  detail: z.string(),
  /** What to do about it; empty if there is nothing to do. */
  fix: z.string(),
});
export type Finding = z.infer<typeof findingSchema>;

/** GET health?profile */
export const healthAnswerSchema = z.object({
  findings: z.array(findingSchema),
  dispatchers: z.array(dispatcherSchema),
  server: z.object({
    version: z.string(),
    node: z.string(),
    pid: z.int(),
    startedAt: time,
    memoryBytes: count,
    /** Open streams of events, and the topics that they follow. */
    streams: count,
    topics: count,
  }),
  at: positionSchema,
});
export type HealthAnswer = z.infer<typeof healthAnswerSchema>;

/** GET profiles */
export const profilesAnswerSchema = z.object({
  profiles: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      /** `provider:model` of a new session; null without one. */
      model: z.string().nullable(),
      isCurrent: z.boolean(),
    }),
  ),
  at: positionSchema,
});
export type ProfilesAnswer = z.infer<typeof profilesAnswerSchema>;
