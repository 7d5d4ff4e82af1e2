import { AppError } from "../../../lib/errors.ts";
import { headOf } from "../../../lib/text/shorten.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { type Right, requireOwnTask, requireRight } from "../../caller.ts";
import { all, only, type Steps } from "../../database/steps.ts";
import { BLOCK_KINDS, type BlockKind, type Task } from "../../task.ts";
import { cleanText, invalidInput, parseAssignee, requireText, toJson } from "../../task-text.ts";
import { describeStatus, type Move, type Status } from "../../transitions.ts";
import { artifactsIn } from "../../workspaces/declared-files.ts";
import { addReasonComment } from "../records/comments.ts";
import { workerMayLiveUntil } from "../runs/leaving-runs.ts";
import { promoteWaitingChildren } from "../runs/recompute.ts";
import {
  findOpenRun,
  lockGraph,
  type RunRow,
  requireLockedTask,
  requireParentsDone,
  supersededError,
  type TaskRow,
  toTask,
} from "../views/rows.ts";
import { type Columns, closeRun, moveTask, NOW, nextStatus, type RunEnd, requireMove } from "./move-task.ts";

const BLOCK_LOOP = 2;
const LINE_LENGTH = 400;

export interface Handoff {
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Completion extends Handoff {
  /** A short result that is stored on the task itself. */
  readonly result?: string;
  /** Refuses the completion when another run is open. */
  readonly expectedRunId?: number;
  /** Tasks that the worker claims to have created. */
  readonly createdTasks?: readonly string[];
  /** Refuses the completion unless the task is under review. */
  readonly approval?: boolean;
}

/** Completes a task with its result and unblocks its children. */
export function* completeTask(
  transaction: BoardTransaction,
  taskId: string,
  completion: Completion,
): Steps<Task> {
  const { task, open } = yield* beginMove(
    transaction,
    taskId,
    "complete",
    "complete",
    completion.expectedRunId,
  );
  if (completion.approval === true) requireReview(task, open);
  yield* requireParentsDone(taskId);
  const end = handoffOf(completion, "completed");
  const result = completion.result === undefined ? null : cleanText(completion.result, "result");
  if (transaction.caller.kind === "run" && end.summary === null && result === null)
    throw invalidInput("To complete a task, give a summary or a result.");
  const verified = yield* verifyCreated(transaction, task, completion.createdTasks ?? []);
  const artifacts = artifactsIn(completion.metadata);
  const runId = yield* recordHandoff(transaction, task, open, end);
  const moved = yield* moveTask(transaction, task, "complete", "done", {
    event: "completed",
    runId,
    payload: {
      result_len: result?.length ?? 0,
      summary: firstLine(end.summary ?? result),
      ...(verified.length > 0 && { verified_cards: verified }),
      ...(artifacts.length > 0 && { artifacts: artifacts.map(({ attachment }) => attachment) }),
    },
    set: {
      result: result ?? task.result,
      completed_at: NOW,
      consecutive_failures: 0,
      last_failure_error: null,
      block_kind: null,
      block_recurrences: 0,
      block_sticky: 0,
      not_before: null,
      phase: "work",
      implementer: isUnderReview(task, open)
        ? task.implementer
        : (task.implementer ?? open?.profile ?? task.assignee),
    },
  });
  yield* promoteWaitingChildren(transaction, taskId);
  return toTask(moved);
}

/** Blocks a task. A second block of the same kind without an answer moves the task to triage, unless a person blocks it. */
export function* blockTask(
  transaction: BoardTransaction,
  taskId: string,
  reason: string,
  kind?: BlockKind,
): Steps<Task> {
  if (kind !== undefined && !BLOCK_KINDS.includes(kind))
    throw invalidInput(`The kind of block must be one of ${BLOCK_KINDS.join(", ")}.`);
  const why = requireText(reason, "reason");
  const { task, open } = yield* beginMove(transaction, taskId, "block", "block");
  const source_status = open?.source_status ?? task.status;
  const runId = yield* closeOpenRun(transaction, open, { outcome: "blocked", summary: why });
  yield* addReasonComment(transaction, taskId, why);
  const phase = open?.source_status === "review" ? "review" : task.phase;
  const notBefore = open === undefined ? {} : { not_before: yield* workerMayLiveUntil(taskId) };
  const move = (to: Status, event: string, payload: Readonly<Record<string, unknown>>, set: Columns) =>
    moveTask(transaction, task, "block", to, {
      event,
      runId,
      payload: { reason: why, ...payload },
      set: { phase, ...notBefore, ...set },
    });
  if (kind === "dependency") return toTask(yield* move("todo", "dependency_wait", { source_status }, {}));
  const isRepeated = task.block_recurrences > 0 && task.block_kind === (kind ?? null);
  const recurrences =
    transaction.caller.kind === "operator" ? 0 : isRepeated ? task.block_recurrences + 1 : 1;
  const payload = { kind: kind ?? null, recurrences };
  const set = { block_kind: kind ?? null, block_recurrences: recurrences };
  return toTask(
    recurrences >= BLOCK_LOOP
      ? yield* move(
          "triage",
          "block_loop_detected",
          { ...payload, limit: BLOCK_LOOP },
          { ...set, triage_reason: "block_loop" },
        )
      : yield* move("blocked", "blocked", { ...payload, source_status }, { ...set, block_sticky: 1 }),
  );
}

/** Schedules a task: it resumes automatically at the given time. */
export function* scheduleTask(
  transaction: BoardTransaction,
  taskId: string,
  at: number,
  reason = "",
): Steps<Task> {
  if (!Number.isSafeInteger(at) || at < 0)
    throw invalidInput("The time must be a number of milliseconds since 1970.");
  const why = cleanText(reason, "reason").trim();
  const { task, open } = yield* beginMove(transaction, taskId, "schedule", "schedule");
  const runId = yield* closeOpenRun(transaction, open, {
    outcome: "scheduled",
    summary: why === "" ? null : why,
  });
  if (why !== "") yield* addReasonComment(transaction, taskId, why);
  const set = {
    scheduled_at: at,
    phase: open?.source_status === "review" ? "review" : task.phase,
    ...(open !== undefined && { not_before: yield* workerMayLiveUntil(taskId) }),
  };
  const payload = { reason: why, scheduled_at: at };
  return toTask(
    yield* moveTask(transaction, task, "schedule", "scheduled", { event: "scheduled", runId, payload, set }),
  );
}

/** Ends the work and assigns the task to a reviewer. */
export function* requestReview(
  transaction: BoardTransaction,
  taskId: string,
  reviewer: string,
  handoff: Handoff,
): Steps<Task> {
  const name = parseAssignee(reviewer);
  if (name === null) throw invalidInput("A review needs a reviewer.");
  const { task, open } = yield* beginMove(transaction, taskId, "review", "request-review");
  const implementer = open?.profile ?? task.assignee;
  if (implementer === name)
    throw invalidInput(`${name} did the work and cannot review it. Choose another reviewer.`);
  const end = handoffOf(handoff, "review_requested");
  const artifacts = artifactsIn(handoff.metadata);
  const runId = yield* recordHandoff(transaction, task, open, end);
  const moved = yield* moveTask(transaction, task, "request-review", "review", {
    event: "review_requested",
    runId,
    payload: {
      summary: firstLine(end.summary),
      implementer,
      reviewer: name,
      ...(artifacts.length > 0 && { artifacts: artifacts.map(({ attachment }) => attachment) }),
    },
    set: {
      phase: "review",
      implementer,
      reviewer: name,
      assignee: name,
      not_before: yield* workerMayLiveUntil(taskId),
    },
  });
  return toTask(moved);
}

/** Returns the work to the implementer. Called by the run of the reviewer, or by a person before or during that run. */
export function* requestChanges(transaction: BoardTransaction, taskId: string, reason: string): Steps<Task> {
  const why = requireText(reason, "reason");
  const { task, open } = yield* beginMove(transaction, taskId, "review", "request-changes");
  requireReview(task, open);
  const runId = yield* closeOpenRun(transaction, open, { outcome: "changes_requested", summary: why });
  yield* addReasonComment(transaction, taskId, why);
  return yield* sendBack(transaction, task, "request-changes", "changes_requested", runId, why);
}

/** Takes a task out of review and returns it to the implementer. */
export function* reopenReview(transaction: BoardTransaction, taskId: string, reason = ""): Steps<Task> {
  const { task } = yield* beginMove(transaction, taskId, "reopen", "reopen-review");
  return yield* sendBack(transaction, task, "reopen-review", "review_reopened", null, reason);
}

function requireReview(task: TaskRow, open: RunRow | undefined): void {
  if (isUnderReview(task, open)) return;
  throw new AppError("task-move-refused", `${task.id} is ${describeStatus(task.status)}, not under review.`);
}

function isUnderReview(task: TaskRow, open: RunRow | undefined): boolean {
  return task.status === "review" || open?.source_status === "review";
}

function* sendBack(
  transaction: BoardTransaction,
  task: TaskRow,
  move: Move,
  event: string,
  runId: number | null,
  reason: string,
): Steps<Task> {
  const to = yield* nextStatus({ ...task, phase: "work" });
  const moved = yield* moveTask(transaction, task, move, to, {
    event,
    runId,
    payload: { reason, implementer: task.implementer, reviewer: task.reviewer, status: to },
    set: {
      phase: "work",
      // Without an implementer, the task was unassigned. The reviewer must not become the implementer.
      assignee: task.implementer ?? (task.assignee === task.reviewer ? null : task.assignee),
      not_before: yield* workerMayLiveUntil(task.id),
    },
  });
  return toTask(moved);
}

/** Locks the graph and the task, and throws unless the caller may make this move now. */
function* beginMove(
  transaction: BoardTransaction,
  taskId: string,
  right: Right,
  move: Move,
  expectedRunId?: number,
): Steps<{ task: TaskRow; open: RunRow | undefined }> {
  const { caller } = transaction;
  requireRight(caller, right);
  requireOwnTask(caller, taskId);
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  const open = yield* findOpenRun(taskId);
  if (caller.kind === "run" && (open?.id !== caller.runId || open.lease_token !== caller.token))
    throw supersededError(caller.runId, taskId);
  requireMove(move, task);
  if (expectedRunId !== undefined && open?.id !== expectedRunId) throw supersededError(expectedRunId, taskId);
  return { task, open };
}

function handoffOf({ summary, metadata }: Handoff, outcome: string) {
  const text = summary === undefined ? "" : cleanText(summary, "summary").trim();
  return { outcome, summary: text === "" ? null : text, metadata: toJson(metadata, "metadata") };
}

/** Closes the open run with the handoff; without an open run, inserts an already ended run that stores the handoff. */
function* recordHandoff(
  transaction: BoardTransaction,
  task: TaskRow,
  open: RunRow | undefined,
  end: RunEnd,
): Steps<number | null> {
  if (open !== undefined) return yield* closeOpenRun(transaction, open, end);
  const { outcome, summary = null, metadata = null } = end;
  if (summary === null && metadata === null) return null;
  const row = yield* only<{ id: number }>(
    `insert into run (id, task_id, profile, source_status, lease_token, lease_ms, lease_until, started_at, ended_at, outcome,
                      summary, metadata)
     values ({nextrun}, :taskId, :profile, :source, :token, 0, 0, hermes_now(), hermes_now(), :outcome, :summary, :metadata)
     returning id`,
    {
      taskId: task.id,
      profile: task.assignee,
      source: task.status === "review" ? "review" : "ready",
      token: `none-${crypto.randomUUID()}`,
      outcome,
      summary,
      metadata,
    },
  );
  return row.id;
}

/** Closes the open run, if there is one. */
function* closeOpenRun(
  transaction: BoardTransaction,
  open: RunRow | undefined,
  end: RunEnd,
): Steps<number | null> {
  if (open === undefined) return null;
  // Even a worker that ends its own run stays alive for a short time.
  yield* closeRun(transaction, open, { ...end, exitUnconfirmed: true });
  return open.id;
}

/** Throws unless each task was created by the caller, originates from the task, or is a child of the task. */
function* verifyCreated(
  transaction: BoardTransaction,
  task: TaskRow,
  ids: readonly string[],
): Steps<readonly string[]> {
  if (ids.length === 0) return [];
  const rows = yield* all<{ id: string }>(
    `select id from task where id {among:ids} and
       (created_by = :author or origin_task_id = :taskId
        or id in (select child_id from link where parent_id = :taskId))`,
    { ids: JSON.stringify(ids), author: transaction.actor, taskId: task.id },
  );
  const known = new Set(rows.map(({ id }) => id));
  const unverified = ids.filter((id) => !known.has(id));
  if (unverified.length > 0) throw invalidInput(`You did not create these tasks: ${unverified.join(", ")}`);
  return ids;
}

function firstLine(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : headOf(text.split("\n", 1)[0] ?? "", LINE_LENGTH);
}
