import { randomUUID } from "node:crypto";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, only, run, type Steps } from "../../database/steps.ts";
import { type Task, WORKSPACE_KINDS, type WorkspaceKind } from "../../task.ts";
import {
  cleanText,
  invalidInput,
  optionalKey,
  optionalName,
  parseAssignee,
  requireInteger,
  requireTitle,
} from "../../task-text.ts";
import type { Status } from "../../transitions.ts";
import { lockGraph, requireLiveRun, type TaskRow, taskNotFoundError, toTask } from "../views/rows.ts";
import { requireChildLimit } from "./child-limits.ts";

export interface NewTask {
  readonly title: string;
  readonly body?: string;
  readonly assignee?: string | null;
  readonly parents?: readonly string[];
  readonly priority?: number;
  /** Defaults to the tenant of the first parent that has one. */
  readonly tenant?: string;
  readonly triage?: boolean;
  readonly initialStatus?: "blocked";
  readonly hold?: boolean;
  readonly idempotencyKey?: string;
  /** Which tasks match the idempotency key: `open` ignores done tasks. Archived tasks never match. */
  readonly dedupeScope?: "open" | "any";
  readonly workspaceKind?: WorkspaceKind;
  readonly workspacePath?: string;
  readonly branchName?: string;
  readonly projectId?: string;
  readonly maxRuntimeSeconds?: number;
  readonly maxRetries?: number;
  readonly skills?: readonly string[];
  readonly modelOverride?: string;
  readonly providerOverride?: string;
  readonly reasoningEffort?: string;
  readonly goalMode?: boolean;
  readonly goalMaxTurns?: number;
  readonly sessionId?: string;
  /** Milliseconds; the task has status `scheduled` until then. */
  readonly scheduledAt?: number;
  readonly completionContract?: string;
}

export interface CreatedTask {
  readonly task: Task;
  /** False when an existing task with the same idempotency key was returned. */
  readonly created: boolean;
}

const PATH_LENGTH = 4_096;
const MAX_PARENTS = 200;

/** Creates a task, or returns the existing task with the same idempotency key; safe under concurrent calls. */
export function* createTask(transaction: BoardTransaction, input: NewTask): Steps<CreatedTask> {
  const { caller } = transaction;
  requireRight(caller, "create");
  const values = columnsOf(input);
  const parentIds = [...new Set(input.parents ?? [])];
  if (parentIds.length > MAX_PARENTS) throw invalidInput(`A task may have at most ${MAX_PARENTS} parents.`);
  if (parentIds.length > 0) yield* lockGraph();
  const key = values.idempotency_key;
  const known = key === null ? undefined : yield* findByKey(key, input.dedupeScope);
  yield* requireLiveRun(caller);
  if (known !== undefined) return { task: toTask(known), created: false };
  if (caller.kind === "run") yield* requireChildLimit(caller);

  const parents = yield* loadParents(parentIds);
  const isWaiting = parents.some(({ status }) => status !== "done" && status !== "archived");
  const status = yield* initialStatusOf(input, isWaiting);
  const tenant = values.tenant ?? parents.find((parent) => parent.tenant !== null)?.tenant ?? null;
  const id = `t_${randomUUID().slice(-12)}`; // the last twelve digits are random
  const origin = caller.kind === "run" ? caller.taskId : null;
  const row = {
    ...values,
    id,
    tenant,
    status,
    created_by: transaction.actor,
    origin_task_id: origin,
    block_sticky: Number(status === "blocked"),
  };
  const inserted = yield* first<TaskRow>(INSERT, row);
  if (inserted === undefined) return yield* resolveConflict(transaction, input);
  for (const parent of parentIds) yield* run(LINK, { parent, child: id });
  const heirOf = [...parentIds, ...(origin === null ? [] : [origin])];
  if (heirOf.length > 0) yield* run(INHERIT_SUBSCRIPTIONS, { child: id, heirOf: JSON.stringify(heirOf) });
  const { assignee, priority, workspace_kind } = row;
  const facts = { assignee, status, parents: parentIds, tenant, priority, workspace_kind };
  const payload = origin === null ? facts : { ...facts, origin };
  transaction.recordEvent({ taskId: id, kind: "created", to: status, payload });
  if (status === "blocked")
    transaction.recordEvent({ taskId: id, kind: "blocked", payload: { reason: "created blocked" } });
  return { task: toTask(inserted), created: true };
}

const INSERT = `
  insert into task (
    id, title, body, assignee, status, priority, tenant, created_by, created_at, updated_at, ready_at, workspace_kind,
    workspace_path, branch_name, project_id, idempotency_key, max_runtime_seconds, max_retries, skills, model_override,
    provider_override, reasoning_effort, goal_mode, goal_max_turns, block_sticky, session_id, scheduled_at, hold,
    completion_contract, origin_task_id)
  values (
    :id, :title, :body, :assignee, :status, :priority, :tenant, :created_by, hermes_now(), hermes_now(),
    case when :status = 'ready' then hermes_now() end, :workspace_kind, :workspace_path, :branch_name, :project_id,
    :idempotency_key, :max_runtime_seconds, :max_retries, :skills, :model_override, :provider_override,
    :reasoning_effort, :goal_mode, :goal_max_turns, :block_sticky, :session_id, :scheduled_at, :hold,
    :completion_contract, :origin_task_id)
  on conflict do nothing returning *`;
const LINK = "insert into link (parent_id, child_id) values (:parent, :child)";
/** Subscribes the chats that follow a parent or the origin task to the new task. */
const INHERIT_SUBSCRIPTIONS = `
  insert into subscription (task_id, platform, chat_id, thread_id, user_id, user_id_alt, chat_type, notifier_profile,
                            delivery_mode, notify_progress, delivery_metadata, created_at, last_event_id)
  select :child, platform, chat_id, thread_id, user_id, user_id_alt, chat_type, notifier_profile, delivery_mode,
         notify_progress, delivery_metadata, hermes_now(), (select value from counter where name = 'event')
    from subscription where task_id {among:heirOf}
  on conflict do nothing`;

/** The insert conflicted: another transaction used the same key, or (very rarely) the random id exists. */
function* resolveConflict(transaction: BoardTransaction, input: NewTask): Steps<CreatedTask> {
  const key = optionalKey(input.idempotencyKey);
  const winner = key === null ? undefined : yield* findByKey(key, "any");
  if (winner !== undefined) return { task: toTask(winner), created: false };
  return yield* createTask(transaction, input);
}

/** Finds the task with the key. In scope `open`, a done task releases its key to the new task. */
function* findByKey(key: string, scope: NewTask["dedupeScope"] = "any"): Steps<TaskRow | undefined> {
  const row = yield* first<TaskRow>(
    "select * from task where idempotency_key = :key and archived_at is null {lock}",
    { key },
  );
  if (row?.status !== "done" || scope === "any") return row;
  yield* run("update task set idempotency_key = null where seq = :seq", { seq: row.seq });
  return undefined;
}

function* loadParents(ids: readonly string[]): Steps<readonly TaskRow[]> {
  if (ids.length === 0) return [];
  const rows = yield* all<TaskRow>("select * from task where id {among:ids} order by seq {lock}", {
    ids: JSON.stringify(ids),
  });
  const missing = ids.find((id) => !rows.some((row) => row.id === id));
  if (missing !== undefined) throw taskNotFoundError(missing);
  return rows;
}

function* initialStatusOf(
  { triage, initialStatus, scheduledAt }: NewTask,
  isWaiting: boolean,
): Steps<Status> {
  if (triage === true) return "triage";
  if (initialStatus === "blocked") return "blocked";
  if (scheduledAt !== undefined) {
    const { now } = yield* only<{ now: number }>("select hermes_now() as now");
    if (scheduledAt > now) return "scheduled";
  }
  return isWaiting ? "todo" : "ready";
}

/** Throws `task-input-invalid` for input that `createTask` refuses without reading the board. */
export function checkNewTask(input: NewTask): void {
  columnsOf(input);
}

function columnsOf(input: NewTask) {
  const kind = input.workspaceKind ?? "scratch";
  if (!WORKSPACE_KINDS.includes(kind))
    throw invalidInput(`The workspace must be one of ${WORKSPACE_KINDS.join(", ")}.`);
  const branch = optionalName(input.branchName, "branch");
  if (branch !== null && kind !== "worktree") throw invalidInput("A branch is only allowed with a worktree.");
  if (branch !== null && !isBranchName(branch))
    throw invalidInput(`${JSON.stringify(branch)} is not a valid branch name.`);
  const model = optionalName(input.modelOverride, "model");
  const provider = optionalName(input.providerOverride, "provider");
  if (provider !== null && model === null) throw invalidInput("A provider needs a model.");
  const optionalInteger = (
    value: number | undefined,
    what: string,
    min: number,
    max?: number,
  ): number | null => (value === undefined ? null : requireInteger(value, what, min, max));
  return {
    title: requireTitle(input.title),
    body: input.body === undefined ? null : cleanText(input.body, "body"),
    assignee: parseAssignee(input.assignee),
    priority: requireInteger(input.priority ?? 0, "priority", -(2 ** 31)),
    tenant: optionalName(input.tenant, "tenant"),
    hold: Number(input.hold ?? false),
    idempotency_key: optionalKey(input.idempotencyKey),
    workspace_kind: kind,
    workspace_path: optionalName(input.workspacePath, "workspace path", PATH_LENGTH),
    branch_name: branch,
    project_id: optionalName(input.projectId, "project"),
    max_runtime_seconds: optionalInteger(input.maxRuntimeSeconds, "longest run time", 1),
    max_retries: optionalInteger(input.maxRetries, "number of retries", 1),
    skills: input.skills === undefined ? null : JSON.stringify(cleanSkills(input.skills)),
    model_override: model,
    provider_override: provider,
    reasoning_effort: optionalName(input.reasoningEffort, "reasoning effort"),
    goal_mode: Number(input.goalMode ?? false),
    goal_max_turns: optionalInteger(input.goalMaxTurns, "number of turns", 1),
    session_id: optionalName(input.sessionId, "session"),
    scheduled_at: optionalInteger(input.scheduledAt, "time", 0, Number.MAX_SAFE_INTEGER),
    completion_contract: optionalName(input.completionContract, "completion contract") ?? "local-only",
  };
}

/** Git's rules for branch names. Checked here, so that a bad name is reported now, not when a worker starts. */
function isBranchName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git allows none
  if (/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$/.test(name) || name === "@") return false;
  return name.split("/").every((part) => !part.startsWith(".") && !part.endsWith(".lock"));
}

function cleanSkills(skills: readonly string[]): readonly string[] {
  const names = skills.map((skill) => optionalName(skill, "skill")).filter((name) => name !== null);
  const wrong = names.filter((name) => name.includes(","));
  if (wrong.length > 0) throw invalidInput(`A skill name must not contain a comma: ${wrong.join(" ")}`);
  return [...new Set(names)];
}
