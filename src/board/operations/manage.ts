import { AppError } from "../../lib/errors.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, first, only, run, type Steps } from "../database/steps.ts";
import type { Task } from "../task.ts";
import {
  cleanText,
  invalid,
  optionalName,
  parseAssignee,
  requireInteger,
  requireTitle,
  toJson,
} from "../task-text.ts";
import { letGo } from "./leaving.ts";
import {
  findOpenRun,
  lockGraph,
  openParents,
  requireLiveRun,
  requireTask,
  requireTaskToChange,
  type TaskRow,
  toTask,
} from "./load.ts";
import { type Columns, closeRun, moveTask, requireMove, restingPlace, updateTask } from "./move-task.ts";
import { addReason, markAnswered } from "./notes.ts";
import { quietFrom } from "./quiet-time.ts";
import { recompute, recomputeChildren } from "./recompute.ts";

function* reload(id: string): Steps<Task> {
  return toTask(yield* requireTask(id));
}

/** Gives a task to a profile, or to nobody; a running one keeps its own. */
export function* assignTask(
  change: Change,
  taskId: string,
  assignee: string | null,
  source?: string,
): Steps<Task> {
  requireRight(change.caller, "assign");
  const name = parseAssignee(assignee);
  const task = yield* requireTaskToChange(taskId);
  if (task.status === "running")
    throw new AppError("task-running", `${taskId} is running as ${task.assignee}.`, {
      hint: `End its run and give it away: \`hermes kanban reassign ${taskId} ${name ?? "none"} --reclaim\`.`,
    });
  if (task.status === "archived") throw archived(task);
  if (task.assignee === name) return toTask(task);
  const payload = { assignee: name, from: task.assignee, ...(source && { source }) };
  yield* updateTask(task, {
    assignee: name,
    consecutive_failures: 0,
    last_failure_error: null,
    not_before: yield* quietFrom(taskId),
  });
  change.tell({ taskId, kind: "assigned", payload });
  return yield* reload(taskId);
}

export interface TaskEdit {
  readonly title?: string;
  readonly body?: string | null;
  readonly priority?: number;
  readonly tenant?: string | null;
  readonly modelOverride?: string | null;
  readonly providerOverride?: string | null;
  readonly reasoningEffort?: string | null;
  /** Of a finished task: the line on it, and the hand-over of its last run. */
  readonly result?: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Changes what a task says. One that is done keeps title and body, one that is open has no result yet. */
export function* editTask(change: Change, taskId: string, edit: TaskEdit): Steps<Task> {
  requireRight(change.caller, "edit");
  const task = yield* requireTaskToChange(taskId);
  if (task.status === "archived") throw archived(task);
  const isDone = task.status === "done";
  if (isDone && (edit.title !== undefined || edit.body !== undefined))
    throw new AppError("task-move-refused", `${taskId} is done; its title and body stay as they were.`);
  if (!isDone && (edit.result !== undefined || edit.summary !== undefined || edit.metadata !== undefined))
    throw new AppError("task-move-refused", `${taskId} is ${task.status}; it has no result to change.`);
  const columns = columnsOf(edit);
  const wanted = Object.entries(columns) as [keyof Task, string | number | null][];
  const changed = wanted.filter(([name, value]) => task[name] !== value);
  const model = "model_override" in columns ? columns.model_override : task.model_override;
  const provider = "provider_override" in columns ? columns.provider_override : task.provider_override;
  if (provider !== null && model === null) throw invalid("A provider needs a model.");
  const fields: string[] = changed.map(([name]) => name);
  if (changed.length > 0) yield* updateTask(task, Object.fromEntries(changed));
  if (fields.includes("title") || fields.includes("body")) yield* markAnswered(taskId);
  if (edit.summary !== undefined || edit.metadata !== undefined) {
    const updated = yield* run(EDIT_RUN, {
      taskId,
      summary: edit.summary === undefined ? null : cleanText(edit.summary, "summary"),
      metadata: toJson(edit.metadata, "metadata"),
    });
    if (updated > 0)
      fields.push(...(["summary", "metadata"] as const).filter((name) => edit[name] !== undefined));
  }
  if (fields.length > 0) change.tell({ taskId, kind: "edited", payload: { fields } });
  return yield* reload(taskId);
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

/** Brings a task back that is blocked, scheduled or in triage. A reason is an answer, after which blocks count from zero. */
export function* unblockTask(change: Change, taskId: string, reason = ""): Steps<Task> {
  requireRight(change.caller, "unblock");
  yield* lockGraph();
  yield* requireLiveRun(change.caller);
  const task = yield* requireTaskToChange(taskId);
  requireMove("unblock", task);
  // A task is in triage because nobody answered it; an agent that brought it back would go on with the loop.
  if (task.status === "triage") requireRight(change.caller, "specify");
  const why = cleanText(reason, "reason").trim();
  if (why !== "") yield* addReason(change, taskId, why);
  if (why !== "") yield* markAnswered(taskId);
  const to = yield* restingPlace(task);
  yield* moveTask(change, task, "unblock", to, {
    event: "unblocked",
    payload: { status: to, ...(why !== "" && { reason: why }) },
    set: {
      consecutive_failures: 0,
      last_failure_error: null,
      block_sticky: 0,
      not_before: yield* quietFrom(taskId),
      ...(task.status === "triage" && OUT_OF_TRIAGE),
    },
  });
  return yield* reload(taskId);
}

/** Someone has looked at the task, so the loop breaker starts again. */
const OUT_OF_TRIAGE = { triage_reason: null, block_kind: null, block_recurrences: 0 };

/** A person makes a waiting task ready; never one with open parents, and never one that is held. */
export function* promoteTask(change: Change, taskId: string, reason = ""): Steps<Task> {
  requireRight(change.caller, "promote");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  requireMove("promote", task);
  const parents = yield* openParents(taskId);
  if (parents.length > 0)
    throw new AppError("task-parents-open", `${taskId} still waits for ${parents.join(", ")}.`);
  if (task.hold === 1) throw new AppError("task-move-refused", `${taskId} is held; let it go first.`);
  yield* moveTask(change, task, "promote", "ready", {
    event: "promoted_manual",
    payload: { actor: change.actor, reason: cleanText(reason, "reason") },
    set: {
      block_sticky: 0,
      consecutive_failures: 0,
      not_before: yield* quietFrom(taskId),
      phase: "work",
      ...(task.status === "triage" && OUT_OF_TRIAGE),
    },
  });
  return yield* reload(taskId);
}

/** A person sets a task aside or lets it go; while it is held, nothing promotes or claims it. */
export function* holdTask(change: Change, taskId: string, hold: boolean): Steps<Task> {
  requireRight(change.caller, hold ? "hold" : "release");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  if (task.status === "archived") throw archived(task);
  if ((task.hold === 1) === hold) return toTask(task);
  yield* updateTask(task, { hold: Number(hold) });
  change.tell({ taskId, kind: hold ? "held" : "let_go" });
  if (!hold) yield* recompute(change);
  return yield* reload(taskId);
}

export interface Written {
  readonly title?: string;
  readonly body?: string;
  readonly assignee?: string;
}

/** Takes a task out of triage, written out. */
export function* specifyTask(change: Change, taskId: string, written: Written): Steps<Task> {
  requireRight(change.caller, "specify");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  requireMove("specify", task);
  const set = {
    ...(written.title !== undefined && { title: requireTitle(written.title) }),
    ...(written.body !== undefined && { body: cleanText(written.body, "body") }),
    ...(written.assignee !== undefined && { assignee: parseAssignee(written.assignee) }),
    ...OUT_OF_TRIAGE,
  };
  const payload = { changed_fields: Object.keys(written) };
  yield* moveTask(change, task, "specify", "todo", { event: "specified", payload, set });
  yield* recompute(change);
  return yield* reload(taskId);
}

/** Ends a task for good, whatever it was doing; its open run is over, and its children no longer wait for it. */
export function* archiveTask(change: Change, taskId: string): Steps<Task> {
  requireRight(change.caller, "archive");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  requireMove("archive", task);
  const open = yield* findOpenRun(taskId);
  if (open !== undefined)
    yield* closeRun(change, open, { outcome: "reclaimed", error: "archived", unseen: true });
  const payload =
    open === undefined ? {} : { run_id: open.id, worker_pid: open.worker_pid, host_id: open.host_id };
  yield* moveTask(change, task, "archive", "archived", {
    event: "archived",
    runId: open?.id ?? null,
    payload,
  });
  yield* recomputeChildren(change, taskId);
  return yield* reload(taskId);
}

/** Deletes an archived task with all that belongs to it; only an event says that it was there. */
export function* purgeTask(change: Change, taskId: string): Steps<void> {
  requireRight(change.caller, "purge");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  if (task.status !== "archived")
    throw new AppError("task-move-refused", `${taskId} is ${task.status}; only archived tasks are deleted.`);
  yield* letGo(change, taskId);
  yield* run("delete from event where task_id = :taskId", { taskId });
  yield* run(KEEP_NUMBERS, { taskId });
  yield* run(
    "delete from attachment_part where content_key in (select content_key from attachment where task_id = :taskId)",
    { taskId },
  );
  yield* run("delete from task where id = :taskId", { taskId });
  change.tell({ taskId: null, kind: "purged", payload: { task_id: taskId, title: task.title } });
}

/** Whoever still speaks of a deleted run must not mean a later one. */
const KEEP_NUMBERS = `
  update board set runs_purged_to = (select max(id) from run where task_id = :taskId)
   where runs_purged_to < (select max(id) from run where task_id = :taskId)`;

/** Takes a done or archived task up again; whatever came after it is no longer valid and waits. */
export function* reopenTask(
  change: Change,
  taskId: string,
): Steps<{ task: Task; stopped: readonly number[] }> {
  requireRight(change.caller, "reopen");
  yield* lockGraph();
  const task = yield* requireTaskToChange(taskId);
  requireMove("reopen", task);
  const after = yield* all<TaskRow>(
    `with recursive after(id) as (
       select child_id from link where parent_id = :taskId
       union select l.child_id from link l join after on l.parent_id = after.id)
     select t.* from task t where t.id in (select id from after)
        and t.status in ('ready', 'review', 'running', 'done') order by t.seq {lock}`,
    { taskId },
  );
  const to = yield* restingPlace({ ...task, phase: "work" });
  yield* moveTask(change, task, "reopen", to === "review" ? "ready" : to, {
    event: "status",
    payload: { status: to, reason: "reopened" },
    set: {
      completed_at: null,
      archived_at: null,
      phase: "work",
      // Who approved it does not do it.
      assignee: task.assignee === task.reviewer ? (task.implementer ?? task.assignee) : task.assignee,
      result: null,
      idempotency_key: (yield* isKeyTaken(task)) ? null : task.idempotency_key,
      not_before: yield* quietFrom(taskId),
    },
  });
  const stopped: number[] = [];
  for (const descendant of after) {
    const open = yield* findOpenRun(descendant.id);
    if (open !== undefined) {
      const error = `${taskId} was reopened`;
      yield* closeRun(change, open, { outcome: "reclaimed", error, unseen: true });
      stopped.push(open.id);
    }
    yield* moveTask(change, descendant, "invalidate", "todo", {
      event: "descendant_invalidated",
      runId: open?.id ?? null,
      payload: { ancestor: taskId, prior_status: descendant.status, new_status: "todo" },
      set: {
        completed_at: null,
        result: null,
        phase: open?.source_status === "review" ? "review" : descendant.phase,
        not_before: yield* quietFrom(descendant.id),
      },
    });
  }
  return { task: yield* reload(taskId), stopped };
}

/** Whether another task got the idempotency key while this one was archived. */
function* isKeyTaken({ id, idempotency_key: key }: TaskRow): Steps<boolean> {
  if (key === null) return false;
  const other = yield* first(
    "select id from task where idempotency_key = :key and archived_at is null and id <> :id",
    { key, id },
  );
  return other !== undefined;
}

/** Stops or resumes claims on the whole board; what runs goes on. False when it was so already. */
export function* pauseBoard(change: Change, paused: boolean): Steps<boolean> {
  requireRight(change.caller, "pause");
  const board = yield* only<{ paused: number }>("select paused from board {lock}");
  if ((board.paused === 1) === paused) return false;
  yield* run("update board set paused = :paused", { paused: Number(paused) });
  change.tell({ taskId: null, kind: paused ? "board_paused" : "board_resumed" });
  return true;
}

function archived(task: TaskRow): AppError {
  return new AppError("task-move-refused", `${task.id} is archived and no longer changes.`);
}
