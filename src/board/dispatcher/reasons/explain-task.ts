import { formatDuration, formatNear } from "../../../lib/time/format-time.ts";
import { briefError } from "../../brief-error.ts";
import { authorOf } from "../../caller.ts";
import { first, type Steps } from "../../database/steps.ts";
import { type BlockCause, causeOf, findBlocks } from "../../operations/tasks/find-blocks.ts";
import { findTaskNames, type TaskName } from "../../operations/views/list-details.ts";
import {
  findOpenParents,
  findOpenRun,
  type RunRow,
  requireTask,
  type TaskRow,
} from "../../operations/views/rows.ts";
import { DISPATCHER, type DispatchBoard } from "../dispatch-board.ts";
import type { DispatchHost } from "../dispatch-host.ts";
import { isAnyAlive, recentDispatchers } from "../live-dispatchers.ts";
import { type DispatchPolicy, profileCap } from "../rules/resolve-dispatch-policy.ts";
import { findHostName } from "../transactions/dispatcher-rows.ts";
import { type EligibleTasks, listEligible } from "../transactions/list-eligible.ts";
import { type BranchGuard, findBranchGuard } from "./branch-guard.ts";
import { GUARDS, type Guard, guardOf } from "./guards.ts";

/** The one reason why a task is not running now, and what would release the task. */
export interface Explanation {
  readonly task_id: string;
  readonly reason: string;
  /** A sentence that is shown to users; the same on every surface. */
  readonly text: string;
  /** A command or sentence that releases the task; empty when no action is needed. */
  readonly release: string;
  /** When the task proceeds by itself; null if the task does not wait for a time. */
  readonly until: number | null;
}

interface Facts {
  readonly task: TaskRow;
  readonly parents: readonly TaskName[];
  readonly host: string | null;
  readonly startedAt: number | null;
  /** The claim of a person, which has no processes. */
  readonly claim: { readonly by: string; readonly until: number } | undefined;
  readonly blockedBecause: string | null;
  readonly lastError: string | null;
  readonly blockCause: BlockCause;
  readonly eligible: EligibleTasks;
  readonly dispatchers: readonly string[];
}

/** Why a task is not running, from one snapshot of its board and as seen from this host; throws `task-not-found`. */
export async function explainTask(
  {
    board,
    host,
    policy,
  }: { readonly board: DispatchBoard; readonly host: DispatchHost; readonly policy: DispatchPolicy },
  taskId: string,
  signal: AbortSignal,
): Promise<Explanation> {
  const facts = await board.read(() => loadFacts(policy, taskId), signal);
  const [reason, text, release, until = null] =
    restingReason(facts) ?? (await readyReason(facts, { board, host }, policy, signal));
  return { task_id: taskId, reason, text, release, until };
}

type Reason = readonly [reason: string, text: string, release: string, until?: number | null];

function* loadFacts(policy: DispatchPolicy, taskId: string): Steps<Facts> {
  const task = yield* requireTask(taskId);
  const open = yield* findOpenRun(taskId);
  const block = (yield* findBlocks([taskId])).get(taskId);
  const last = yield* first<{ error: string | null }>(
    "select error from run where task_id = :taskId and ended_at is not null order by id desc limit 1",
    { taskId },
  );
  return {
    task,
    parents: [...(yield* findTaskNames(yield* findOpenParents(taskId))).values()].toSorted(
      (a, b) => a.seq - b.seq,
    ),
    host: typeof open?.host_id === "string" ? yield* findHostName(open.host_id) : null,
    startedAt: open?.started_at ?? null,
    claim: open && (yield* findClaim(open)),
    blockedBecause: block?.reason ?? task.last_failure_error,
    blockCause: causeOf(block),
    lastError: last?.error ?? null,
    eligible: yield* listEligible({ rateLimitMs: policy.rateLimitCooldownMs, taskId }),
    dispatchers: yield* recentDispatchers(),
  };
}

/** Undefined for the claim of a dispatcher, which runs on a host. */
function* findClaim({ id, lease_until: until }: RunRow): Steps<Facts["claim"]> {
  const event = yield* first<{ actor: string }>(
    "select actor from event where run_id = :id and kind = 'claimed'",
    { id },
  );
  return event === undefined || event.actor === authorOf(DISPATCHER) ? undefined : { by: event.actor, until };
}

function restingReason({
  task,
  parents,
  blockedBecause,
  blockCause,
  eligible,
  ...open
}: Facts): Reason | undefined {
  const { seq, status } = task;
  const quoted = blockedBecause === null ? "" : `: ${briefError(blockedBecause)}`;
  if (status === "running" && open.claim !== undefined) {
    const { by, until } = open.claim;
    const text = `${by} has claimed it until ${formatDue(until, eligible.now)}.`;
    return ["running", text, `hermes kanban release ${seq}`];
  }
  if (status === "running") {
    const by = task.assignee === null ? "" : ` as ${task.assignee}`;
    const time = open.startedAt === null ? "" : `, for ${formatDuration(eligible.now - open.startedAt)}`;
    return ["running", `It is running${by} on ${open.host ?? "an unknown host"}${time}.`, ""];
  }
  if (status === "done" || status === "archived") return [status, `It is ${status}.`, ""];
  if (task.hold === 1) return ["held", "It is on hold.", `hermes kanban hold ${seq} --off`];
  if (status === "triage" && task.triage_reason === "block_loop") {
    const text = `Its question has not been answered, and it asked again${quoted}`;
    return ["triage", text, `hermes kanban answer ${seq} TEXT`];
  }
  if (status === "triage")
    return ["triage", "It is in triage and has no body yet.", `hermes kanban specify ${seq} --body TEXT`];
  if (parents.length > 0) {
    const names = parents.map((parent) => `#${parent.seq} ${parent.title} (${parent.status})`);
    const isOne = parents.length === 1;
    const text = isOne ? `It waits for ${names[0]}.` : `It waits for:\n${names.join("\n")}`;
    const what = isOne ? "the task that it waits for" : "these tasks";
    return ["parents", text, `Complete ${what}, or: hermes kanban unlink ${parents[0]?.seq} ${seq}`];
  }
  if (status === "scheduled") {
    const text = `It is scheduled for ${formatDue(task.scheduled_at, eligible.now)}.`;
    return ["scheduled", text, `hermes kanban unblock ${seq}`, task.scheduled_at];
  }
  if (status === "blocked") {
    const { text, release } = BLOCKS[blockCause];
    const until = task.block_sticky === 0 ? task.not_before : null;
    return [blockCause, `${text(task)}${quoted}`, release(seq), until];
  }
  if (status === "review") {
    const by = task.reviewer === null ? "" : ` by ${task.reviewer}`;
    const text = `Its work waits for review${by}; a person must do the review, because no dispatcher starts a reviewer.`;
    return ["review", text, `hermes kanban approve ${seq}`];
  }
  if (eligible.paused) return ["paused", "The board is paused.", "hermes kanban resume"];
  if (status === "todo")
    return ["promotion", "The next pass of a dispatcher makes it ready.", "hermes kanban dispatch"];
  return undefined;
}

const retry = (seq: number): string => `hermes kanban retry ${seq}`;

const BLOCKS: Readonly<Record<BlockCause, { text(task: TaskRow): string; release(seq: number): string }>> = {
  blocked: { text: () => "It is blocked", release: (seq) => `hermes kanban answer ${seq} TEXT` },
  failed: {
    text: ({ consecutive_failures: failures }) =>
      failures === 1 ? "It is blocked after a failure" : `It is blocked after ${failures} failures`,
    release: retry,
  },
  provider: {
    text: () => "It is blocked because its provider refuses every request",
    release: (seq) => `Correct the key, model or settings of its profile, then: ${retry(seq)}`,
  },
  "rate-limit-bound": {
    text: () => "It is blocked because it kept reaching the rate limit of its provider",
    release: retry,
  },
};

async function readyReason(
  { task, lastError, eligible, dispatchers }: Facts,
  { board, host }: { readonly board: DispatchBoard; readonly host: DispatchHost },
  policy: DispatchPolicy,
  signal: AbortSignal,
): Promise<Reason> {
  const { id, seq } = task;
  const countRunning = (counter: string): number => eligible.running.get(counter) ?? 0;
  const profile = task.assignee ?? policy.defaultAssignee;
  const assign = `hermes kanban assign ${seq} PROFILE`;
  if (profile === undefined) return ["unassigned", "It has no assignee.", assign];
  if (policy.profiles !== undefined && !policy.profiles.includes(profile)) {
    const release = `Add ${profile} to kanban.dispatch_profiles, or dispatch from its own home.`;
    return ["nonspawnable", `kanban.dispatch_profiles of this home does not list ${profile}.`, release];
  }
  const profileCheck = await host.runnable(profile, signal);
  if (!profileCheck.ok)
    return ["nonspawnable", `${profile} cannot work on this host: ${profileCheck.reason}`, assign];
  const listed = eligible.tasks.find((one) => one.id === id);
  const hasRouteFailures = eligible.limitedRoutes.size + eligible.refusedRoutes.size > 0;
  const route = hasRouteFailures ? await host.routeOf(profile, task, signal) : "";
  const guard = listed === undefined ? undefined : guardOf(listed, eligible, policy, route);
  if (guard !== undefined) {
    const due = formatDue(guard.until, eligible.now);
    const text = `It waits until ${due}: ${GUARDS[guard.reason]}${detailOf(lastError, guard)}.`;
    return [guard.reason, text, guardReleaseOf(seq, guard), guard.until];
  }
  const branch = await findBranchGuard({ board, host }, task, eligible.now, signal);
  if (branch !== undefined) return branchReason(branch);
  const elsewhere = policy.maxInProgress === undefined ? 0 : await host.runningElsewhere(signal);
  const { maxSpawn = Infinity, maxInProgress = Infinity } = policy;
  const onHost = countRunning(`running/host/${host.id}`) + elsewhere;
  const caps: readonly [string, number, number, string][] = [
    ["board-cap", countRunning("running"), maxSpawn, "max_spawn"],
    ["host-cap", onHost, maxInProgress, "max_in_progress"],
    [
      "profile-cap",
      countRunning(`running/profile/${profile}`),
      profileCap(policy, profile),
      "max_in_progress_per_profile",
    ],
  ];
  for (const [reason, count, cap, key] of caps) {
    if (count < cap) continue;
    const text = `${count} tasks are running, and kanban.${key} allows ${cap}.`;
    return [reason, text, `Wait until one ends, or raise kanban.${key}.`];
  }
  if ((await host.memoryPressure(signal)) === "critical")
    return ["memory", "This host is low on memory.", "Free some memory on this host."];
  if (!(await isAnyAlive(dispatchers, signal)))
    return ["no-dispatcher", "No dispatcher is running for this board.", "hermes kanban daemon"];
  return ["next", "It is ready and starts with the next pass.", ""];
}

function branchReason({ user: { branch, path }, task }: BranchGuard): Reason {
  const text = `It waits for its branch ${branch}, which`;
  if (task === undefined) {
    const release = `Switch that checkout to another branch, for instance: git -C ${path} switch --detach`;
    return ["branch_busy", `${text} is checked out in ${path}.`, release];
  }
  const { seq, title, status } = task;
  const release =
    status === "done" || status === "archived"
      ? "Commit or remove the files in that folder, then: hermes kanban gc"
      : `Complete that task first: hermes kanban why ${seq}`;
  return ["branch_busy", `${text} #${seq} ${title} (${status}) uses in ${path}.`, release];
}

function guardReleaseOf(seq: number, { reason, met_by: causedByTask }: Guard): string {
  if (reason === "worker_leaving") return "";
  const anyway = `hermes kanban unguard ${seq}`;
  return reason === "blocker_auth" && causedByTask !== undefined
    ? `Correct the model, key or settings, then: hermes kanban retry ${causedByTask}; or try at once: ${anyway}`
    : anyway;
}

/** The failure that caused a pause, or the task that caused the guard. */
function detailOf(error: string | null, { reason, met_by: causedByTask }: Guard): string {
  if (causedByTask !== undefined) return `, as #${causedByTask} found out`;
  const follows = reason === "backoff" || reason === "infrastructure_cooldown";
  return follows && error !== null ? ` (${briefError(error)})` : "";
}

/** Formats a time as local time and as a span from now. */
function formatDue(at: number | null, now: number): string {
  if (at === null) return "an unknown time";
  return at > now ? `${formatNear(at, now)}, in ${formatDuration(at - now)}` : formatNear(at, now);
}
