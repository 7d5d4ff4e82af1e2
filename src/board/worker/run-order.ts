import { z } from "zod";
import type { RunCaller } from "../caller.ts";

/** The complete order of a supervisor, sent over its standard input; the supervisor reads no settings itself. */
const runOrderSchema = z.strictObject({
  location: z.strictObject({ root: z.string(), databaseUrl: z.string(), slug: z.string() }),
  /** The identity of the board. */
  board: z.string(),
  run: z.strictObject({
    taskId: z.string(),
    runId: z.int(),
    profile: z.string(),
    token: z.string(),
    leaseMs: z.int().min(1),
    maxRuntimeSeconds: z.number().nullable(),
  }),
  worker: z.strictObject({
    argv: z.tuple([z.string()], z.string()),
    /** The whole environment. */
    env: z.record(z.string(), z.string()),
    cwd: z.string(),
  }),
  /** The route that `DispatchHost.routeOf` returns. */
  route: z.string().optional(),
  /** Needed to remove workspaces; without it, for instance from an older dispatcher, none is removed. */
  workspaces: z.strictObject({ home: z.string(), defaultWorkdir: z.string().nullable() }).optional(),
  log: z.strictObject({ path: z.string(), maxBytes: z.number(), backups: z.number() }),
  policy: z.strictObject({
    failureLimit: z.int().min(1),
    failureRetryMs: z.number().min(0),
    rateLimitCooldownMs: z.number().min(0),
  }),
});
/** Parses an order. A daemon of an older version calls the location of the board `place`. */
export function parseRunOrder(text: string): RunOrder {
  const { place, ...order } = JSON.parse(text) as Record<string, unknown>;
  return runOrderSchema.parse(place === undefined ? order : { ...order, location: place });
}

export type RunOrder = z.infer<typeof runOrderSchema>;

/** The answer of a supervisor to its order, as one line. */
export const orderAnswerSchema = z.union([
  z.strictObject({ ok: z.literal(true), supervisorPid: z.int(), workerPid: z.int() }),
  z.strictObject({
    ok: z.literal(false),
    error: z.string(),
    /** Whether the host is the cause and not the task. */
    isInfrastructure: z.boolean().default(false),
  }),
]);
export type OrderAnswer = z.output<typeof orderAnswerSchema>;

/** The first message of a supervisor to its worker, over a private pipe. */
export const workerOrderSchema = z.strictObject({
  location: runOrderSchema.shape.location,
  board: runOrderSchema.shape.board,
  run: runOrderSchema.shape.run,
});
export type WorkerOrder = z.infer<typeof workerOrderSchema>;

export function callerOf({ profile, taskId, runId, token }: RunOrder["run"]): RunCaller {
  return { kind: "run", profile, taskId, runId, token };
}
