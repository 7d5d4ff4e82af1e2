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
  /** Tasks that bookkeeping would make ready, when asked for. */
  readonly promoted: readonly string[];
  /** When the next scheduled or paused task is due. */
  readonly nextDueAt: number | null;
}

export interface EligibleOptions {
  /** Lists tasks too that `recompute` would make ready with this limit. */
  readonly promoteWith?: number;
  readonly rateLimitMs: number;
  /** Only this one. */
  readonly taskId?: string;
}

const OVERDUE_MS = 60_000; // what is due for longer waits for something else, such as a parent

/** All ready tasks in the order in which they are wanted, on one snapshot. Held ones are not eligible. */
export function* listEligible(options: EligibleOptions): Steps<Eligible> {
  const board = yield* only<{ now: number; paused: number }>("select hermes_now() as now, paused from board");
  const ready = yield* list("t.status = 'ready' and t.hold = 0", options, {});
  const failureLimit = options.promoteWith;
  const promoted =
    failureLimit === undefined
      ? []
      : yield* list(`${WAITING} and t.phase = 'work' and ${DUE} and not ${HAS_OPEN_PARENT}`, options, {
          failureLimit,
        });
  const tasks =
    promoted.length === 0
      ? ready
      : [...ready, ...promoted].sort((a, b) => b.priority - a.priority || a.seq - b.seq);
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
    promoted: promoted.map(({ id }) => id),
    nextDueAt: next.due,
  };
}

function* list(
  where: string,
  { taskId }: EligibleOptions,
  values: Readonly<Record<string, number>>,
): Steps<readonly (EligibleTask & { readonly seq: number })[]> {
  const one = taskId === undefined ? "" : "and t.id = :taskId";
  return yield* all(
    `select t.seq, t.id, t.assignee, t.priority, t.not_before, t.ready_at,
            r.id as run_id, r.outcome, r.ended_at, r.metadata, n.lifted_at, n.told
       from task t
       left join run r on r.id = (select max(l.id) from run l where l.task_id = t.id and l.ended_at is not null)
       left join dispatch_note n on n.task_id = t.id where ${where} ${one} order by t.priority desc, t.seq`,
    { ...values, ...(taskId !== undefined && { taskId }) },
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
