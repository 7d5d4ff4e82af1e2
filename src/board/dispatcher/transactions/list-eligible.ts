import { all, only, type Steps } from "../../database/steps.ts";
import { findWaitingForLeaving } from "../../operations/runs/leaving-runs.ts";
import { MAY_PROMOTE } from "../../operations/runs/recompute.ts";
import { HAS_OPEN_PARENT } from "../../operations/views/rows.ts";
import { RUN_OUTCOMES, type RunOutcome } from "../../task.ts";
import type { BranchTask } from "../../workspaces/git/find-branch-user.ts";
import type { ModelChoice } from "../dispatch-host.ts";
import { AUTH_COOLDOWN_MS, FAILURE_EVENTS } from "../rules/run-ending.ts";

/** A ready task with the facts that decide whether it may start. */
export interface EligibleTask extends ModelChoice, BranchTask {
  readonly seq: number;
  readonly id: string;
  readonly assignee: string | null;
  readonly priority: number;
  readonly not_before: number | null;
  readonly ready_at: number | null;
  /** The last ended run; the next three fields belong to it. */
  readonly run_id: number | null;
  readonly outcome: RunOutcome | null;
  readonly ended_at: number | null;
  readonly metadata: string | null;
  /** When an operator last lifted the guards of the task. */
  readonly lifted_at: number | null;
  /** The last recorded notices about why the task does not start, one per line. */
  readonly lastNotices: string | null;
}

/** A rate limit or refusal that affects all tasks of a route: when it occurred, and on which task. */
export interface RouteFailure {
  readonly at: number;
  readonly seq: number;
}

export interface EligibleTasks {
  readonly now: number;
  readonly paused: boolean;
  readonly tasks: readonly EligibleTask[];
  /** Counts of running tasks by counter name, as `countersOf` defines the names. */
  readonly running: ReadonlyMap<string, number>;
  /** The stride-scheduling total of each profile. */
  readonly strideTotals: ReadonlyMap<string, number>;
  /** For each task that waits for a leaving run: the time until which that run's worker may still be alive. */
  readonly waitingForLeaving: ReadonlyMap<string, number>;
  /** The failure kinds of the last runs, by run id. */
  readonly failureKinds: ReadonlyMap<number, string>;
  /** The last rate limit of each route, unless a later run of that route was completed. */
  readonly limitedRoutes: ReadonlyMap<string, RouteFailure>;
  /** The last permanent refusal of each route, while the refused task is blocked. */
  readonly refusedRoutes: ReadonlyMap<string, RouteFailure>;
  /** Where the list continues, for each profile that has more tasks than the limit. */
  readonly nextCursors: readonly Cursor[];
  /** Tasks that bookkeeping would make ready; filled only with `promoteWith`. */
  readonly promoted: readonly string[];
  /** When the next scheduled task or the next retry of a blocked task is due. */
  readonly nextDueAt: number | null;
}

/** The last listed task of a profile. */
export interface Cursor {
  /** Null for unassigned tasks. */
  readonly assignee: string | null;
  readonly priority: number;
  readonly seq: number;
}

export interface EligibleOptions {
  /** The maximum number of tasks per profile; all tasks if omitted. */
  readonly perProfile?: number;
  /** Lists only the profiles of these cursors, each after its cursor. */
  readonly after?: readonly Cursor[];
  /** Also lists tasks that `recompute` would make ready with this failure limit. */
  readonly promoteWith?: number;
  readonly rateLimitMs: number;
  /** Lists only this task. */
  readonly taskId?: string;
}

const OVERDUE_MS = 60_000; // a task overdue by more than this is waiting for something else, such as a parent

/** Ready tasks by priority and age, from one snapshot. Held tasks are not eligible. */
export function* listEligible(options: EligibleOptions): Steps<EligibleTasks> {
  const board = yield* only<{ now: number; paused: number }>("select hermes_now() as now, paused from board");
  const { ready, more: nextCursors } = yield* listReady(options);
  const failureLimit = options.promoteWith;
  const promoted =
    failureLimit === undefined
      ? []
      : yield* list(`t.phase = 'work' and ${MAY_PROMOTE} and not ${HAS_OPEN_PARENT}`, options, {
          failureLimit,
        });
  const tasks = promoted.length === 0 ? ready : [...ready, ...promoted].sort(byPriority);
  const counters = yield* all<{ name: string; value: number }>(
    "select name, value from counter where name <> 'event' and value > 0",
  );
  const shares = yield* all<{ profile: string; pass: number }>("select profile, pass from dispatch_share");
  const next = yield* only<{ due: number | null }>(
    `select min(due) as due from (
       select min(scheduled_at) as due from task where status = 'scheduled' and hold = 0
          and scheduled_at > hermes_now() - ${OVERDUE_MS}
       union all select min(not_before) from task where status = 'blocked' and block_sticky = 0 and hold = 0
          and not_before > hermes_now() - ${OVERDUE_MS}) as soonest`,
  );
  return {
    now: board.now,
    paused: board.paused === 1,
    tasks,
    running: new Map(counters.map(({ name, value }) => [name, value])),
    strideTotals: new Map(shares.map(({ profile, pass }) => [profile, pass])),
    waitingForLeaving: yield* findWaitingForLeaving(options.taskId),
    failureKinds: yield* findFailureKinds(tasks),
    ...(yield* findRouteFailures(options.rateLimitMs)),
    nextCursors,
    promoted: promoted.map(({ id }) => id),
    nextDueAt: next.due,
  };
}

const byPriority = (a: EligibleTask, b: EligibleTask): number => b.priority - a.priority || a.seq - b.seq;

const READY = "t.status = 'ready' and t.hold = 0";
/** Skips from profile to profile in the index, so that the cost does not depend on the number of tasks. */
const PROFILES = `
  with recursive found(name) as (
    select min(assignee) from task where status = 'ready'
    union select (select min(t.assignee) from task t where t.status = 'ready' and t.assignee > found.name)
      from found where found.name is not null)
  select name from found where name is not null`;
const AFTER = "and (t.priority < :priority or (t.priority = :priority and t.seq > :seq))";

/** Limits the list per profile, so that a profile with many tasks does not hide the tasks of others. */
function* listReady(
  options: EligibleOptions,
): Steps<{ ready: readonly EligibleTask[]; more: readonly Cursor[] }> {
  const { perProfile: limit, after, taskId } = options;
  if (limit === undefined || taskId !== undefined)
    return { ready: yield* list(READY, options, {}), more: [] };
  const ready: EligibleTask[] = [];
  const more: Cursor[] = [];
  const starts: readonly { readonly assignee: string | null; readonly cursor?: Cursor }[] = after?.map(
    (cursor) => ({ assignee: cursor.assignee, cursor }),
  ) ?? [
    ...(yield* all<{ name: string }>(PROFILES)).map(({ name }) => ({ assignee: name })),
    { assignee: null },
  ];
  for (const { assignee, cursor } of starts) {
    const whose = assignee === null ? "t.assignee is null" : "t.assignee = :assignee";
    const tasks = yield* list(
      `${READY} and ${whose} ${cursor === undefined ? "" : AFTER}`,
      { limit: limit + 1 },
      {
        ...(assignee !== null && { assignee }),
        ...(cursor && { priority: cursor.priority, seq: cursor.seq }),
      },
    );
    const listed = tasks.slice(0, limit);
    const last = listed.at(-1);
    if (tasks.length > limit && last !== undefined)
      more.push({ assignee, priority: last.priority, seq: last.seq });
    ready.push(...listed);
  }
  return { ready: ready.sort(byPriority), more };
}

function* list(
  where: string,
  { taskId, limit }: { readonly taskId?: string; readonly limit?: number },
  values: Readonly<Record<string, number | string>>,
): Steps<readonly EligibleTask[]> {
  const one = taskId === undefined ? "" : "and t.id = :taskId";
  const some = limit === undefined ? "" : "limit cast(:limit as bigint)";
  return yield* all(
    `select t.seq, t.id, t.assignee, t.priority, t.not_before, t.ready_at,
            t.model_override, t.provider_override, t.workspace_kind, t.workspace_path, t.branch_name, r.id as run_id, r.outcome, r.ended_at, r.metadata, n.lifted_at, n.told as "lastNotices"
       from task t
       left join run r on r.id = (select max(l.id) from run l where l.task_id = t.id and l.ended_at is not null)
       left join dispatch_note n on n.task_id = t.id where ${where} ${one}
      order by t.priority desc, t.seq ${some}`,
    { ...values, ...(taskId !== undefined && { taskId }), ...(limit !== undefined && { limit }) },
  );
}

/** The failure kinds that workers reported in the events that ended their runs. */
function* findFailureKinds(tasks: readonly EligibleTask[]): Steps<ReadonlyMap<number, string>> {
  const runs = tasks.flatMap(({ run_id, outcome }) =>
    run_id !== null && outcome !== null && RUN_OUTCOMES[outcome].failure ? [{ id: run_id }] : [],
  );
  if (runs.length === 0) return new Map();
  const rows = yield* all<{ run_id: number; payload: string }>(
    `select e.run_id, e.payload from {rows:runs} as ended
       join event e on e.run_id = cast(ended.value ->> 'id' as bigint)
      where e.kind in (${FAILURE_EVENTS})`,
    { runs: JSON.stringify(runs) },
  );
  return new Map(
    rows.flatMap(({ run_id, payload }): [number, string][] => {
      const { failure_kind: kind } = JSON.parse(payload) as { failure_kind?: unknown };
      return typeof kind === "string" ? [[run_id, kind]] : [];
    }),
  );
}

/** After one run hits a rate limit or has its key refused, all tasks of that route are guarded. */
function* findRouteFailures(
  rateLimitMs: number,
): Steps<Pick<EligibleTasks, "limitedRoutes" | "refusedRoutes">> {
  const rows = yield* all<RouteFailureRow>(ROUTE_FAILURES, {
    since: Math.max(rateLimitMs, AUTH_COOLDOWN_MS),
  });
  const limitedRoutes = new Map<string, RouteFailure & { readonly runId: number }>();
  const refusedRoutes = new Map<string, RouteFailure>();
  for (const { id: runId, at, now, seq, ended, ...row } of rows) {
    const route = routeIn(row);
    if (row.outcome === "rate_limited") {
      if (at + rateLimitMs > now) limitedRoutes.set(route, { at, seq, runId });
    } else if (row.status === "blocked" && at + AUTH_COOLDOWN_MS > now) {
      const { limit_source: source } = JSON.parse(ended ?? "{}") as { limit_source?: unknown };
      if (source === "outcome") refusedRoutes.set(route, { at, seq });
    }
  }
  if (limitedRoutes.size > 0) {
    const firstLimited = Math.min(...[...limitedRoutes.values()].map(({ runId }) => runId));
    for (const { id, ...row } of yield* all<RouteFailureRow>(COMPLETED_SINCE, { firstLimited })) {
      const route = routeIn(row);
      if ((limitedRoutes.get(route)?.runId ?? id) < id) limitedRoutes.delete(route);
    }
  }
  return { limitedRoutes, refusedRoutes };
}

interface RouteFailureRow {
  readonly id: number;
  readonly at: number;
  readonly now: number;
  readonly seq: number;
  readonly status: string;
  readonly outcome: string;
  readonly profile: string | null;
  readonly spawned: string | null;
  readonly ended: string | null;
}

/** The route that the supervisor recorded, or the profile of a run without a recorded route. */
function routeIn({ spawned, profile }: Pick<RouteFailureRow, "spawned" | "profile">): string {
  const { route } = JSON.parse(spawned ?? "{}") as { route?: unknown };
  return typeof route === "string" ? route : (profile ?? "");
}

const LOOK_BACK = 500; // runs; guards are short-lived, so older runs need not be read
const SPAWNED = "left join event s on s.task_id = r.task_id and s.run_id = r.id and s.kind = 'spawned'";
const ROUTE_FAILURES = `
  select r.id, r.ended_at as at, hermes_now() as now, r.outcome, r.profile, t.seq, t.status,
         s.payload as spawned, e.payload as ended
    from run r join task t on t.id = r.task_id ${SPAWNED}
    left join event e on e.task_id = r.task_id and e.run_id = r.id and e.kind = 'gave_up'
   where r.id > (select coalesce(max(id), 0) from run) - ${LOOK_BACK} and r.outcome in ('rate_limited', 'gave_up')
     and r.ended_at > hermes_now() - cast(:since as bigint) order by r.id`;
const COMPLETED_SINCE = `
  select r.id, r.profile, s.payload as spawned from run r ${SPAWNED}
   where r.id > :firstLimited and r.outcome = 'completed' order by r.id`;
