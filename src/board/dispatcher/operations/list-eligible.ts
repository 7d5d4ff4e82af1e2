import { all, only, type Steps } from "../../database/steps.ts";
import { findTaken } from "../../operations/leaving.ts";
import type { RunOutcome } from "../../task.ts";
import type { BranchTask } from "../../workspaces/find-branch-user.ts";
import type { ModelChoice } from "../host.ts";
import { AUTH_COOLDOWN_MS, FAILURE_EVENTS } from "../run-ending.ts";
import { DUE, HAS_OPEN_PARENT, WAITING } from "./find-work.ts";

/** A ready task with all that decides whether it may start. */
export interface EligibleTask extends ModelChoice, BranchTask {
  readonly seq: number;
  readonly id: string;
  readonly assignee: string | null;
  readonly priority: number;
  readonly not_before: number | null;
  readonly ready_at: number | null;
  /** Of its last run that is over. */
  readonly run_id: number | null;
  readonly outcome: RunOutcome | null;
  readonly ended_at: number | null;
  readonly metadata: string | null;
  /** When an operator lifted its guards. */
  readonly lifted_at: number | null;
  /** What was told last about why it does not start. */
  readonly told: string | null;
}

/** When a worker met something that concerns all tasks of its route, and the number of its task. */
export interface Wall {
  readonly at: number;
  readonly seq: number;
}

export interface Eligible {
  readonly now: number;
  readonly paused: boolean;
  readonly tasks: readonly EligibleTask[];
  /** Running tasks by counter, as in `countersOf`. */
  readonly running: ReadonlyMap<string, number>;
  readonly passes: ReadonlyMap<string, number>;
  /** Until when the worker of a run that is over may live, by the tasks that must wait for it. */
  readonly taken: ReadonlyMap<string, number>;
  /** The failure kinds of those last runs that had one. */
  readonly failureKinds: ReadonlyMap<number, string>;
  /** Where the limit of a route was last met, if nothing was completed on it since. */
  readonly limitedRoutes: ReadonlyMap<string, Wall>;
  /** Where the provider last refused a route for good, as long as that task is blocked. */
  readonly refusedRoutes: ReadonlyMap<string, Wall>;
  /** Where the list goes on, for each profile that has more tasks than were asked for. */
  readonly more: readonly Cursor[];
  /** Tasks that bookkeeping would make ready, when asked for. */
  readonly promoted: readonly string[];
  /** When the next scheduled or paused task is due. */
  readonly nextDueAt: number | null;
}

/** A task up to which those of a profile are listed. */
export interface Cursor {
  /** Null for tasks of nobody. */
  readonly assignee: string | null;
  readonly priority: number;
  readonly seq: number;
}

export interface EligibleOptions {
  /** No more than so many of each profile; left out means all. */
  readonly perProfile?: number;
  /** Only tasks that come after these, of their profiles. */
  readonly after?: readonly Cursor[];
  /** Lists tasks too that `recompute` would make ready with this limit. */
  readonly promoteWith?: number;
  readonly rateLimitMs: number;
  /** Only this one. */
  readonly taskId?: string;
}

const OVERDUE_MS = 60_000; // what is due for longer waits for something else, such as a parent

/** Ready tasks in the order in which they are wanted, on one snapshot. Held ones are not eligible. */
export function* listEligible(options: EligibleOptions): Steps<Eligible> {
  const board = yield* only<{ now: number; paused: number }>("select hermes_now() as now, paused from board");
  const { ready, more } = yield* listReady(options);
  const failureLimit = options.promoteWith;
  const promoted =
    failureLimit === undefined
      ? []
      : yield* list(`${WAITING} and t.phase = 'work' and ${DUE} and not ${HAS_OPEN_PARENT}`, options, {
          failureLimit,
        });
  const tasks = promoted.length === 0 ? ready : [...ready, ...promoted].sort(byTurn);
  const counters = yield* all<{ name: string; value: number }>(
    "select name, value from counter where name <> 'event' and value > 0",
  );
  const passes = yield* all<{ profile: string; pass: number }>("select profile, pass from dispatch_share");
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
    passes: new Map(passes.map(({ profile, pass }) => [profile, pass])),
    taken: yield* findTaken(options.taskId),
    failureKinds: yield* findFailureKinds(tasks),
    ...(yield* findWalls(options.rateLimitMs)),
    more,
    promoted: promoted.map(({ id }) => id),
    nextDueAt: next.due,
  };
}

const byTurn = (a: EligibleTask, b: EligibleTask): number => b.priority - a.priority || a.seq - b.seq;

const READY = "t.status = 'ready' and t.hold = 0";
/** From one profile to the next in the index, whatever they have to do. */
const PROFILES = `
  with recursive found(name) as (
    select min(assignee) from task where status = 'ready'
    union select (select min(t.assignee) from task t where t.status = 'ready' and t.assignee > found.name)
      from found where found.name is not null)
  select name from found where name is not null`;
const AFTER = "and (t.priority < :priority or (t.priority = :priority and t.seq > :seq))";

/** What there is of each profile, but no more than so many: nobody's tasks keep those of others out of sight. */
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
  return { ready: ready.sort(byTurn), more };
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
            t.model_override, t.provider_override, t.workspace_kind, t.workspace_path, t.branch_name, r.id as run_id, r.outcome, r.ended_at, r.metadata, n.lifted_at, n.told
       from task t
       left join run r on r.id = (select max(l.id) from run l where l.task_id = t.id and l.ended_at is not null)
       left join dispatch_note n on n.task_id = t.id where ${where} ${one}
      order by t.priority desc, t.seq ${some}`,
    { ...values, ...(taskId !== undefined && { taskId }), ...(limit !== undefined && { limit }) },
  );
}

/** Typed by the worker, in the event that ended its run. */
function* findFailureKinds(tasks: readonly EligibleTask[]): Steps<ReadonlyMap<number, string>> {
  const runs = tasks.flatMap(({ run_id, outcome }) =>
    run_id !== null && outcome !== null && MAY_HAVE_KIND.has(outcome) ? [{ id: run_id }] : [],
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

const MAY_HAVE_KIND: ReadonlySet<RunOutcome> = new Set([
  "crashed",
  "timed_out",
  "spawn_failed",
  "protocol_violation",
  "budget_exhausted",
  "gave_up",
]);

/** One dead key, and one limit, is found out once and not, one after the other, by all tasks of its route. */
function* findWalls(rateLimitMs: number): Steps<Pick<Eligible, "limitedRoutes" | "refusedRoutes">> {
  const rows = yield* all<WallRow>(WALLS, { since: Math.max(rateLimitMs, AUTH_COOLDOWN_MS) });
  const limited = new Map<string, Wall & { readonly runId: number }>();
  const refused = new Map<string, Wall>();
  for (const { id: runId, at, now, seq, ended, ...row } of rows) {
    const route = routeIn(row);
    if (row.outcome === "rate_limited") {
      if (at + rateLimitMs > now) limited.set(route, { at, seq, runId });
    } else if (row.status === "blocked" && at + AUTH_COOLDOWN_MS > now) {
      const { limit_source: source } = JSON.parse(ended ?? "{}") as { limit_source?: unknown };
      if (source === "outcome") refused.set(route, { at, seq });
    }
  }
  if (limited.size > 0) {
    const wall = Math.min(...[...limited.values()].map(({ runId }) => runId));
    for (const { id, ...row } of yield* all<WallRow>(COMPLETED_SINCE, { wall })) {
      const route = routeIn(row);
      if ((limited.get(route)?.runId ?? id) < id) limited.delete(route);
    }
  }
  return { limitedRoutes: limited, refusedRoutes: refused };
}

interface WallRow {
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

/** As the supervisor has recorded it; a run without one stands for its profile. */
function routeIn({ spawned, profile }: Pick<WallRow, "spawned" | "profile">): string {
  const { route } = JSON.parse(spawned ?? "{}") as { route?: unknown };
  return typeof route === "string" ? route : (profile ?? "");
}

const LOOK_BACK = 500; // runs; a guard that does not last need not look at all that ever were
const SPAWNED = "left join event s on s.task_id = r.task_id and s.run_id = r.id and s.kind = 'spawned'";
const WALLS = `
  select r.id, r.ended_at as at, hermes_now() as now, r.outcome, r.profile, t.seq, t.status,
         s.payload as spawned, e.payload as ended
    from run r join task t on t.id = r.task_id ${SPAWNED}
    left join event e on e.task_id = r.task_id and e.run_id = r.id and e.kind = 'gave_up'
   where r.id > (select coalesce(max(id), 0) from run) - ${LOOK_BACK} and r.outcome in ('rate_limited', 'gave_up')
     and r.ended_at > hermes_now() - cast(:since as bigint) order by r.id`;
const COMPLETED_SINCE = `
  select r.id, r.profile, s.payload as spawned from run r ${SPAWNED}
   where r.id > :wall and r.outcome = 'completed' order by r.id`;
