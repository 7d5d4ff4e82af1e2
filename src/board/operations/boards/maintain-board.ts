import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, only, run, type Steps } from "../../database/steps.ts";
import { requireInteger } from "../../task-text.ts";
import { lockGraph } from "../views/rows.ts";

const DAY_MS = 86_400_000;

export interface Retention {
  readonly eventDays: number;
  /** 0 keeps subscriptions forever. */
  readonly subscriptionDays: number;
}

export interface CollectedGarbage {
  readonly events: number;
  readonly subscriptions: number;
}

/** Deletes old events of finished tasks, and subscriptions to tasks that have not changed for a long time. */
export function* collectGarbage(
  transaction: BoardTransaction,
  retention: Retention,
): Steps<CollectedGarbage> {
  requireRight(transaction.caller, "maintain");
  const eventsBefore = DAY_MS * requireInteger(retention.eventDays, "number of days", 0);
  const subscriptionsBefore = DAY_MS * requireInteger(retention.subscriptionDays, "number of days", 0);
  yield* lockGraph();
  // Keep `decomposed`: this event prevents a second decomposition of the task.
  const events = yield* run(
    `delete from event where created_at < hermes_now() - cast(:age as bigint) and kind <> 'decomposed'
        and (task_id is null or task_id in (select id from task where status in ('done', 'archived')))`,
    { age: eventsBefore },
  );
  if (events > 0) {
    yield* run(
      "update board set events_kept_from = hermes_now() - cast(:age as bigint) where events_kept_from < hermes_now() - cast(:age as bigint)",
      { age: eventsBefore },
    );
  }
  const subscriptions =
    subscriptionsBefore === 0
      ? 0
      : yield* run(
          `delete from subscription where task_id in (
             select id from task where status in ('done', 'blocked', 'archived')
                and updated_at < hermes_now() - cast(:age as bigint))`,
          { age: subscriptionsBefore },
        );
  return { events, subscriptions };
}

/** Checks the invariants of the board; returns one sentence per violation. */
export function* checkContent(): Steps<readonly string[]> {
  const findings: string[] = [];
  for (const { sql, describe } of CHECKS) {
    const rows = yield* all<{ what: string; more: string | number | null }>(`${sql} limit 100`);
    findings.push(...rows.map(({ what, more }) => describe(what, more)));
  }
  return [...findings, ...(yield* findCycles())];
}

/** The status of a task according to its events. A `decomposed` event that has outlived later events does not count. */
const LAST_STATUS = `(
  select e.to_status from event e where e.task_id = t.id and e.to_status is not null
     and (e.kind <> 'decomposed' or e.created_at >= (select events_kept_from from board)) order by e.id desc limit 1)`;

/** SQL for open and leaving runs, written so that an index is used. */
const COUNTED = `(r.id in (select current_run_id from task where status = 'running')
  or r.id in (select l.id from run l where l.ended_at is not null and l.lease_until > 0))`;

/** Invariants that the database cannot enforce. Each check returns one type for `more`: text or number. */
const CHECKS: readonly {
  readonly sql: string;
  describe(what: string, more: string | number | null): string;
}[] = [
  {
    sql: `select t.id as what, t.current_run_id as more from task t where t.current_run_id is not null
           and not exists (select 1 from run r where r.id = t.current_run_id and r.task_id = t.id and r.ended_at is null)`,
    describe: (task, runId) => `${task} refers to run ${runId}, which is not open`,
  },
  {
    sql: `select r.task_id as what, r.id as more from run r join task t on t.id = r.task_id
           where r.ended_at is null and coalesce(t.current_run_id, 0) <> r.id`,
    describe: (task, runId) => `run ${runId} is open, but ${task} does not refer to it`,
  },
  {
    sql: `select t.id as what, min(p.id) as more from task t join link l on l.child_id = t.id
            join task p on p.id = l.parent_id
           where t.status = 'ready' and p.status not in ('done', 'archived') group by t.id`,
    describe: (task, parent) => `${task} is ready although ${parent} is not done`,
  },
  {
    sql: `select t.id as what, ${LAST_STATUS} as more from task t where t.status <> coalesce(${LAST_STATUS}, t.status)`,
    describe: (task, status) => `the last event of ${task} moved it to ${status}, but its status differs`,
  },
  {
    sql: `select t.id as what, null as more from task t where t.created_at >= (select events_kept_from from board)
            and not exists (select 1 from event e where e.task_id = t.id and e.kind = 'created')`,
    describe: (task) => `${task} has no created event`,
  },
  {
    sql: `select r.task_id as what, r.id as more from run r where r.lease_ms > 0
            and r.started_at >= (select events_kept_from from board)
            and not exists (select 1 from event e where e.task_id = r.task_id and e.run_id = r.id and e.kind = 'claimed')`,
    describe: (task, runId) => `run ${runId} of ${task} has no claimed event`,
  },
  {
    sql: `select e.task_id as what, e.id as more from event e where e.task_id is not null
            and not exists (select 1 from task t where t.id = e.task_id)`,
    describe: (task, event) => `event ${event} refers to ${task}, which does not exist`,
  },
  {
    sql: `select e.task_id as what, e.run_id as more from event e where e.run_id is not null
            and not exists (select 1 from run r where r.id = e.run_id and r.task_id = e.task_id)`,
    describe: (task, runId) => `an event of ${task} refers to run ${runId}, which does not exist`,
  },
  {
    sql: `select a.task_id as what, a.filename as more from attachment a
           where a.content_key is not null and a.size <> coalesce(
             (select sum(length(p.content)) from attachment_part p where p.content_key = a.content_key), 0)`,
    describe: (task, filename) => `the content of ${filename} of ${task} is incomplete`,
  },
  {
    sql: `select distinct p.content_key as what, null as more from attachment_part p
           where not exists (select 1 from attachment a where a.content_key = p.content_key)`,
    describe: (key) => `the content ${key} belongs to no attachment`,
  },
  {
    sql: `select 'event' as what, max(e.id) as more from event e
           having max(e.id) > (select value from counter where name = 'event')`,
    describe: (_, event) => `the id of event ${event} is above the event counter`,
  },
  {
    sql: `select c.name as what, c.value as more from counter c where c.name <> 'event' and c.value <> (${correctCount("c.name")})`,
    describe: (name, value) => `the counter ${name} has the wrong value ${value}`,
  },
  {
    sql: `select distinct 'running/profile/' || r.profile as what, null as more from run r
           where ${COUNTED} and r.profile is not null
             and not exists (select 1 from counter c where c.name = 'running/profile/' || r.profile)`,
    describe: (name) => `the counter ${name} is missing`,
  },
];

/** SQL for the correct value of a run counter. */
function correctCount(name: string): string {
  return `select count(*) from run r where ${COUNTED} and (${name} = 'running'
    or ${name} = 'running/host/' || coalesce(r.host_id, '') or ${name} = 'running/profile/' || coalesce(r.profile, ''))`;
}

function* findCycles(): Steps<readonly string[]> {
  const rows = yield* all<{ id: string }>(
    `with recursive after(start, id) as (
       select parent_id, child_id from link
       union select after.start, l.child_id from link l join after on l.parent_id = after.id)
     select id from after where start = id order by id limit 100`,
  );
  return rows.map(({ id }) => `${id} waits for itself`);
}

/** Recounts the runs; returns how many counters were wrong. */
export function* recountRuns(): Steps<number> {
  return yield* run(
    `update counter set value = (${correctCount("counter.name")})
      where name <> 'event' and value <> (${correctCount("counter.name")})`,
  );
}

/** Corrects the counters, the only data that can be repaired without guessing; returns how many were wrong. */
export function* repairCounters(transaction: BoardTransaction): Steps<number> {
  requireRight(transaction.caller, "maintain");
  yield* lockGraph();
  yield* only("select value from counter where name = 'running' {lock}");
  const wrong = yield* recountRuns();
  if (wrong > 0)
    transaction.recordEvent({ taskId: null, kind: "counters_repaired", payload: { counters: wrong } });
  return wrong;
}
