import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, only, run, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import {
  cleanText,
  invalidInput,
  optionalName,
  parseAssignee,
  requireInteger,
  requireTitle,
  toJson,
} from "../../task-text.ts";
import { describeStatus } from "../../transitions.ts";
import { uncountLeavingRuns, workerMayLiveUntil } from "../runs/leaving-runs.ts";
import { promoteWaitingChildren, promoteWaitingTasks } from "../runs/recompute.ts";
import {
  findOpenRun,
  lockGraph,
  requireLiveRun,
  requireLockedTask,
  requireParentsDone,
  requireTask,
  type TaskRow,
  toTask,
} from "../views/rows.ts";
import { addReasonComment, resetBlockCount } from "./comments-and-attachments.ts";
import { type Columns, closeRun, moveTask, nextStatus, requireMove, updateTask } from "./move-task.ts";

/** Assigns a task to a profile, or removes its assignee; throws `task-running` for a running task. */
export function* assignTask(
  transaction: BoardTransaction,
  taskId: string,
  assignee: string | null,
  source?: string,
): Steps<Task> {
  requireRight(transaction.caller, "assign");
  const name = parseAssignee(assignee);
  const task = yield* requireLockedTask(taskId);
  if (task.status === "running")
    throw new AppError("task-running", `${taskId} is running as ${task.assignee}.`, {
      hint: `End its run and reassign it: \`hermes kanban reassign ${taskId} ${name ?? "none"} --reclaim\`.`,
    });
  if (task.status === "archived") throw archivedError(task);
  if (task.assignee === name) return toTask(task);
  const payload = { assignee: name, from: task.assignee, ...(source && { source }) };
  transaction.recordEvent({ taskId, kind: "assigned", payload });
  return toTask(
    yield* updateTask(task, {
      assignee: name,
      consecutive_failures: 0,
      last_failure_error: null,
      not_before: yield* workerMayLiveUntil(taskId),
    }),
  );
}

export interface TaskEdit {
  readonly title?: string;
  readonly body?: string | null;
  readonly priority?: number;
  readonly tenant?: string | null;
  readonly modelOverride?: string | null;
  readonly providerOverride?: string | null;
  readonly reasoningEffort?: string | null;
  /** Only for a done task: its result, and the handoff of its last run. */
  readonly result?: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Edits the fields of a task. A done task keeps its title and body; an open task has no result to edit. */
export function* editTask(transaction: BoardTransaction, taskId: string, edit: TaskEdit): Steps<Task> {
  requireRight(transaction.caller, "edit");
  const task = yield* requireLockedTask(taskId);
  if (task.status === "archived") throw archivedError(task);
  const isDone = task.status === "done";
  if (isDone && (edit.title !== undefined || edit.body !== undefined))
    throw new AppError("task-move-refused", `${taskId} is done; its title and body cannot be changed.`);
  if (!isDone && (edit.result !== undefined || edit.summary !== undefined || edit.metadata !== undefined))
    throw new AppError(
      "task-move-refused",
      `${taskId} is ${describeStatus(task.status)}; it has no result to edit.`,
    );
  const columns = columnsOf(edit);
  const wanted = Object.entries(columns) as [keyof Task, string | number | null][];
  const changed = wanted.filter(([name, value]) => task[name] !== value);
  const model = "model_override" in columns ? columns.model_override : task.model_override;
  const provider = "provider_override" in columns ? columns.provider_override : task.provider_override;
  if (provider !== null && model === null) throw invalidInput("A provider needs a model.");
  const fields: string[] = changed.map(([name]) => name);
  if (changed.length > 0) yield* updateTask(task, Object.fromEntries(changed));
  if (fields.includes("title") || fields.includes("body")) yield* resetBlockCount(taskId);
  if (edit.summary !== undefined || edit.metadata !== undefined) {
    const updated = yield* run(EDIT_RUN, {
      taskId,
      summary: edit.summary === undefined ? null : cleanText(edit.summary, "summary"),
      metadata: toJson(edit.metadata, "metadata"),
    });
    if (updated > 0)
      fields.push(...(["summary", "metadata"] as const).filter((name) => edit[name] !== undefined));
  }
  if (fields.length > 0) transaction.recordEvent({ taskId, kind: "edited", payload: { fields } });
  return toTask(yield* requireTask(taskId));
}

const EDIT_RUN = `
  update run set summary = coalesce(cast(:summary as text), summary), metadata = coalesce(cast(:metadata as text), metadata)
   where id = (select max(id) from run where task_id = :taskId and outcome = 'completed')`;

function columnsOf(edit: TaskEdit): Columns {
  return {
    ...(edit.title !== undefined && { title: requireTitle(edit.title) }),
    ...(edit.body !== undefined && { body: edit.body === null ? null : cleanText(edit.body, "body") }),
    ...(edit.priority !== undefined && { priority: requireInteger(edit.priority, "priority", -(2 ** 31)) }),
    ...(edit.tenant !== undefined && { tenant: optionalName(edit.tenant, "tenant") }),
    ...(edit.modelOverride !== undefined && { model_override: optionalName(edit.modelOverride, "model") }),
    ...(edit.providerOverride !== undefined && {
      provider_override: optionalName(edit.providerOverride, "provider"),
    }),
    ...(edit.reasoningEffort !== undefined && {
      reasoning_effort: optionalName(edit.reasoningEffort, "reasoning effort"),
    }),
    ...(edit.result !== undefined && { result: cleanText(edit.result, "result") }),
  };
}

/** Resumes a task that is blocked, scheduled or in triage. A reason counts as an answer and resets the block counter. */
export function* unblockTask(transaction: BoardTransaction, taskId: string, reason = ""): Steps<Task> {
  requireRight(transaction.caller, "unblock");
  yield* lockGraph();
  yield* requireLiveRun(transaction.caller);
  const task = yield* requireLockedTask(taskId);
  requireMove("unblock", task);
  // A task is in triage because no person answered its question; an agent that unblocks it would continue the loop.
  if (task.status === "triage") requireRight(transaction.caller, "specify");
  const why = cleanText(reason, "reason").trim();
  if (why !== "") {
    yield* addReasonComment(transaction, taskId, why);
    yield* resetBlockCount(taskId);
  }
  const to = yield* nextStatus(task);
  const moved = yield* moveTask(transaction, task, "unblock", to, {
    event: "unblocked",
    payload: { status: to, ...(why !== "" && { reason: why }) },
    set: {
      consecutive_failures: 0,
      last_failure_error: null,
      block_sticky: 0,
      not_before: yield* workerMayLiveUntil(taskId),
      ...(task.status === "triage" && OUT_OF_TRIAGE),
    },
  });
  return toTask(moved);
}

/** A person has handled the task, so the detection of block loops starts over. */
const OUT_OF_TRIAGE = { triage_reason: null, block_kind: null, block_recurrences: 0 };

/** Makes a waiting task ready; refused while a parent is open or the task is held. */
export function* promoteTask(transaction: BoardTransaction, taskId: string, reason = ""): Steps<Task> {
  requireRight(transaction.caller, "promote");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("promote", task);
  yield* requireParentsDone(taskId);
  if (task.hold === 1) throw new AppError("task-move-refused", `${taskId} is held; release it first.`);
  const moved = yield* moveTask(transaction, task, "promote", "ready", {
    event: "promoted_manual",
    payload: { actor: transaction.actor, reason: cleanText(reason, "reason") },
    set: {
      block_sticky: 0,
      consecutive_failures: 0,
      not_before: yield* workerMayLiveUntil(taskId),
      phase: "work",
      ...(task.status === "triage" && OUT_OF_TRIAGE),
    },
  });
  return toTask(moved);
}

/** Holds or releases a task; a held task is neither promoted nor claimed. */
export function* holdTask(transaction: BoardTransaction, taskId: string, hold: boolean): Steps<Task> {
  requireRight(transaction.caller, hold ? "hold" : "release");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  if (task.status === "archived") throw archivedError(task);
  if ((task.hold === 1) === hold) return toTask(task);
  yield* updateTask(task, { hold: Number(hold) });
  transaction.recordEvent({ taskId, kind: hold ? "held" : "let_go" });
  if (!hold) yield* promoteWaitingTasks(transaction);
  return toTask(yield* requireTask(taskId));
}

export interface Specification {
  readonly title?: string;
  readonly body?: string;
  readonly assignee?: string;
}

/** Moves a task out of triage with the given title, body and assignee. */
export function* specifyTask(
  transaction: BoardTransaction,
  taskId: string,
  specification: Specification,
): Steps<Task> {
  requireRight(transaction.caller, "specify");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("specify", task);
  const set = {
    ...(specification.title !== undefined && { title: requireTitle(specification.title) }),
    ...(specification.body !== undefined && { body: cleanText(specification.body, "body") }),
    ...(specification.assignee !== undefined && { assignee: parseAssignee(specification.assignee) }),
    ...OUT_OF_TRIAGE,
  };
  const payload = { changed_fields: Object.keys(specification) };
  yield* moveTask(transaction, task, "specify", "todo", { event: "specified", payload, set });
  yield* promoteWaitingTasks(transaction);
  return toTask(yield* requireTask(taskId));
}

/** Archives a task in any status: ends its open run and unblocks its children. */
export function* archiveTask(transaction: BoardTransaction, taskId: string): Steps<Task> {
  requireRight(transaction.caller, "archive");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("archive", task);
  const open = yield* findOpenRun(taskId);
  if (open !== undefined)
    yield* closeRun(transaction, open, { outcome: "reclaimed", error: "archived", exitUnconfirmed: true });
  const payload =
    open === undefined ? {} : { run_id: open.id, worker_pid: open.worker_pid, host_id: open.host_id };
  const runId = open?.id ?? null;
  const moved = yield* moveTask(transaction, task, "archive", "archived", {
    event: "archived",
    runId,
    payload,
  });
  yield* promoteWaitingChildren(transaction, taskId);
  return toTask(moved);
}

/** Deletes an archived task with all its records; only a `purged` event remains. */
export function* purgeTask(transaction: BoardTransaction, taskId: string): Steps<void> {
  requireRight(transaction.caller, "purge");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  if (task.status !== "archived")
    throw new AppError(
      "task-move-refused",
      `${taskId} is ${describeStatus(task.status)}; only archived tasks can be purged.`,
    );
  yield* uncountLeavingRuns(transaction, taskId);
  yield* run("delete from event where task_id = :taskId", { taskId });
  yield* run(RESERVE_RUN_IDS, { taskId });
  yield* run(
    "delete from attachment_part where content_key in (select content_key from attachment where task_id = :taskId)",
    { taskId },
  );
  yield* run("delete from task where id = :taskId", { taskId });
  transaction.recordEvent({ taskId: null, kind: "purged", payload: { task_id: taskId, title: task.title } });
}

/** Prevents reuse of deleted run ids: a stale reference must not point to a later run. */
const RESERVE_RUN_IDS = `
  update board set runs_purged_to = (select max(id) from run where task_id = :taskId)
   where runs_purged_to < (select max(id) from run where task_id = :taskId)`;

/** Reopens a done or archived task. Its descendants become invalid and wait for it; their runs are ended. */
export function* reopenTask(
  transaction: BoardTransaction,
  taskId: string,
): Steps<{ task: Task; stopped: readonly number[] }> {
  requireRight(transaction.caller, "reopen");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("reopen", task);
  const descendants = yield* all<TaskRow>(
    `with recursive after(id) as (
       select child_id from link where parent_id = :taskId
       union select l.child_id from link l join after on l.parent_id = after.id)
     select t.* from task t where t.id in (select id from after)
        and t.status in ('ready', 'review', 'running', 'done') order by t.seq {lock}`,
    { taskId },
  );
  const to = yield* nextStatus({ ...task, phase: "work" });
  const reopened = yield* moveTask(transaction, task, "reopen", to === "review" ? "ready" : to, {
    event: "status",
    payload: { status: to, reason: "reopened" },
    set: {
      completed_at: null,
      archived_at: null,
      phase: "work",
      // The reviewer who approved the task must not become its implementer.
      assignee: task.assignee === task.reviewer ? (task.implementer ?? task.assignee) : task.assignee,
      result: null,
      idempotency_key: (yield* isKeyTaken(task)) ? null : task.idempotency_key,
      not_before: yield* workerMayLiveUntil(taskId),
    },
  });
  const stopped: number[] = [];
  for (const descendant of descendants) {
    const open = yield* findOpenRun(descendant.id);
    if (open !== undefined) {
      const error = `${taskId} was reopened`;
      yield* closeRun(transaction, open, { outcome: "reclaimed", error, exitUnconfirmed: true });
      stopped.push(open.id);
    }
    yield* moveTask(transaction, descendant, "invalidate", "todo", {
      event: "descendant_invalidated",
      runId: open?.id ?? null,
      payload: { ancestor: taskId, prior_status: descendant.status, new_status: "todo" },
      set: {
        completed_at: null,
        result: null,
        phase: open?.source_status === "review" ? "review" : descendant.phase,
        not_before: yield* workerMayLiveUntil(descendant.id),
      },
    });
  }
  return { task: toTask(reopened), stopped };
}

/** Whether another task took the idempotency key while this task was archived. */
function* isKeyTaken({ id, idempotency_key: key }: TaskRow): Steps<boolean> {
  if (key === null) return false;
  const other = yield* first(
    "select id from task where idempotency_key = :key and archived_at is null and id <> :id",
    { key, id },
  );
  return other !== undefined;
}

/** Pauses or resumes claims on the whole board; running tasks continue. Returns false when nothing changed. */
export function* pauseBoard(transaction: BoardTransaction, paused: boolean): Steps<boolean> {
  requireRight(transaction.caller, "pause");
  const board = yield* only<{ paused: number }>("select paused from board {lock}");
  if ((board.paused === 1) === paused) return false;
  yield* run("update board set paused = :paused", { paused: Number(paused) });
  transaction.recordEvent({ taskId: null, kind: paused ? "board_paused" : "board_resumed" });
  return true;
}

function archivedError(task: TaskRow): AppError {
  return new AppError("task-move-refused", `${task.id} is archived and cannot be changed.`);
}
