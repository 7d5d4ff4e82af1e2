import { AppError } from "../../lib/errors.ts";
import { headOf } from "../../lib/shorten.ts";
import { type Right, requireOwnTask, requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, only, type Steps } from "../database/steps.ts";
import { BLOCK_KINDS, type BlockKind, type Task } from "../task.ts";
import { cleanText, invalid, parseAssignee, requireText, toJson } from "../task-text.ts";
import type { Move, Status } from "../transitions.ts";
import { artifactsIn } from "../workspaces/declared-files.ts";
import {
  findOpenRun,
  lockGraph,
  openParents,
  type RunRow,
  requireTask,
  requireTaskToChange,
  superseded,
  type TaskRow,
  toTask,
} from "./load.ts";
import { closeRun, moveTask, NOW, type RunEnd, requireMove, restingPlace } from "./move-task.ts";
import { addReason } from "./notes.ts";
import { quietFrom } from "./quiet-time.ts";
import { recomputeChildren } from "./recompute.ts";

const BLOCK_LOOP = 2;
const LINE_LENGTH = 400;

export interface Handoff {
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Completion extends Handoff {
  /** A short line on the task itself. */
  readonly result?: string;
  /** Refused when another run is open than the one that was looked at. */
  readonly expectedRunId?: number;
  /** Tasks that the worker says it has made. */
  readonly createdTasks?: readonly string[];
  /** Refused unless the task is under review. */
  readonly approval?: boolean;
}

/** Ends a task with its result; its children go on. */
export function* completeTask(change: Change, taskId: string, completion: Completion): Steps<Task> {
  const { task, open } = yield* begin(change, taskId, "complete", "complete", completion.expectedRunId);
  if (completion.approval === true) requireReview(task, open);
  const parents = yield* openParents(taskId);
  if (parents.length > 0)
    throw new AppError("task-parents-open", `${taskId} still waits for ${parents.join(", ")}.`);
  const end = handoffOf(completion, "completed");
  const result = completion.result === undefined ? null : cleanText(completion.result, "result");
  if (change.caller.kind === "run" && end.summary === null && result === null)
    throw invalid("A worker completes its task with a summary or a result.");
  const verified = yield* verifyCreated(change, task, completion.createdTasks ?? []);
  const artifacts = artifactsIn(completion.metadata);
  const runId = yield* handOver(change, task, open, end);
  yield* moveTask(change, task, "complete", "done", {
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
      implementer: task.implementer ?? open?.profile ?? task.assignee,
    },
  });
  yield* recomputeChildren(change, taskId);
  return toTask(yield* requireTask(taskId));
}

/**
 * Sets a task aside with a reason. The same kind again without an answer in between is a matter for triage, unless a person
 * does it, who has seen the task.
 */
export function* blockTask(change: Change, taskId: string, reason: string, kind?: BlockKind): Steps<Task> {
  if (kind !== undefined && !BLOCK_KINDS.includes(kind))
    throw invalid(`The kind of block must be one of ${BLOCK_KINDS.join(", ")}.`);
  const why = requireText(reason, "reason");
  const { task, open } = yield* begin(change, taskId, "block", "block");
  const source_status = open?.source_status ?? task.status;
  const runId = yield* endOpen(change, open, { outcome: "blocked", summary: why });
  yield* addReason(change, taskId, why);
  const phase = open?.source_status === "review" ? "review" : task.phase;
  const quiet = open === undefined ? {} : { not_before: yield* quietFrom(taskId) };
  if (kind === "dependency") {
    yield* moveTask(change, task, "block", "todo", {
      event: "dependency_wait",
      runId,
      payload: { reason: why, source_status },
      set: { phase, ...quiet },
    });
    return toTask(yield* requireTask(taskId));
  }
  const isAgain = task.block_recurrences > 0 && task.block_kind === (kind ?? null);
  const recurrences = change.caller.kind === "operator" ? 0 : isAgain ? task.block_recurrences + 1 : 1;
  const set = { block_kind: kind ?? null, block_recurrences: recurrences, phase, ...quiet };
  if (recurrences >= BLOCK_LOOP) {
    yield* moveTask(change, task, "block", "triage", {
      event: "block_loop_detected",
      runId,
      payload: { reason: why, kind: kind ?? null, recurrences, limit: BLOCK_LOOP },
      set: { ...set, triage_reason: "block_loop" },
    });
  } else {
    yield* moveTask(change, task, "block", "blocked", {
      event: "blocked",
      runId,
      payload: { reason: why, kind: kind ?? null, recurrences, source_status },
      set: { ...set, block_sticky: 1 },
    });
  }
  return toTask(yield* requireTask(taskId));
}

/** Waits for a time, at which it comes back by itself. */
export function* scheduleTask(change: Change, taskId: string, at: number, reason = ""): Steps<Task> {
  if (!Number.isSafeInteger(at) || at < 0) throw invalid("The time must be in milliseconds since 1970.");
  const why = cleanText(reason, "reason").trim();
  const { task, open } = yield* begin(change, taskId, "schedule", "schedule");
  const runId = yield* endOpen(change, open, { outcome: "scheduled", summary: why === "" ? null : why });
  if (why !== "") yield* addReason(change, taskId, why);
  const set = {
    scheduled_at: at,
    phase: open?.source_status === "review" ? "review" : task.phase,
    ...(open !== undefined && { not_before: yield* quietFrom(taskId) }),
  };
  yield* moveTask(change, task, "schedule", "scheduled", {
    event: "scheduled",
    runId,
    payload: { reason: why, scheduled_at: at },
    set,
  });
  return toTask(yield* requireTask(taskId));
}

/** Hands the work over to someone else's eyes. */
export function* requestReview(
  change: Change,
  taskId: string,
  reviewer: string,
  handoff: Handoff,
): Steps<Task> {
  const name = parseAssignee(reviewer);
  if (name === null) throw invalid("A review needs a reviewer.");
  const { task, open } = yield* begin(change, taskId, "review", "request-review");
  const implementer = open?.profile ?? task.assignee;
  if (implementer === name) throw invalid(`${name} did the work and cannot review it.`);
  const end = handoffOf(handoff, "review_requested");
  const artifacts = artifactsIn(handoff.metadata);
  const runId = yield* handOver(change, task, open, end);
  yield* moveTask(change, task, "request-review", "review", {
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
      not_before: yield* quietFrom(taskId),
    },
  });
  return toTask(yield* requireTask(taskId));
}

/** A reviewer sends the work back to whoever did it: its run, or a person before or while it runs. */
export function* requestChanges(change: Change, taskId: string, reason: string): Steps<Task> {
  const why = requireText(reason, "reason");
  const { task, open } = yield* begin(change, taskId, "review", "request-changes");
  requireReview(task, open);
  const runId = yield* endOpen(change, open, { outcome: "changes_requested", summary: why });
  yield* addReason(change, taskId, why);
  return yield* sendBack(change, task, "request-changes", "changes_requested", runId, why);
}

/** A person takes a task out of review, back to whoever did it. */
export function* reopenReview(change: Change, taskId: string, reason = ""): Steps<Task> {
  const { task } = yield* begin(change, taskId, "reopen", "reopen-review");
  return yield* sendBack(change, task, "reopen-review", "review_reopened", null, reason);
}

function requireReview(task: TaskRow, open: RunRow | undefined): void {
  if (task.status === "review" || open?.source_status === "review") return;
  throw new AppError("task-move-refused", `${task.id} is ${task.status} and not under review.`);
}

function* sendBack(
  change: Change,
  task: TaskRow,
  move: Move,
  event: string,
  runId: number | null,
  reason: string,
): Steps<Task> {
  const to: Status = yield* restingPlace({ ...task, phase: "work" });
  yield* moveTask(change, task, move, to, {
    event,
    runId,
    payload: { reason, implementer: task.implementer, reviewer: task.reviewer, status: to },
    set: {
      phase: "work",
      assignee: task.implementer ?? task.assignee,
      not_before: yield* quietFrom(task.id),
    },
  });
  return toTask(yield* requireTask(task.id));
}

/** Locks graph and task, and finds out whether this caller may make this move with it now. */
function* begin(
  change: Change,
  taskId: string,
  right: Right,
  move: Move,
  expectedRunId?: number,
): Steps<{ task: TaskRow; open: RunRow | undefined }> {
  const { caller } = change;
  requireRight(caller, right);
  requireOwnTask(caller, taskId);
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  const open = yield* findOpenRun(taskId);
  if (caller.kind === "run" && (open?.id !== caller.runId || open.lease_token !== caller.token))
    throw superseded(caller.runId, taskId);
  requireMove(move, task);
  if (expectedRunId !== undefined && open?.id !== expectedRunId) throw superseded(expectedRunId, taskId);
  return { task, open };
}

function handoffOf({ summary, metadata }: Handoff, outcome: string) {
  const text = summary === undefined ? "" : cleanText(summary, "summary").trim();
  return { outcome, summary: text === "" ? null : text, metadata: toJson(metadata, "metadata") };
}

/** Closes the open run with what is handed over; without one, a run of no length keeps it. */
function* handOver(
  change: Change,
  task: TaskRow,
  open: RunRow | undefined,
  end: RunEnd,
): Steps<number | null> {
  if (open !== undefined) return yield* endOpen(change, open, end);
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

/** Closes the open run, if there is one. A reason needs no run to be kept: it is a comment, and in the event. */
function* endOpen(change: Change, open: RunRow | undefined, end: RunEnd): Steps<number | null> {
  if (open === undefined) return null;
  // Also a worker that ends its own run lives on for a moment.
  yield* closeRun(change, open, { ...end, unseen: true });
  return open.id;
}

/** A worker is believed only about tasks that it, or its profile, really made, and about children of its task. */
function* verifyCreated(change: Change, task: TaskRow, ids: readonly string[]): Steps<readonly string[]> {
  if (ids.length === 0) return [];
  const rows = yield* all<{ id: string }>(
    `select id from task where id {among:ids} and
       (created_by = :author or origin_task_id = :taskId
        or id in (select child_id from link where parent_id = :taskId))`,
    { ids: JSON.stringify(ids), author: change.actor, taskId: task.id },
  );
  const known = new Set(rows.map(({ id }) => id));
  const phantoms = ids.filter((id) => !known.has(id));
  if (phantoms.length > 0) throw invalid(`These are not tasks that you have made: ${phantoms.join(", ")}`);
  return ids;
}

function firstLine(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : headOf(text.split("\n", 1)[0] ?? "", LINE_LENGTH);
}
