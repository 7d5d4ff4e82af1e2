import { AppError } from "../../lib/errors.ts";
import { headOf } from "../../lib/shorten.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, first, run, type Steps } from "../database/steps.ts";
import { RUN_OUTCOMES, type RunOutcome } from "../task.ts";
import { cleanText, requireInteger } from "../task-text.ts";
import type { Status } from "../transitions.ts";
import {
  findOpenRun,
  lockGraph,
  type RunRow,
  requireTaskToChange,
  superseded,
  type TaskRow,
} from "./load.ts";
import { closeRun, moveTask, restingPlace } from "./move-task.ts";
import { quietFrom } from "./quiet-time.ts";
import { FAILURE_LIMIT } from "./recompute.ts";

const ERROR_LENGTH = 500;
const OUTPUT_LENGTH = 20_000;

export interface RunUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
  readonly costMicros?: number;
}

export interface RunEnding {
  readonly runId: number;
  readonly outcome: RunOutcome;
  readonly error?: string;
  /** Facts for the event, such as pid and exit code. */
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly failureLimit?: number;
  /** The task is not claimed again before this long. */
  readonly retryAfterMs?: number;
  /** When it is given up, it comes back for one attempt after this long. */
  readonly secondChanceMs?: number;
  /** When it is given up, only a person brings it back. */
  readonly sticky?: boolean;
  /** No attempt can help: it is given up now, whatever the task allows. */
  readonly terminal?: boolean;
  /** Nobody has seen its processes end: nobody claims the task while they may live. */
  readonly unseen?: boolean;
}

/** Keeps the lease of a run alive; throws `run-superseded` when it is over. */
export function* renewRun(
  change: Change,
  heartbeat?: { readonly note?: string },
): Steps<{ leaseUntil: number }> {
  const { caller } = change;
  requireRight(caller, "heartbeat");
  if (caller.kind !== "run") throw new AppError("board-action-denied", "Only a run has a lease to keep.");
  const { runId, taskId, token } = caller;
  const beat = heartbeat === undefined ? "" : ", last_heartbeat_at = hermes_now()";
  const row = yield* first<{ lease_until: number }>(
    `update run set lease_until = hermes_now() + lease_ms${beat}
      where id = :runId and task_id = :taskId and lease_token = :token and ended_at is null returning lease_until`,
    { runId, taskId, token },
  );
  if (row === undefined) throw superseded(runId, taskId);
  const note = heartbeat?.note?.trim() ?? "";
  // Without a note a heartbeat is a column, not one more row for ever.
  if (note !== "")
    change.tell({ taskId, runId, kind: "heartbeat", payload: { note: cleanText(note, "note", 2_000) } });
  return { leaseUntil: row.lease_until };
}

export interface WorkerFacts extends RunUsage {
  readonly workerPid?: number;
  readonly workerIdentity?: string;
  readonly supervisorPid?: number;
  readonly sessionId?: string;
  /** The way to its model, as `DispatchHost.routeOf` says it. */
  readonly route?: string;
}

/** Records what is known of a run's processes, or adds to what it has used; throws `run-superseded` when it is over. */
export function* describeRun(change: Change, facts: WorkerFacts): Steps<void> {
  const { caller } = change;
  requireRight(caller, "heartbeat");
  if (caller.kind !== "run") throw new AppError("board-action-denied", "Only a run describes itself.");
  const { runId, taskId, token } = caller;
  const used = (value = 0): number => requireInteger(value, "usage", 0, Number.MAX_SAFE_INTEGER);
  const updated = yield* run(
    `update run set worker_pid = coalesce(cast(:workerPid as bigint), worker_pid),
            worker_identity = coalesce(cast(:workerIdentity as text), worker_identity),
            supervisor_pid = coalesce(cast(:supervisorPid as bigint), supervisor_pid),
            session_id = coalesce(cast(:sessionId as text), session_id),
            input_tokens = input_tokens + :inputTokens, output_tokens = output_tokens + :outputTokens,
            cached_tokens = cached_tokens + :cachedTokens, cost_micros = cost_micros + :costMicros
      where id = :runId and task_id = :taskId and lease_token = :token and ended_at is null`,
    {
      runId,
      taskId,
      token,
      workerPid: facts.workerPid ?? null,
      workerIdentity: facts.workerIdentity ?? null,
      supervisorPid: facts.supervisorPid ?? null,
      sessionId: facts.sessionId ?? null,
      inputTokens: used(facts.inputTokens),
      outputTokens: used(facts.outputTokens),
      cachedTokens: used(facts.cachedTokens),
      costMicros: used(facts.costMicros),
    },
  );
  if (updated === 0) throw superseded(runId, taskId);
  if (facts.workerPid !== undefined)
    change.tell({
      taskId,
      runId,
      kind: "spawned",
      payload: { pid: facts.workerPid, ...(facts.route !== undefined && { route: facts.route }) },
    });
}

/** Ends a run that brought no result and sends its task back or, after too many failures, gives it up. */
export function* endRun(change: Change, ending: RunEnding): Steps<{ readonly status: Status }> {
  requireRight(change.caller, "end-run");
  yield* lockGraph(); // where the task goes depends on its parents
  const { task, open } = yield* requireOpenRun(ending.runId);
  const error = ending.error === undefined ? null : cleanText(headOf(ending.error, OUTPUT_LENGTH), "error");
  const isFailure = RUN_OUTCOMES[ending.outcome].failure;
  const failures = task.consecutive_failures + Number(isFailure);
  const limit =
    ending.terminal === true ? failures : (task.max_retries ?? ending.failureLimit ?? FAILURE_LIMIT);
  const { unseen = false } = ending;
  const counted = isFailure
    ? {
        consecutive_failures: failures,
        last_failure_error: error === null ? ending.outcome : headOf(error, ERROR_LENGTH),
      }
    : {};
  const payload = { ...ending.detail, ...(error !== null && { error: headOf(error, ERROR_LENGTH) }) };
  if (isFailure && failures >= limit) {
    yield* closeRun(change, open, { outcome: "gave_up", error, unseen });
    change.tell({ taskId: task.id, runId: open.id, kind: ending.outcome, payload });
    yield* moveTask(change, task, "give-up", "blocked", {
      event: "gave_up",
      runId: open.id,
      payload: {
        failures,
        effective_limit: limit,
        limit_source: limitSource(task, ending),
        trigger_outcome: ending.outcome,
        ...(ending.sticky === true && { sticky: true }),
      },
      set: {
        ...counted,
        block_sticky: Number(ending.sticky ?? false),
        not_before: yield* later(ending.secondChanceMs),
      },
    });
    return { status: "blocked" };
  }
  yield* closeRun(change, open, { outcome: ending.outcome, error, unseen });
  const to = yield* restingPlace({ ...task, phase: open.source_status === "review" ? "review" : "work" });
  yield* moveTask(change, task, "reclaim", to, {
    event: ending.outcome,
    runId: open.id,
    payload: { ...payload, ...(isFailure && { failures }), retry_status: to },
    set: { ...counted, not_before: latest(yield* later(ending.retryAfterMs), yield* quietFrom(task.id)) },
  });
  return { status: to };
}

function limitSource({ max_retries: own }: TaskRow, { terminal = false }: RunEnding): string {
  if (terminal) return "outcome";
  return own === null ? "dispatcher" : "task";
}

function latest(...times: readonly (number | null)[]): number | null {
  return Math.max(...times.map((time) => time ?? 0)) || null;
}

function* later(ms: number | undefined): Steps<number | null> {
  if (ms === undefined || ms <= 0) return null;
  const row = yield* first<{ due: number }>("select hermes_now() + cast(:ms as bigint) as due", {
    ms: Math.round(ms),
  });
  return row?.due ?? null;
}

/** The open run of that number and its locked task. */
function* requireOpenRun(runId: number): Steps<{ task: TaskRow; open: RunRow }> {
  const known = yield* first<{ task_id: string }>("select task_id from run where id = :runId", { runId });
  if (known === undefined) throw superseded(runId, "no task of this board");
  const task = yield* requireTaskToChange(known.task_id);
  const open = yield* findOpenRun(task.id);
  if (open?.id !== runId) throw superseded(runId, task.id);
  return { task, open };
}

/** Runs whose lease ended at least `graceMs` ago, oldest first. */
export function* expiredRuns(graceMs: number): Steps<readonly RunRow[]> {
  return yield* all<RunRow>(
    `select r.* from task t join run r on r.id = t.current_run_id
      where t.status = 'running' and r.lease_until <= hermes_now() - cast(:graceMs as bigint)
      order by r.lease_until, r.id`,
    { graceMs },
  );
}

/** Takes a task back from a run whose lease is over; false when it was renewed or ended meanwhile. */
export function* reclaimExpired(change: Change, runId: number, graceMs: number): Steps<boolean> {
  requireRight(change.caller, "end-run");
  yield* lockGraph();
  const found = yield* first<{ task_id: string }>("select task_id from run where id = :runId", { runId });
  if (found === undefined) return false;
  const task = yield* requireTaskToChange(found.task_id);
  const still = yield* first<RunRow>(
    `select * from run where id = :runId and ended_at is null
        and lease_until <= hermes_now() - cast(:graceMs as bigint) {lock}`,
    { runId, graceMs },
  );
  if (still === undefined) return false;
  yield* closeRun(change, still, { outcome: "reclaimed" });
  const to = yield* restingPlace({ ...task, phase: still.source_status === "review" ? "review" : "work" });
  const { host_id, worker_pid, lease_until, last_heartbeat_at } = still;
  yield* moveTask(change, task, "reclaim", to, {
    event: "reclaimed",
    runId,
    payload: { host_id, worker_pid, claim_expires: lease_until, last_heartbeat_at, retry_status: to },
  });
  return true;
}

/** An operator's end of whatever run a task has; false when it had none. */
export function* releaseTask(change: Change, taskId: string, reason: string): Steps<boolean> {
  requireRight(change.caller, "end-run");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  const open = yield* findOpenRun(taskId);
  if (open === undefined) return false;
  yield* closeRun(change, open, {
    outcome: "released",
    error: reason === "" ? null : cleanText(reason, "reason"),
    unseen: true,
  });
  const to = yield* restingPlace({ ...task, phase: open.source_status === "review" ? "review" : "work" });
  const payload = { ...(reason !== "" && { reason }), worker_pid: open.worker_pid, retry_status: to };
  yield* moveTask(change, task, "reclaim", to, {
    event: "reclaimed",
    runId: open.id,
    payload,
    set: { not_before: yield* quietFrom(taskId) },
  });
  return true;
}
