import { randomUUID } from "node:crypto";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, run, type Steps } from "../database/steps.ts";
import type { Run, Task } from "../task.ts";
import { requireInteger } from "../task-text.ts";
import { type CapRefusal, type Caps, loadRoom, type Room } from "./caps.ts";
import { type RunRow, type TaskRow, toRun, toTask } from "./load.ts";
import { countersOf, moveTask } from "./move-task.ts";

export interface ClaimRequest {
  /** Which tasks, in the order in which they are wanted, or how many of those that come first. */
  readonly wanted: readonly string[] | number;
  readonly from: "ready" | "review";
  readonly leaseMs: number;
  readonly hostId: string;
  readonly supervisorPid?: number;
  readonly caps?: Caps;
  /** Only tasks of these profiles; left out means of all. */
  readonly profiles?: readonly string[];
  /** Whether to wait for tasks that another transaction is changing, as a person would. */
  readonly patient?: boolean;
}

/** Why a task that was wanted by its id was not claimed. */
export type ClaimRefusal = "paused" | "unavailable" | "held" | "waiting" | "parents" | CapRefusal;

export interface ClaimedTask {
  readonly task: Task;
  readonly run: Run;
  /** Proves every later write of this run; it is in no other answer of the store. */
  readonly token: string;
}

export interface ClaimResult {
  readonly claimed: readonly ClaimedTask[];
  readonly refused: readonly { readonly taskId: string; readonly reason: ClaimRefusal }[];
}

interface Candidate extends TaskRow {
  readonly open_parents: number;
  readonly paused: number;
  readonly now: number;
}

const CANDIDATE = `
  t.*, hermes_now() as now, (select paused from board) as paused,
  (select count(*) from link l join task p on p.id = l.parent_id
    where l.child_id = t.id and p.status not in ('done', 'archived')) as open_parents`;
const BY_ID = `
  select ${CANDIDATE} from task t
   where t.id {among:ids} order by t.seq`; // their status is looked at afterwards, or its index would be searched
const NEXT = `
  select ${CANDIDATE} from task t
   where t.status = :from and t.hold = 0 and coalesce(t.not_before, 0) <= hermes_now()
     and not exists (select 1 from board where paused = 1)`;
const ORDER = "order by t.priority desc, t.seq limit cast(:limit as bigint) {free}";
const OF_PROFILES = "and t.assignee {among:profiles}";
const NOT_FULL = "and (t.assignee is null or not (t.assignee {among:full}))";
const OPEN_RUNS = `
  insert into run (task_id, profile, source_status, lease_token, host_id, supervisor_pid, lease_ms, lease_until,
                   max_runtime_seconds, started_at)
  select value ->> 'task_id', value ->> 'profile', :from, value ->> 'token', :hostId, cast(:supervisorPid as bigint),
         cast(:leaseMs as bigint), hermes_now() + cast(:leaseMs as bigint),
         cast(value ->> 'max_runtime_seconds' as bigint), hermes_now()
    from {rows:runs} as opened returning *`;
const START = `
  update task set status = 'running', started_at = coalesce(started_at, cast(:now as bigint)), updated_at = :now,
         not_before = null,
         current_run_id = (select r.id from run r where r.task_id = task.id and r.ended_at is null)
   where id {among:ids}`; // their status was read and locked by this transaction

/** Takes tasks for a host, never one twice and never more than the caps allow, each with a run of its own. */
export function* claimTasks(change: Change, request: ClaimRequest): Steps<ClaimResult> {
  requireRight(change.caller, "claim");
  requireInteger(request.leaseMs, "lease", 1);
  const { caps = {}, hostId } = request;
  const ids = typeof request.wanted === "number" ? undefined : request.wanted;
  if (ids !== undefined) {
    const found = yield* all<Candidate>(`${BY_ID} ${request.patient === true ? "{lock}" : "{free}"}`, {
      ids: JSON.stringify(ids),
    });
    const waiting = found.filter(({ status }) => status === request.from);
    return yield* take(change, request, waiting, yield* loadRoom(change, caps, hostId));
  }
  const room = yield* loadRoom(change, caps, hostId);
  const limit = Math.min(Number(request.wanted), room.left());
  if (limit <= 0) return { claimed: [], refused: [] };
  const profiles = `${request.profiles === undefined ? "" : OF_PROFILES} ${room.fullProfiles.length > 0 ? NOT_FULL : ""}`;
  const found = yield* all<Candidate>(`${NEXT} ${profiles} ${ORDER}`, {
    from: request.from,
    limit,
    ...(room.fullProfiles.length > 0 && { full: JSON.stringify(room.fullProfiles) }),
    ...(request.profiles && { profiles: JSON.stringify(request.profiles) }),
  });
  return yield* take(change, request, found, room);
}

function* take(
  change: Change,
  request: ClaimRequest,
  found: readonly Candidate[],
  room: Room,
): Steps<ClaimResult> {
  const refused: { taskId: string; reason: ClaimRefusal }[] = [];
  const chosen: Candidate[] = [];
  for (const task of inOrder(found, request.wanted, refused)) {
    const reason = refusalOf(task, request, room);
    if (reason === undefined) {
      chosen.push(task);
      room.take(task.assignee);
      continue;
    }
    refused.push({ taskId: task.id, reason });
    if (reason !== "parents") continue;
    const event = request.from === "ready" ? "claim_rejected" : "dependency_wait";
    yield* moveTask(change, task, "reject-claim", "todo", { event, payload: { reason: "parents_not_done" } });
  }
  return { claimed: chosen.length === 0 ? [] : yield* start(change, request, chosen), refused };
}

function inOrder(
  found: readonly Candidate[],
  wanted: ClaimRequest["wanted"],
  refused: { taskId: string; reason: ClaimRefusal }[],
): readonly Candidate[] {
  if (typeof wanted === "number") return found;
  return [...new Set(wanted)].flatMap((id) => {
    const task = found.find((candidate) => candidate.id === id);
    if (task === undefined) refused.push({ taskId: id, reason: "unavailable" });
    return task ?? [];
  });
}

function refusalOf(task: Candidate, { profiles }: ClaimRequest, room: Room): ClaimRefusal | undefined {
  if (profiles !== undefined && !profiles.includes(task.assignee ?? "")) return "unavailable";
  if (task.paused === 1) return "paused";
  if (task.hold === 1) return "held";
  if (task.not_before !== null && task.not_before > task.now) return "waiting";
  if (task.open_parents > 0) return "parents";
  return room.refusalFor(task.assignee);
}

function* start(
  change: Change,
  request: ClaimRequest,
  tasks: readonly Candidate[],
): Steps<readonly ClaimedTask[]> {
  const { from, leaseMs, hostId, supervisorPid = null } = request;
  const runs = tasks.map(({ id, assignee, max_runtime_seconds }) => {
    return { task_id: id, profile: assignee, max_runtime_seconds, token: randomUUID().replaceAll("-", "") };
  });
  const opened = yield* all<RunRow>(OPEN_RUNS, {
    runs: JSON.stringify(runs),
    from,
    hostId,
    supervisorPid,
    leaseMs,
  });
  const now = opened[0]?.started_at ?? 0;
  const started = yield* run(START, { ids: JSON.stringify(tasks.map(({ id }) => id)), now });
  if (started !== tasks.length) throw new Error("a task was claimed that this transaction had locked");
  return tasks.map(({ open_parents: _, paused: __, now: ___, ...task }) => {
    const opening = opened.find(({ task_id }) => task_id === task.id);
    if (opening === undefined) throw new Error(`no run was opened for ${task.id}`);
    change.count(countersOf(opening), 1);
    const { id: runId, lease_until: expires, profile } = opening;
    const payload = { run_id: runId, expires, profile, source_status: from };
    change.tell({ taskId: task.id, kind: "claimed", runId, from, to: "running", payload });
    const taken = {
      status: "running",
      updated_at: now,
      started_at: task.started_at ?? now,
      not_before: null,
    } as const;
    return {
      task: toTask({ ...task, ...taken, current_run_id: runId }),
      run: toRun(opening),
      token: opening.lease_token,
    };
  });
}
