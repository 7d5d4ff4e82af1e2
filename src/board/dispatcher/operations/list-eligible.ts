import { all, first, only, type Steps } from "../../database/steps.ts";
import { findTaken } from "../../operations/leaving.ts";
import type { RunOutcome } from "../../task.ts";
import { AUTH_COOLDOWN_MS } from "../run-ending.ts";
import { DUE, HAS_OPEN_PARENT, WAITING } from "./find-work.ts";

/** A ready task with all that decides whether it may start. */
export interface EligibleTask {
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
  /** When a profile last met its rate limit, if it has completed nothing since. */
  readonly limitedProfiles: ReadonlyMap<string, number>;
  /** When the provider of a profile last refused it for good, as long as that task is blocked. */
  readonly refusedProfiles: ReadonlyMap<string, number>;
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
    limitedProfiles: yield* findLimitedProfiles(tasks, options.rateLimitMs),
    refusedProfiles: yield* findRefusedProfiles(),
    more,
    promoted: promoted.map(({ id }) => id),
    nextDueAt: next.due,
  };
}

type Listed = EligibleTask & { readonly seq: number };

const byTurn = (a: Listed, b: Listed): number => b.priority - a.priority || a.seq - b.seq;

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
function* listReady(options: EligibleOptions): Steps<{ ready: readonly Listed[]; more: readonly Cursor[] }> {
  const { perProfile: limit, after, taskId } = options;
  if (limit === undefined || taskId !== undefined)
    return { ready: yield* list(READY, options, {}), more: [] };
  const ready: Listed[] = [];
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
): Steps<readonly Listed[]> {
  const one = taskId === undefined ? "" : "and t.id = :taskId";
  const some = limit === undefined ? "" : "limit cast(:limit as bigint)";
  return yield* all(
    `select t.seq, t.id, t.assignee, t.priority, t.not_before, t.ready_at,
            r.id as run_id, r.outcome, r.ended_at, r.metadata, n.lifted_at, n.told
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
      where e.kind in ('crashed', 'timed_out', 'spawn_failed', 'protocol_violation', 'budget_exhausted')`,
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

/** One dead key is found out once, not by each task of its profile. */
function* findLimitedProfiles(
  tasks: readonly EligibleTask[],
  rateLimitMs: number,
): Steps<ReadonlyMap<string, number>> {
  const profiles = [...new Set(tasks.flatMap(({ assignee }) => assignee ?? []))];
  const limited = new Map<string, number>();
  for (const profile of profiles) {
    const wall = yield* first<{ id: number; ended_at: number; now: number }>(LAST_WALL, { profile });
    if (wall === undefined || wall.ended_at + rateLimitMs <= wall.now) continue;
    const success = yield* first(COMPLETED_SINCE, { profile, wall: wall.id });
    if (success === undefined) limited.set(profile, wall.ended_at);
  }
  return limited;
}

/** One dead key blocks one task and not, one after the other, all tasks of its profile. */
function* findRefusedProfiles(): Steps<ReadonlyMap<string, number>> {
  const rows = yield* all<{ profile: string; ended_at: number; payload: string }>(REFUSED);
  return new Map(
    rows.flatMap(({ profile, ended_at, payload }): [string, number][] => {
      const { limit_source: source } = JSON.parse(payload) as { limit_source?: unknown };
      return source === "outcome" ? [[profile, ended_at]] : [];
    }),
  );
}

const LOOK_BACK = 500; // runs; a guard that does not last need not look at all that ever were
const REFUSED = `
  select r.profile, r.ended_at, e.payload from run r
    join task t on t.id = r.task_id and t.status = 'blocked'
    join event e on e.task_id = r.task_id and e.run_id = r.id and e.kind = 'gave_up'
   where r.id > (select coalesce(max(id), 0) from run) - ${LOOK_BACK} and r.outcome = 'gave_up'
     and r.profile is not null and r.ended_at > hermes_now() - ${AUTH_COOLDOWN_MS} order by r.id`;

// With the plus SQLite searches the index of such runs, and not all runs from the end.
const LAST_WALL = `
  select id, ended_at, hermes_now() as now from run
   where id = (select max(+id) from run where profile = :profile and outcome = 'rate_limited')`;
const COMPLETED_SINCE = `
  select id from run where profile = :profile and outcome = 'completed' and id > :wall limit 1`;
