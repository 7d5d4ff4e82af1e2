import { AppError, messageOf } from "../../lib/errors.ts";
import type { Caller } from "../caller.ts";
import type { ClaimedTask } from "../operations/runs/claim.ts";
import { endRun } from "../operations/runs/end-run.ts";
import { renewRun } from "../operations/runs/renew-run.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import type { StartResult } from "./dispatch-host.ts";
import type { PassParts } from "./pass-parts.ts";
import { runEndingOf, type WorkerExit } from "./rules/run-ending.ts";
import { RENEW_EVERY_MS } from "./rules/run-lease.ts";

const CLEANUP_MS = 30_000;

type FailedStart = Extract<StartResult, { kind: "failed" }>;
export type StartOutcome = Exclude<StartResult, FailedStart> | (FailedStart & { readonly givenUp: boolean });

/** Starts the worker of a claimed task; renews the lease until the supervisor does. A failed start ends the run. */
export async function startClaimed(
  parts: PassParts,
  claimed: ClaimedTask,
  signal: AbortSignal,
): Promise<StartOutcome> {
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
  if (result?.kind === "started") return result;
  // A stop of the dispatcher does not count against the task.
  const cause = signal.aborted ? "infrastructure" : "spawn";
  const failure: FailedStart = result ?? { kind: "failed", cause, error: messageOf(thrown) };
  // A start that threw may have left processes alive; the run then stays open.
  const cleanup = AbortSignal.timeout(CLEANUP_MS);
  if (result === undefined && (await host.terminate(claimed.run, cleanup)) !== "gone")
    return { ...failure, cause: "infrastructure", givenUp: false };
  return endFailed(parts, claimed, await excuseBrokenProfile(parts, claimed, failure));
}

/** A profile that was removed or broken since it was checked does not count against the task; the next pass reports it. */
async function excuseBrokenProfile(
  { host }: PassParts,
  { run }: ClaimedTask,
  failure: FailedStart,
): Promise<FailedStart> {
  if (failure.cause !== "spawn" || run.profile === null) return failure;
  const profileCheck = await host.runnable(run.profile, AbortSignal.timeout(CLEANUP_MS));
  return profileCheck.ok ? failure : { ...failure, cause: "infrastructure", error: profileCheck.reason };
}

async function endFailed(
  { board, policy, random }: PassParts,
  { task, run }: ClaimedTask,
  { cause, error }: FailedStart,
): Promise<StartOutcome> {
  const isInfra = cause === "infrastructure";
  const text = cause === "workspace" ? `workspace: ${error}` : error;
  const exit: WorkerExit = isInfra
    ? { outcome: "infra_killed", failureKind: "infra", error: text }
    : { outcome: "spawn_failed", error: text };
  const history = { runId: run.id, failures: task.consecutive_failures };
  const ending = runEndingOf(exit, history, policy, random);
  // Not the signal of the pass: the run must be ended even if the dispatcher is asked to stop.
  const status = await board
    .write(DISPATCHER, (transaction) => endRun(transaction, ending), AbortSignal.timeout(CLEANUP_MS))
    .then((ended) => ended.status, ignoreSuperseded);
  return { kind: "failed", cause, error: text, givenUp: status === "blocked" };
}

async function keepLease(
  { board, clock }: PassParts,
  { task, run, token }: ClaimedTask,
  signal: AbortSignal,
): Promise<void> {
  const profile = run.profile ?? "";
  const caller: Caller = { kind: "run", profile, taskId: task.id, runId: run.id, token };
  while (true) {
    try {
      await clock.sleep(RENEW_EVERY_MS, signal);
      await board.write(caller, (transaction) => renewRun(transaction), signal);
    } catch (error) {
      // A lease that cannot be renewed expires by itself; the first renewal of the supervisor notices it.
      if (signal.aborted || (error instanceof AppError && error.code === "run-superseded")) return;
    }
  }
}

function ignoreSuperseded(error: unknown): undefined {
  if (error instanceof AppError && error.code === "run-superseded") return undefined;
  throw error;
}
