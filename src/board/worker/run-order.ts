import { z } from "zod";
import type { RunCaller } from "../caller.ts";

/** All that a supervisor is told, over its standard input; it looks nothing up by itself. */
export const runOrderSchema = z.strictObject({
  place: z.strictObject({ root: z.string(), databaseUrl: z.string(), slug: z.string() }),
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
  /** As `DispatchHost.routeOf` says it. */
  route: z.string().optional(),
  /** What removing a workspace needs; left out, e.g. by a dispatcher that is older than we are, none is removed. */
  workspaces: z.strictObject({ home: z.string(), defaultWorkdir: z.string().nullable() }).optional(),
  log: z.strictObject({ path: z.string(), maxBytes: z.number(), backups: z.number() }),
  policy: z.strictObject({
    failureLimit: z.int().min(1),
    failureRetryMs: z.number().min(0),
    rateLimitCooldownMs: z.number().min(0),
  }),
});
export type RunOrder = z.infer<typeof runOrderSchema>;

/** How a supervisor answers its order, as one line. */
export const orderAnswerSchema = z.union([
  z.strictObject({ ok: z.literal(true), supervisorPid: z.int(), workerPid: z.int() }),
  z.strictObject({
    ok: z.literal(false),
    error: z.string(),
    /** Whether it is the fault of the place and not of the task. */
    isInfrastructure: z.boolean().default(false),
  }),
]);
export type OrderAnswer = z.output<typeof orderAnswerSchema>;

/** What a supervisor tells its worker first, over a pipe that nobody else reads. */
export const workerOrderSchema = z.strictObject({
  place: runOrderSchema.shape.place,
  board: runOrderSchema.shape.board,
  run: runOrderSchema.shape.run,
});
export type WorkerOrder = z.infer<typeof workerOrderSchema>;

export function callerOf({ profile, taskId, runId, token }: RunOrder["run"]): RunCaller {
  return { kind: "run", profile, taskId, runId, token };
}
