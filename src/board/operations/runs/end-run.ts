import { headOf } from "../../../lib/text/shorten.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, only, type Steps } from "../../database/steps.ts";
import { RUN_OUTCOMES, type RunOutcome } from "../../task.ts";
import { cleanText } from "../../task-text.ts";
import type { Status } from "../../transitions.ts";
import { closeRun, type MoveOptions, moveTask, nextStatus } from "../tasks/move-task.ts";
import {
  findLockedTaskOf,
  findOpenRun,
  lockGraph,
  type RunRow,
  requireLockedTask,
  supersededError,
  type TaskRow,
} from "../views/rows.ts";
import { workerMayLiveUntil } from "./leaving-runs.ts";
import { FAILURE_LIMIT } from "./recompute.ts";

const ERROR_LENGTH = 500;
const OUTPUT_LENGTH = 20_000;

export interface RunEnding {
  readonly runId: number;
  readonly outcome: RunOutcome;
  readonly error?: string;
  /** Facts for the event, such as pid and exit code. */
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly failureLimit?: number;
  /** Delay before the task may be claimed again. */
  readonly retryAfterMs?: number;
  /** If the task is given up, delay before it gets one more attempt. */
  readonly secondChanceMs?: number;
  /** If the task is given up, only a person can unblock it. */
  readonly sticky?: boolean;
  /** Another attempt cannot succeed: give the task up now, regardless of its retries. */
  readonly terminal?: boolean;
  /** The exit of its processes is not confirmed: the task is not claimed while they may be alive. */
  readonly exitUnconfirmed?: boolean;
}

/** Ends a run without a result; its task is queued again or, after too many failures, given up. */
export function* endRun(
  transaction: BoardTransaction,
  ending: RunEnding,
): Steps<{ readonly status: Status }> {
  requireRight(transaction.caller, "end-run");
  yield* lockGraph(); // the next status depends on the parents
  const { task, open } = yield* requireOpenRun(ending.runId);
  const error = ending.error === undefined ? null : cleanText(headOf(ending.error, OUTPUT_LENGTH), "error");
  const isFailure = RUN_OUTCOMES[ending.outcome].failure;
  const failures = task.consecutive_failures + Number(isFailure);
  const limit =
    ending.terminal === true ? failures : (task.max_retries ?? ending.failureLimit ?? FAILURE_LIMIT);
  const { exitUnconfirmed = false } = ending;
  const failureColumns = isFailure
    ? {
        consecutive_failures: failures,
        last_failure_error: error === null ? ending.outcome : headOf(error, ERROR_LENGTH),
      }
    : {};
  const payload = { ...ending.detail, ...(error !== null && { error: headOf(error, ERROR_LENGTH) }) };
  if (isFailure && failures >= limit) {
    yield* closeRun(transaction, open, { outcome: "gave_up", error, exitUnconfirmed });
    transaction.recordEvent({ taskId: task.id, runId: open.id, kind: ending.outcome, payload });
    yield* moveTask(transaction, task, "give-up", "blocked", {
      event: "gave_up",
      runId: open.id,
      payload: {
        failures,
        effective_limit: limit,
        limit_source: ending.terminal ? "outcome" : task.max_retries === null ? "dispatcher" : "task",
        trigger_outcome: ending.outcome,
        ...(ending.sticky === true && { sticky: true }),
      },
      set: {
        ...failureColumns,
        block_sticky: Number(ending.sticky ?? false),
        not_before: yield* timeAfter(ending.secondChanceMs),
      },
    });
    return { status: "blocked" };
  }
  yield* closeRun(transaction, open, { outcome: ending.outcome, error, exitUnconfirmed });
  const status = yield* requeue(transaction, task, open, {
    event: ending.outcome,
    payload: { ...payload, ...(isFailure && { failures }) },
    set: {
      ...failureColumns,
      not_before: latestTime(yield* timeAfter(ending.retryAfterMs), yield* workerMayLiveUntil(task.id)),
    },
  });
  return { status };
}

function latestTime(...times: readonly (number | null)[]): number | null {
  return Math.max(...times.map((time) => time ?? 0)) || null;
}

function* timeAfter(ms: number | undefined): Steps<number | null> {
  if (ms === undefined || ms <= 0) return null;
  const due = "select hermes_now() + cast(:ms as bigint) as due";
  return (yield* only<{ due: number }>(due, { ms: Math.round(ms) })).due;
}

/** Loads an open run and locks its task; throws `run-superseded` when the run has ended. */
function* requireOpenRun(runId: number): Steps<{ task: TaskRow; open: RunRow }> {
  const task = yield* findLockedTaskOf(runId);
  if (task === undefined) throw supersededError(runId, "no task of this board");
  const open = yield* findOpenRun(task.id);
  if (open?.id !== runId) throw supersededError(runId, task.id);
  return { task, open };
}

/** Runs whose lease expired at least `graceMs` ago, oldest first. */
export function* listExpiredRuns(graceMs: number): Steps<readonly RunRow[]> {
  return yield* all<RunRow>(
    `select r.* from task t join run r on r.id = t.current_run_id
      where t.status = 'running' and r.lease_until <= hermes_now() - cast(:graceMs as bigint)
      order by r.lease_until, r.id`,
    { graceMs },
  );
}

/** Reclaims a task from a run whose lease has expired; returns false when the run was renewed or ended in the meantime. */
export function* reclaimExpired(
  transaction: BoardTransaction,
  runId: number,
  graceMs: number,
): Steps<boolean> {
  requireRight(transaction.caller, "end-run");
  yield* lockGraph();
  const task = yield* findLockedTaskOf(runId);
  if (task === undefined) return false;
  const expired = yield* first<RunRow>(
    `select * from run where id = :runId and ended_at is null
        and lease_until <= hermes_now() - cast(:graceMs as bigint) {lock}`,
    { runId, graceMs },
  );
  if (expired === undefined) return false;
  yield* closeRun(transaction, expired, { outcome: "reclaimed" });
  const { host_id, worker_pid, lease_until, last_heartbeat_at } = expired;
  const payload = { host_id, worker_pid, claim_expires: lease_until, last_heartbeat_at };
  yield* requeue(transaction, task, expired, { event: "reclaimed", payload });
  return true;
}

/** Ends the open run of a task at the request of an operator; returns false when the task has no open run. */
export function* releaseTask(transaction: BoardTransaction, taskId: string, reason: string): Steps<boolean> {
  requireRight(transaction.caller, "end-run");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  const open = yield* findOpenRun(taskId);
  if (open === undefined) return false;
  yield* closeRun(transaction, open, {
    outcome: "released",
    error: reason === "" ? null : cleanText(reason, "reason"),
    exitUnconfirmed: true,
  });
  yield* requeue(transaction, task, open, {
    event: "reclaimed",
    payload: { ...(reason !== "" && { reason }), worker_pid: open.worker_pid },
    set: { not_before: yield* workerMayLiveUntil(taskId) },
  });
  return true;
}

/** Returns the task of a closed run to the status from which it was claimed, or to `todo` while a parent is open. */
function* requeue(
  transaction: BoardTransaction,
  task: TaskRow,
  { id: runId, source_status }: RunRow,
  { payload, ...options }: MoveOptions,
): Steps<Status> {
  const to = yield* nextStatus({ ...task, phase: source_status === "review" ? "review" : "work" });
  const withStatus = { ...payload, retry_status: to };
  yield* moveTask(transaction, task, "reclaim", to, { ...options, runId, payload: withStatus });
  return to;
}
