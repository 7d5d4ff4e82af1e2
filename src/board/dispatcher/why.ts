import { formatTime, spanWords } from "../../lib/format-time.ts";
import { first, type Steps } from "../database/steps.ts";
import { findBlocks } from "../operations/find-blocks.ts";
import { nameTasks, type TaskName } from "../operations/glance.ts";
import { findOpenRun, openParents, requireTask, type TaskRow } from "../operations/load.ts";
import { type BranchGuard, findBranchGuard } from "./branch-guard.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import { GUARDS, type Guard, guardOf } from "./guards.ts";
import type { DispatchHost } from "./host.ts";
import { isAnyAlive, recentDispatchers } from "./living-dispatchers.ts";
import { hostName } from "./operations/board-lease.ts";
import { type BlockCause, causeOf } from "./operations/find-block-cause.ts";
import { type Eligible, listEligible } from "./operations/list-eligible.ts";
import { type DispatchPolicy, profileCap } from "./resolve-dispatch-policy.ts";

/** The one thing that keeps a task from running now, and what would release it. */
export interface Why {
  readonly task_id: string;
  readonly reason: string;
  /** A sentence for people; the same on every surface. */
  readonly text: string;
  /** What would release it, as a sentence; empty when nothing needs to. */
  readonly release: string;
  /** When it goes on by itself, if a time does it. */
  readonly until: number | null;
}

interface Facts {
  readonly task: TaskRow;
  readonly parents: readonly TaskName[];
  readonly host: string | null;
  readonly startedAt: number | null;
  readonly blockedBecause: string | null;
  readonly lastError: string | null;
  readonly blockCause: BlockCause;
  readonly eligible: Eligible;
  readonly dispatchers: readonly string[];
}

/** Why a task is not running, on one snapshot of its board and as seen from this host; throws `task-not-found`. */
export async function whyNotRunning(
  {
    board,
    host,
    policy,
  }: { readonly board: DispatchBoard; readonly host: DispatchHost; readonly policy: DispatchPolicy },
  taskId: string,
  signal: AbortSignal,
): Promise<Why> {
  const facts = await board.read(() => loadFacts(policy, taskId), signal);
  const resting = restingReason(facts);
  if (resting !== undefined) return { task_id: taskId, until: null, ...resting };
  return { task_id: taskId, until: null, ...(await readyReason(facts, { board, host }, policy, signal)) };
}

type Reason = Omit<Why, "task_id" | "until"> & { readonly until?: number };

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
    parents: [...(yield* nameTasks(yield* openParents(taskId))).values()].toSorted((a, b) => a.seq - b.seq),
    host: typeof open?.host_id === "string" ? yield* hostName(open.host_id) : null,
    startedAt: open?.started_at ?? null,
    blockedBecause: block?.reason ?? task.last_failure_error,
    blockCause: causeOf(block),
    lastError: last?.error ?? null,
    eligible: yield* listEligible({
      rateLimitMs: policy.rateLimitCooldownMs,
      taskId,
    }),
    dispatchers: yield* recentDispatchers(),
  };
}

function restingReason({
  task,
  parents,
  host,
  startedAt,
  blockedBecause,
  blockCause,
  eligible,
}: Facts): Reason | undefined {
  const { seq, status } = task;
  const quoted = blockedBecause === null ? "" : `: ${blockedBecause.split("\n", 1)[0]}`;
  if (status === "running")
    return {
      reason: "running",
      text: `It is running as ${task.assignee ?? "nobody"} on ${host ?? "an unknown host"}${startedAt === null ? "" : `, for ${spanWords(eligible.now - startedAt)}`}.`,
      release: "",
    };
  if (status === "done" || status === "archived")
    return { reason: status, text: `It is ${status}.`, release: "" };
  if (task.hold === 1)
    return { reason: "held", text: "Someone has set it aside.", release: `hermes kanban hold ${seq} --off` };
  if (status === "triage")
    return {
      reason: "triage",
      text:
        task.triage_reason === "block_loop"
          ? `It asked again and nobody had answered${quoted}`
          : "It is in triage and not written out yet.",
      release:
        task.triage_reason === "block_loop"
          ? `hermes kanban answer ${seq} TEXT`
          : `hermes kanban specify ${seq} --body TEXT`,
    };
  if (parents.length > 0)
    return {
      reason: "parents",
      text: `It waits for ${parents.map(({ seq, title, status: its }) => `#${seq} ${title} (${its})`).join(", ")}.`,
      release: `Finish that, or: hermes kanban unlink ${parents[0]?.seq} ${seq}`,
    };
  if (status === "scheduled")
    return {
      reason: "scheduled",
      text: `It is scheduled for ${when(task.scheduled_at, eligible.now)}.`,
      release: `hermes kanban unblock ${seq}`,
      ...(task.scheduled_at !== null && { until: task.scheduled_at }),
    };
  if (status === "blocked") {
    const isByItself = task.block_sticky === 0 && task.not_before !== null;
    return {
      reason: blockCause,
      text: `${BLOCKS[blockCause](task)}${quoted}`,
      release: RELEASES[blockCause](seq),
      ...(isByItself && task.not_before !== null && { until: task.not_before }),
    };
  }
  if (status === "review")
    return {
      reason: "review",
      text: `Its work waits for review${task.reviewer === null ? "" : ` by ${task.reviewer}`}.`,
      release: `hermes kanban approve ${seq}`,
    };
  if (eligible.paused)
    return { reason: "paused", text: "The board is paused.", release: "hermes kanban resume" };
  if (status === "todo")
    return {
      reason: "promotion",
      text: "The next pass of a dispatcher makes it ready.",
      release: "hermes kanban dispatch",
    };
  return undefined;
}

const RELEASES: Readonly<Record<BlockCause, (seq: number) => string>> = {
  blocked: (seq) => `hermes kanban answer ${seq} TEXT`,
  failed: (seq) => `hermes kanban retry ${seq}`,
  provider: (seq) => `Correct key, model or settings of its profile, then: hermes kanban retry ${seq}`,
  "rate-limit-bound": (seq) => `hermes kanban retry ${seq}`,
};

const BLOCKS: Readonly<Record<BlockCause, (task: TaskRow) => string>> = {
  blocked: () => "It is blocked",
  failed: ({ consecutive_failures: failures }) =>
    failures === 1 ? "It is blocked after a failure" : `It is blocked after ${failures} failures`,
  provider: () => "It is blocked because its provider refuses it whatever it tries",
  "rate-limit-bound": () => "It is blocked because the limit of its provider did not end",
};

async function readyReason(
  { task, lastError, eligible, dispatchers }: Facts,
  { board, host }: { readonly board: DispatchBoard; readonly host: DispatchHost },
  policy: DispatchPolicy,
  signal: AbortSignal,
): Promise<Reason> {
  const { id, seq } = task;
  const running = (counter: string): number => eligible.running.get(counter) ?? 0;
  const profile = task.assignee ?? policy.defaultAssignee;
  if (profile === undefined)
    return {
      reason: "unassigned",
      text: "It has no assignee.",
      release: `hermes kanban assign ${seq} PROFILE`,
    };
  if (policy.profiles !== undefined && !policy.profiles.includes(profile))
    return {
      reason: "nonspawnable",
      text: `This home leaves tasks of ${profile} to others.`,
      release: "Name it in kanban.dispatch_profiles, or dispatch from its own home.",
    };
  const runnable = await host.runnable(profile, signal);
  if (!runnable.ok)
    return {
      reason: "nonspawnable",
      text: `${profile} cannot work on this host: ${runnable.reason}`,
      release: `hermes kanban assign ${seq} PROFILE`,
    };
  const listed = eligible.tasks.find((one) => one.id === id);
  const isShut = eligible.limitedRoutes.size + eligible.refusedRoutes.size > 0;
  const route = isShut ? await host.routeOf(profile, task, signal) : "";
  const guard = listed === undefined ? undefined : guardOf(listed, eligible, policy, route);
  if (guard !== undefined)
    return {
      reason: guard.reason,
      text: `It waits until ${when(guard.until, eligible.now)}: ${GUARDS[guard.reason]}${detailOf(lastError, guard)}.`,
      release: guardReleaseOf(seq, guard),
      until: guard.until,
    };
  const branch = await findBranchGuard({ board, host }, task, eligible.now, signal);
  if (branch !== undefined) return branchReason(branch);
  const elsewhere = policy.maxInProgress === undefined ? 0 : await host.runningElsewhere(signal);
  const caps: readonly [string, number, number, string][] = [
    ["board-cap", running("running"), policy.maxSpawn ?? Infinity, "kanban.max_spawn"],
    [
      "host-cap",
      running(`running/host/${host.id}`) + elsewhere,
      policy.maxInProgress ?? Infinity,
      "kanban.max_in_progress",
    ],
    [
      "profile-cap",
      running(`running/profile/${profile}`),
      profileCap(policy, profile),
      "kanban.max_in_progress_per_profile",
    ],
  ];
  for (const [reason, count, cap, key] of caps)
    if (count >= cap)
      return {
        reason,
        text: `${count} tasks run, and ${key} allows ${cap}.`,
        release: `Wait for one to end, or raise ${key}.`,
      };
  const pressure = await host.memoryPressure(signal);
  if (pressure === "critical")
    return {
      reason: "memory",
      text: "This host is short of memory.",
      release: "Free some memory on this host.",
    };
  if (!(await isAnyAlive(dispatchers, signal)))
    return {
      reason: "no-dispatcher",
      text: "Nobody dispatches this board at the moment.",
      release: "hermes kanban daemon",
    };
  return { reason: "next", text: "Nothing is in its way; it starts with the next pass.", release: "" };
}

function branchReason({ user: { branch, path }, task }: BranchGuard): Reason {
  const reason = "branch_busy";
  if (task === undefined)
    return {
      reason,
      text: `It waits for its branch ${branch}, which is checked out in ${path}.`,
      release: `Leave the branch there, for instance with: git -C ${path} switch --detach`,
    };
  const { seq, title, status } = task;
  const isOver = status === "done" || status === "archived";
  return {
    reason,
    text: `It waits for its branch ${branch}, which #${seq} ${title} (${status}) uses in ${path}.`,
    release: isOver
      ? `Commit or remove what is left in that folder, then: hermes kanban gc`
      : `Finish that first: hermes kanban why ${seq}`,
  };
}

function guardReleaseOf(seq: number, { reason, met_by: other }: Guard): string {
  if (reason === "worker_leaving") return "";
  const anyway = `hermes kanban unguard ${seq}`;
  return reason === "blocker_auth" && other !== undefined
    ? `Correct the model, the key or the settings, then: hermes kanban retry ${other}; or try at once: ${anyway}`
    : anyway;
}

/** What the failure was that a pause follows, or where it was met. */
function detailOf(error: string | null, { reason, met_by: other }: Guard): string {
  if (other !== undefined) return `, as #${other} found out`;
  const follows = reason === "backoff" || reason === "infrastructure_cooldown";
  return follows && error !== null ? ` (${error.split("\n", 1)[0]})` : "";
}

/** In local time and in words. */
function when(at: number | null, now: number): string {
  if (at === null) return "an unknown time";
  return at > now ? `${formatTime(at)}, in ${spanWords(at - now)}` : formatTime(at);
}
