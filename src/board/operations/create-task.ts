import { randomBytes } from "node:crypto";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, first, only, run, type Steps } from "../database/steps.ts";
import type { Task, WorkspaceKind } from "../task.ts";
import { WORKSPACE_KINDS } from "../task.ts";
import {
  cleanText,
  invalid,
  optionalKey,
  optionalName,
  parseAssignee,
  requireInteger,
  requireTitle,
} from "../task-text.ts";
import type { Status } from "../transitions.ts";
import { lockGraph, requireLiveRun, requireTask, type TaskRow, taskNotFound, toTask } from "./load.ts";
import { requireRoomForChild } from "./require-room-for-child.ts";

export interface NewTask {
  readonly title: string;
  readonly body?: string;
  readonly assignee?: string | null;
  readonly parents?: readonly string[];
  readonly priority?: number;
  /** Left out, it is that of the first parent that has one. */
  readonly tenant?: string;
  readonly triage?: boolean;
  readonly initialStatus?: "blocked";
  readonly hold?: boolean;
  readonly idempotencyKey?: string;
  /** Whether a finished task counts as the same one, too. An archived one never does. */
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
  /** Milliseconds; until then it waits as `scheduled`. */
  readonly scheduledAt?: number;
  readonly completionContract?: string;
}

export interface CreatedTask {
  readonly task: Task;
  /** False when the idempotency key belongs to this task already. */
  readonly created: boolean;
}

const PATH_LENGTH = 4_096;
const PARENTS = 200;

/** Makes a task, or finds the one that has its idempotency key, however many ask at once. */
export function* createTask(change: Change, input: NewTask): Steps<CreatedTask> {
  const { caller } = change;
  requireRight(caller, "create");
  const values = columnsOf(input);
  const parentIds = [...new Set(input.parents ?? [])];
  if (parentIds.length > PARENTS) throw invalid(`A task may have ${PARENTS} parents.`);
  if (parentIds.length > 0) yield* lockGraph();
  const key = values.idempotency_key;
  const known = key === null ? undefined : yield* findByKey(key, input.dedupeScope);
  yield* requireLiveRun(caller);
  if (known !== undefined) return { task: toTask(known), created: false };
  if (caller.kind === "run") yield* requireRoomForChild(caller);

  const parents = yield* loadParents(parentIds);
  const isWaiting = parents.some(({ status }) => status !== "done" && status !== "archived");
  const now = (yield* only<{ now: number }>("select hermes_now() as now")).now;
  const status = firstStatus(input, isWaiting, now);
  const tenant = values.tenant ?? parents.find((parent) => parent.tenant !== null)?.tenant ?? null;
  const id = `t_${randomBytes(6).toString("hex")}`;
  const origin = caller.kind === "run" ? caller.taskId : null;
  const row = {
    ...values,
    id,
    tenant,
    status,
    created_by: change.actor,
    origin_task_id: origin,
    ready_at: status === "ready" ? now : null,
    block_sticky: Number(status === "blocked"),
  };
  const names = Object.keys(row);
  const inserted = yield* run(
    `insert into task (${names.join(", ")}, created_at, updated_at)
     values (${names.map((name) => `:${name}`).join(", ")}, hermes_now(), hermes_now()) on conflict do nothing`,
    row,
  );
  if (inserted === 0) return yield* afterConflict(change, input);
  for (const parent of parentIds) yield* run(LINK, { parent, child: id });
  const { assignee, priority, workspace_kind } = row;
  change.tell({
    taskId: id,
    kind: "created",
    to: status,
    payload: {
      assignee,
      status,
      parents: parentIds,
      tenant,
      priority,
      workspace_kind,
      ...(origin && { origin }),
    },
  });
  if (status === "blocked")
    change.tell({ taskId: id, kind: "blocked", payload: { reason: "created blocked" } });
  return { task: toTask(yield* requireTask(id)), created: true };
}

const LINK = "insert into link (parent_id, child_id) values (:parent, :child)";

/** Another transaction had the same key, and won; or, once in a very long time, the same id. */
function* afterConflict(change: Change, input: NewTask): Steps<CreatedTask> {
  const key = optionalKey(input.idempotencyKey);
  const winner = key === null ? undefined : yield* findByKey(key, "any");
  if (winner !== undefined) return { task: toTask(winner), created: false };
  return yield* createTask(change, input);
}

/** In scope `open`, finished work does not keep its key from new work: it gives it up. */
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
  if (missing !== undefined) throw taskNotFound(missing);
  return rows;
}

function firstStatus(input: NewTask, isWaiting: boolean, now: number): Status {
  if (input.triage === true) return "triage";
  if (input.initialStatus === "blocked") return "blocked";
  if (input.scheduledAt !== undefined && input.scheduledAt > now) return "scheduled";
  return isWaiting ? "todo" : "ready";
}

/** Throws `task-input-invalid` for what `createTask` would refuse without a look at the board. */
export function checkNewTask(input: NewTask): void {
  columnsOf(input);
}

function columnsOf(input: NewTask) {
  const kind = input.workspaceKind ?? "scratch";
  if (!WORKSPACE_KINDS.includes(kind))
    throw invalid(`The workspace must be one of ${WORKSPACE_KINDS.join(", ")}.`);
  const branch = optionalName(input.branchName, "branch");
  if (branch !== null && kind !== "worktree") throw invalid("A branch is for worktrees.");
  if (branch !== null && !isBranchName(branch))
    throw invalid(`${JSON.stringify(branch)} cannot be the name of a branch.`);
  const model = optionalName(input.modelOverride, "model");
  const provider = optionalName(input.providerOverride, "provider");
  if (provider !== null && model === null) throw invalid("A provider needs a model.");
  const whole = (value: number | undefined, what: string, min: number, max?: number): number | null =>
    value === undefined ? null : requireInteger(value, what, min, max);
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
    max_runtime_seconds: whole(input.maxRuntimeSeconds, "longest run time", 1),
    max_retries: whole(input.maxRetries, "number of retries", 1),
    skills: input.skills === undefined ? null : JSON.stringify(cleanSkills(input.skills)),
    model_override: model,
    provider_override: provider,
    reasoning_effort: optionalName(input.reasoningEffort, "reasoning effort"),
    goal_mode: Number(input.goalMode ?? false),
    goal_max_turns: whole(input.goalMaxTurns, "number of turns", 1),
    session_id: optionalName(input.sessionId, "session"),
    scheduled_at: whole(input.scheduledAt, "time", 0, Number.MAX_SAFE_INTEGER),
    completion_contract: optionalName(input.completionContract, "completion contract") ?? "local-only",
  };
}

/** What git takes as a branch; refused here, it does not fail only when a worker is started. */
function isBranchName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git allows none
  if (/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$/.test(name) || name === "@") return false;
  return name.split("/").every((part) => !part.startsWith(".") && !part.endsWith(".lock"));
}

function cleanSkills(skills: readonly string[]): readonly string[] {
  const names = skills.map((skill) => optionalName(skill, "skill")).filter((name) => name !== null);
  const wrong = names.filter((name) => name.includes(","));
  if (wrong.length > 0) throw invalid(`A skill has no comma in its name: ${wrong.join(" ")}`);
  return [...new Set(names)];
}
