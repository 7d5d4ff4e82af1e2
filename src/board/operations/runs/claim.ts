import type { BoardTransaction } from "../../board-transaction.ts";
import { type ChildLimits, requireRight } from "../../caller.ts";
import { all, type Steps } from "../../database/steps.ts";
import type { Run, Task } from "../../task.ts";
import { requireInteger } from "../../task-text.ts";
import { createRunToken } from "../tasks/child-limits.ts";
import { countersOf, moveTask } from "../tasks/move-task.ts";
import { HAS_OPEN_PARENT, type RunRow, requireTask, type TaskRow, toRun, toTask } from "../views/rows.ts";
import { type CapRefusal, type Caps, lockCaps } from "./caps.ts";

export interface ClaimRequest {
  /** Task ids in order of preference. */
  readonly taskIds: readonly string[];
  readonly from: "ready" | "review";
  readonly leaseMs: number;
  readonly hostId: string;
  readonly supervisorPid?: number;
  readonly caps?: Caps;
  readonly childLimits?: ChildLimits;
  /** Only tasks of these profiles; omitted means all profiles. */
  readonly profiles?: readonly string[];
  /** Whether to wait for tasks that another transaction has locked; used for claims by a person. */
  readonly waitsForLocks?: boolean;
}

/** Why a task was not claimed. */
export type ClaimRefusal = "paused" | "unavailable" | "held" | "waiting" | "parents" | CapRefusal;

export interface ClaimedTask {
  readonly task: Task;
  readonly run: Run;
  /** Authorises every later write of this run; no other operation returns it. */
  readonly token: string;
}

interface RefusedTask {
  readonly taskId: string;
  readonly reason: ClaimRefusal;
}

export interface ClaimResult {
  readonly claimed: readonly ClaimedTask[];
  readonly refused: readonly RefusedTask[];
}

/** A locked task with the facts that decide whether it can be claimed. */
interface Candidate extends Pick<TaskRow, "id" | "assignee" | "status" | "hold" | "max_runtime_seconds"> {
  readonly paused: number;
  readonly waits: number;
  readonly has_open_parent: number;
}

const CANDIDATES = `
  select t.id, t.assignee, t.status, t.hold, t.max_runtime_seconds, (select paused from board) as paused,
         case when t.not_before > hermes_now() then 1 else 0 end as waits,
         case when ${HAS_OPEN_PARENT} then 1 else 0 end as has_open_parent
    from task t where t.id {among:ids} order by t.seq`;
const OPEN_RUNS = `
  insert into run (id, task_id, profile, source_status, lease_token, host_id, supervisor_pid, lease_ms, lease_until,
                   max_runtime_seconds, started_at)
  select {nextrun:opened}, value ->> 'taskId', value ->> 'profile', :from, value ->> 'token', :hostId,
         cast(:supervisorPid as bigint), cast(:leaseMs as bigint), hermes_now() + cast(:leaseMs as bigint),
         cast(value ->> 'maxRuntime' as bigint), hermes_now()
    from {rows:runs} as opened returning *`;
const START_TASKS = `
  update task set status = 'running', started_at = coalesce(started_at, cast(:now as bigint)), updated_at = :now,
         not_before = null,
         current_run_id = (select r.id from run r where r.task_id = task.id and r.ended_at is null)
   where id {among:ids} returning *`;

/**
 * Claims tasks for a host and opens a run for each. The unique index `run_by_task` allows one open run per task, so no task
 * is claimed twice; the caps are never exceeded. Tasks are locked before the caps, in the same order as when a run ends.
 */
export function* claimTasks(transaction: BoardTransaction, request: ClaimRequest): Steps<ClaimResult> {
  requireRight(transaction.caller, "claim");
  requireInteger(request.leaseMs, "lease", 1);
  const { taskIds, from, caps = {}, hostId, waitsForLocks = false } = request;
  const rows = yield* all<Candidate>(`${CANDIDATES} ${waitsForLocks ? "{lock}" : "{free}"}`, {
    ids: JSON.stringify(taskIds),
  });
  const candidates = new Map(rows.map((task) => [task.id, task]));
  const countRun = yield* lockCaps(caps, hostId);
  const chosen: Candidate[] = [];
  const refused: RefusedTask[] = [];
  for (const taskId of new Set(taskIds)) {
    const task = candidates.get(taskId);
    const reason = task === undefined ? "unavailable" : (refusalOf(task, request) ?? countRun(task.assignee));
    if (task !== undefined && reason === undefined) chosen.push(task);
    else refused.push({ taskId, reason: reason ?? "unavailable" });
    if (reason === "parents") yield* sendBack(transaction, taskId, from);
  }
  return { claimed: chosen.length === 0 ? [] : yield* openRuns(transaction, request, chosen), refused };
}

function refusalOf(task: Candidate, { from, profiles }: ClaimRequest): ClaimRefusal | undefined {
  if (task.status !== from) return "unavailable";
  if (profiles !== undefined && !profiles.includes(task.assignee ?? "")) return "unavailable";
  if (task.paused === 1) return "paused";
  if (task.hold === 1) return "held";
  if (task.waits === 1) return "waiting";
  return task.has_open_parent === 1 ? "parents" : undefined;
}

/** Moves a task with open parents back to `todo`: such a task must not be ready. */
function* sendBack(transaction: BoardTransaction, taskId: string, from: ClaimRequest["from"]): Steps<void> {
  const event = from === "ready" ? "claim_rejected" : "dependency_wait";
  const payload = { reason: "parents_not_done" };
  yield* moveTask(transaction, yield* requireTask(taskId), "reject-claim", "todo", { event, payload });
}

/** Opens a run for each task and sets the task to running; this transaction has locked the tasks. */
function* openRuns(
  transaction: BoardTransaction,
  { from, leaseMs, hostId, supervisorPid, childLimits }: ClaimRequest,
  tasks: readonly Candidate[],
): Steps<readonly ClaimedTask[]> {
  const wanted = tasks.map(({ id, assignee, max_runtime_seconds }) => {
    return {
      taskId: id,
      profile: assignee,
      maxRuntime: max_runtime_seconds,
      token: createRunToken(childLimits),
    };
  });
  const opened = yield* all<RunRow>(OPEN_RUNS, {
    from,
    hostId,
    supervisorPid: supervisorPid ?? null,
    leaseMs,
    runs: JSON.stringify(wanted),
  });
  const started = yield* all<TaskRow>(START_TASKS, {
    now: opened[0]?.started_at ?? 0,
    ids: JSON.stringify(tasks.map(({ id }) => id)),
  });
  const runOf = new Map(opened.map((row) => [row.task_id, row]));
  const taskOf = new Map(started.map((row) => [row.id, row]));
  return tasks.map(({ id }) => {
    const [task, run] = [taskOf.get(id), runOf.get(id)];
    if (task === undefined || run === undefined) throw new Error(`${id} could not be started`);
    const { id: runId, profile, lease_until: expires } = run;
    transaction.count(countersOf(run), 1);
    const payload = { run_id: runId, expires, profile, source_status: from };
    transaction.recordEvent({ taskId: id, kind: "claimed", runId, from, to: "running", payload });
    return { task: toTask(task), run: toRun(run), token: run.lease_token };
  });
}
