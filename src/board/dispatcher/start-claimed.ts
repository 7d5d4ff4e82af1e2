import { AppError, messageOf } from "../../lib/errors.ts";
import type { Caller } from "../caller.ts";
import type { ClaimedTask } from "../operations/claim.ts";
import { endRun, renewRun } from "../operations/runs.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import type { StartResult } from "./host.ts";
import { runEndingOf } from "./run-ending.ts";
import { RENEW_EVERY_MS } from "./run-lease.ts";
import type { TickParts } from "./tick-parts.ts";

const CLEANUP_MS = 30_000;

export type Started =
  | { readonly kind: "started"; readonly workspace: string; readonly supervisorPid: number | undefined }
  | {
      readonly kind: "failed";
      readonly cause: "infrastructure" | "task";
      readonly error: string;
      readonly givenUp: boolean;
    };

/** Starts the worker of a claimed task, keeping its lease until the supervisor does; a failed start ends the run. */
export async function startClaimed(
  parts: TickParts,
  claimed: ClaimedTask,
  signal: AbortSignal,
): Promise<Started> {
  const { host } = parts;
  const stop = new AbortController();
  const renewing = keepLease(parts, claimed, AbortSignal.any([signal, stop.signal]));
  let result: StartResult | undefined;
  let thrown: unknown;
  try {
    result = await host.start(claimed, signal);
  } catch (error) {
    thrown = error;
  } finally {
    stop.abort();
    await renewing;
  }
  if (result?.kind === "started")
    return { kind: "started", workspace: result.workspace, supervisorPid: result.supervisorPid };
  // A dispatcher that is told to stop is not the task's fault.
  const failure: Failure = result ?? {
    cause: signal.aborted ? "infrastructure" : "spawn",
    error: messageOf(thrown),
  };
  // Who threw may have left something alive, and then the run is not over.
  if (result === undefined && !(await isGone(parts, claimed)))
    return { kind: "failed", cause: "infrastructure", error: failure.error, givenUp: false };
  return endFailed(parts, claimed, await forgiven(parts, claimed, failure));
}

type Failure = Pick<Extract<StartResult, { kind: "failed" }>, "cause" | "error">;

/** A profile that has vanished or broken since it was looked at is not the task's fault; the next pass names it. */
async function forgiven({ host }: TickParts, { run }: ClaimedTask, failure: Failure): Promise<Failure> {
  if (failure.cause !== "spawn" || run.profile === null) return failure;
  const runnable = await host.runnable(run.profile, AbortSignal.timeout(CLEANUP_MS));
  return runnable.ok ? failure : { cause: "infrastructure", error: runnable.reason };
}

async function isGone({ host }: TickParts, { run }: ClaimedTask): Promise<boolean> {
  return (await host.terminate(run, AbortSignal.timeout(CLEANUP_MS))) === "gone";
}

async function endFailed(
  { board, policy, random }: TickParts,
  { task, run }: ClaimedTask,
  { cause, error }: Failure,
): Promise<Started> {
  const isInfra = cause === "infrastructure";
  const text = cause === "workspace" ? `workspace: ${error}` : error;
  const ending = runEndingOf(
    {
      outcome: isInfra ? "infra_killed" : "spawn_failed",
      ...(isInfra && { failureKind: "infra" }),
      error: text,
    },
    { runId: run.id, failures: task.consecutive_failures },
    policy,
    random,
  );
  // Not the signal of the pass: a claim must not stay behind because the dispatcher is asked to stop.
  const status = await board
    .write(DISPATCHER, (change) => endRun(change, ending), AbortSignal.timeout(CLEANUP_MS))
    .then((ended) => ended.status, ignoreSuperseded);
  return {
    kind: "failed",
    cause: isInfra ? "infrastructure" : "task",
    error: text,
    givenUp: status === "blocked",
  };
}

async function keepLease(
  { board, clock }: TickParts,
  { task, run, token }: ClaimedTask,
  signal: AbortSignal,
): Promise<void> {
  const profile = run.profile ?? "";
  const caller: Caller = { kind: "run", profile, taskId: task.id, runId: run.id, token };
  while (true) {
    try {
      await clock.sleep(RENEW_EVERY_MS, signal);
      await board.write(caller, (change) => renewRun(change), signal);
    } catch (error) {
      // A lease that cannot be kept ends by itself, and the supervisor finds out with its first word.
      if (signal.aborted || (error instanceof AppError && error.code === "run-superseded")) return;
    }
  }
}

function ignoreSuperseded(error: unknown): undefined {
  if (error instanceof AppError && error.code === "run-superseded") return undefined;
  throw error;
}
