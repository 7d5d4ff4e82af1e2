import { randomUUID } from "node:crypto";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, type Query, run, type Steps, wantChanges, wantRows } from "../database/steps.ts";
import type { Run, Task } from "../task.ts";
import { requireInteger } from "../task-text.ts";
import { type CapRefusal, type Caps, type Counter, isCapped, Room, RUNNING } from "./caps.ts";
import { type RunRow, requireTask, type TaskRow, toRun, toTask } from "./load.ts";
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

/** What is known of a claim without reading the task: enough to work on it by its id. */
export interface Claim {
  readonly taskId: string;
  readonly runId: number;
  readonly profile: string | null;
  readonly leaseUntil: number;
  /** Proves every later write of this run. */
  readonly token: string;
}

export interface ClaimIdsResult {
  readonly claimed: readonly Claim[];
  readonly refused: ClaimResult["refused"];
}

/** Only what a claim has to look at: a whole task costs as much to read as all the rest. */
interface Candidate extends Pick<TaskRow, "seq" | "id" | "assignee" | "max_runtime_seconds"> {
  readonly now: number;
  /** For its run, when no other task is wanted: to be told a number by an insert takes longer than to tell it one. */
  readonly run_id?: number;
  readonly has_open_parent: number;
  /** Of a task that was asked for by its id; of others, the statement has left out what cannot be claimed. */
  readonly status?: string;
  readonly hold?: number;
  readonly paused?: number;
  readonly waits?: number;
}

const CANDIDATE = `
  t.seq, t.id, t.assignee, t.max_runtime_seconds, hermes_now() as now,
  case when exists (select 1 from link l join task p on p.id = l.parent_id
    where l.child_id = t.id and p.status not in ('done', 'archived')) then 1 else 0 end as has_open_parent`;
const byId = (more: string): string => `
  select ${CANDIDATE}${more}, t.status, t.hold, (select paused from board) as paused,
         case when t.not_before > hermes_now() then 1 else 0 end as waits
    from task t
   where t.id {among:ids} order by t.seq`; // their status is looked at afterwards, or its index would be searched
const next = (from: ClaimRequest["from"], more = "", profiles = ""): string => `
  select ${CANDIDATE}${more} from task t
   where t.status = '${from}' and t.hold = 0 and (t.not_before is null or t.not_before <= hermes_now())
     and not exists (select 1 from board where paused = 1) ${profiles}
   order by t.priority desc, t.seq limit cast(:limit as bigint) {free}`;
const NUMBERED = ", {nextrun} as run_id";
const NEXT = { ready: next("ready"), review: next("review") };
const NEXT_ONE = { ready: next("ready", NUMBERED), review: next("review", NUMBERED) };
const OF_PROFILES = " and t.assignee {among:profiles}";
const NOT_FULL = " and (t.assignee is null or not (t.assignee {among:full}))";

/**
 * Where so few places are left, claimers take their turns before they write anything. Otherwise all of them would open
 * a run for the last place, meet at the counter, and keep everyone waiting who ends a run, only to be undone. Whoever
 * wants any task asks again later; whoever wants a certain one waits.
 */
const CROWDED = 32;
const GATE = "select value from counter where name = 'running' {lock}";
const GATE_IF_FREE = "select value from counter where name = 'running' {free}";

const RUN_COLUMNS = `
  id, task_id, profile, source_status, lease_token, host_id, supervisor_pid, lease_ms, lease_until, max_runtime_seconds,
  started_at`;
const OPEN_RUNS = `
  insert into run (${RUN_COLUMNS})
  select {nextrun:opened}, value ->> 'taskId', value ->> 'profile', :from, value ->> 'token', :hostId, cast(:supervisorPid as bigint),
         cast(:leaseMs as bigint), hermes_now() + cast(:leaseMs as bigint), cast(value ->> 'maxRuntime' as bigint),
         hermes_now()
    from {rows:runs} as opened returning id, task_id, lease_until, started_at`;
const START = `
  update task set status = 'running', started_at = coalesce(started_at, cast(:now as bigint)), updated_at = :now,
         not_before = null,
         current_run_id = (select r.id from run r where r.task_id = task.id and r.ended_at is null)
   where id {among:ids}`; // their status was read and locked by this transaction
const OPEN_RUN = `
  insert into run (${RUN_COLUMNS})
  values (:runId, :taskId, :profile, :from, :token, :hostId, cast(:supervisorPid as bigint),
          cast(:leaseMs as bigint), :leaseUntil, cast(:maxRuntime as bigint), :now)`;
const START_ONE = `
  update task set status = 'running', started_at = coalesce(started_at, cast(:now as bigint)), updated_at = :now,
         not_before = null, current_run_id = :runId where seq = :seq`;

/** As `claimIds`, with the tasks and the runs themselves. */
export function* claimTasks(change: Change, request: ClaimRequest): Steps<ClaimResult> {
  const { claimed, refused } = yield* claimIds(change, request);
  if (claimed.length === 0) return { claimed: [], refused };
  const ids = JSON.stringify(claimed.map(({ taskId }) => taskId));
  const tasks = yield* all<TaskRow>("select * from task where id {among:ids}", { ids });
  const runs = yield* all<RunRow>("select * from run where task_id {among:ids} and ended_at is null", {
    ids,
  });
  const taskOf = new Map(tasks.map((task) => [task.id, toTask(task)]));
  const runOf = new Map(runs.map((run) => [run.id, toRun(run)]));
  const whole = claimed.map(({ taskId, runId, token }): ClaimedTask => {
    const [task, run] = [taskOf.get(taskId), runOf.get(runId)];
    if (task === undefined || run === undefined) throw new Error(`the claim of ${taskId} is not there`);
    return { task, run, token };
  });
  return { claimed: whole, refused };
}

/**
 * Takes tasks for a host, never one twice and never more than the caps allow, each with a run of its own. Nothing is
 * done as often, so it yields its statements itself, and one task is spared what several need.
 */
export function* claimIds(change: Change, request: ClaimRequest): Steps<ClaimIdsResult> {
  requireRight(change.caller, "claim");
  requireInteger(request.leaseMs, "lease", 1);
  const { caps = {}, hostId, wanted, from } = request;
  let found: readonly Candidate[] = [];
  if (typeof wanted !== "number") {
    const { rows } = yield theseOnes(request, wanted);
    found = (rows as readonly Candidate[]).filter(({ status }) => status === from);
  }
  let room: Room | undefined;
  if (isCapped(caps)) {
    const look = function* (): Steps<Room> {
      return new Room(change, caps, hostId, (yield wantRows(RUNNING)).rows as readonly Counter[]);
    };
    room = yield* look();
    const left = room.left();
    if (left > 0 && left <= CROWDED) {
      const { rows } = yield wantRows(typeof wanted === "number" ? GATE_IF_FREE : GATE);
      if (rows.length === 0) return { claimed: [], refused: [] };
      room = yield* look();
    }
  }
  if (typeof wanted === "number") {
    const limit = Math.min(wanted, room?.left() ?? wanted);
    if (limit <= 0) return { claimed: [], refused: [] };
    const { rows } = yield nextOnes(request, limit, room?.fullProfiles() ?? []);
    found = rows as readonly Candidate[];
  }
  const { chosen, refused } = choose(request, found, room);
  for (const { taskId, reason } of refused) if (reason === "parents") yield* sendBack(change, taskId, from);
  const task = chosen[0];
  if (task === undefined) return { claimed: [], refused };
  if (task.run_id === undefined) return { claimed: yield* openRuns(change, request, chosen), refused };
  const run = newRun(request, task, task.run_id);
  yield wantChanges(OPEN_RUN, run);
  const { changes } = yield wantChanges(START_ONE, { seq: task.seq, now: task.now, runId: run.runId });
  requireStarted(changes, 1);
  const { taskId, runId, profile, leaseUntil, token } = run;
  const claim = { taskId, runId, profile, leaseUntil, token };
  tell(change, request, claim);
  return { claimed: [claim], refused };
}

function theseOnes({ patient }: ClaimRequest, ids: readonly string[]): Query {
  const text = `${byId(ids.length === 1 ? NUMBERED : "")} ${patient === true ? "{lock}" : "{free}"}`;
  return wantRows(text, { ids: JSON.stringify(ids) });
}

function nextOnes({ from, profiles }: ClaimRequest, limit: number, full: readonly string[]): Query {
  if (profiles === undefined && full.length === 0) {
    return wantRows(limit === 1 ? NEXT_ONE[from] : NEXT[from], { limit });
  }
  const choice = `${profiles === undefined ? "" : OF_PROFILES}${full.length > 0 ? NOT_FULL : ""}`;
  return wantRows(next(from, limit === 1 ? NUMBERED : "", choice), {
    limit,
    ...(full.length > 0 && { full: JSON.stringify(full) }),
    ...(profiles && { profiles: JSON.stringify(profiles) }),
  });
}

function choose(request: ClaimRequest, found: readonly Candidate[], room: Room | undefined) {
  const refused: { taskId: string; reason: ClaimRefusal }[] = [];
  const chosen: Candidate[] = [];
  for (const task of inOrder(found, request.wanted, refused)) {
    const reason = refusalOf(task, request, room);
    if (reason !== undefined) {
      refused.push({ taskId: task.id, reason });
      continue;
    }
    chosen.push(task);
    room?.take(task.assignee);
  }
  return { chosen, refused };
}

/** A task whose parents are not done should not have been there. */
function* sendBack(change: Change, taskId: string, from: ClaimRequest["from"]): Steps<void> {
  const event = from === "ready" ? "claim_rejected" : "dependency_wait";
  const payload = { reason: "parents_not_done" };
  yield* moveTask(change, yield* requireTask(taskId), "reject-claim", "todo", { event, payload });
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

function refusalOf(
  task: Candidate,
  { profiles }: ClaimRequest,
  room: Room | undefined,
): ClaimRefusal | undefined {
  if (profiles !== undefined && !profiles.includes(task.assignee ?? "")) return "unavailable";
  if (task.paused === 1) return "paused";
  if (task.hold === 1) return "held";
  if (task.waits === 1) return "waiting";
  if (task.has_open_parent === 1) return "parents";
  return room?.refusalFor(task.assignee);
}

function tell(change: Change, { from, hostId }: ClaimRequest, claim: Claim): void {
  const { taskId, runId, profile, leaseUntil } = claim;
  change.count(countersOf({ host_id: hostId, profile }), 1);
  const payload = { run_id: runId, expires: leaseUntil, profile, source_status: from };
  change.tell({ taskId, kind: "claimed", runId, from, to: "running", payload });
}

/** Most claims are of one task, which needs no detour through JSON. */
function newRun(
  { from, leaseMs, hostId, supervisorPid }: ClaimRequest,
  { id, assignee, max_runtime_seconds, now }: Candidate,
  runId: number,
) {
  return {
    runId,
    taskId: id,
    profile: assignee,
    from,
    token: newToken(),
    hostId,
    supervisorPid: supervisorPid ?? null,
    leaseMs,
    leaseUntil: now + leaseMs,
    maxRuntime: max_runtime_seconds,
    now,
  };
}

/** Opens the runs and names each in its task. */
function* openRuns(
  change: Change,
  request: ClaimRequest,
  tasks: readonly Candidate[],
): Steps<readonly Claim[]> {
  const { from, leaseMs, hostId, supervisorPid } = request;
  const runs = tasks.map(({ id, assignee, max_runtime_seconds }) => {
    return { taskId: id, profile: assignee, maxRuntime: max_runtime_seconds, token: newToken() };
  });
  const opened = yield* all<Pick<RunRow, "id" | "task_id" | "lease_until" | "started_at">>(OPEN_RUNS, {
    from,
    hostId,
    supervisorPid: supervisorPid ?? null,
    leaseMs,
    runs: JSON.stringify(runs),
  });
  const ids = JSON.stringify(tasks.map(({ id }) => id));
  requireStarted(yield* run(START, { ids, now: opened[0]?.started_at ?? 0 }), tasks.length);
  const openedOf = new Map(opened.map((row) => [row.task_id, row]));
  return runs.map(({ taskId, profile, token }) => {
    const row = openedOf.get(taskId);
    if (row === undefined) throw new Error(`no run was opened for ${taskId}`);
    const claim = { taskId, runId: row.id, profile, leaseUntil: row.lease_until, token };
    tell(change, request, claim);
    return claim;
  });
}

function requireStarted(started: number, wanted: number): void {
  if (started !== wanted) throw new Error("a task was claimed that this transaction had locked");
}

function newToken(): string {
  return randomUUID().replaceAll("-", "");
}
