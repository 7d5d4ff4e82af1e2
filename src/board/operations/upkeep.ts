import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, only, run, type Steps } from "../database/steps.ts";
import { requireInteger } from "../task-text.ts";
import { lockGraph } from "./load.ts";

const DAY_MS = 86_400_000;

export interface Retention {
  readonly eventDays: number;
  /** 0 keeps them for ever. */
  readonly subscriptionDays: number;
}

export interface Collected {
  readonly events: number;
  readonly subscriptions: number;
}

/** Deletes old events of finished tasks, and subscriptions to tasks at which nothing has happened for long. */
export function* collectGarbage(change: Change, retention: Retention): Steps<Collected> {
  requireRight(change.caller, "maintain");
  const eventsBefore = DAY_MS * requireInteger(retention.eventDays, "number of days", 0);
  const subscriptionsBefore = DAY_MS * requireInteger(retention.subscriptionDays, "number of days", 0);
  yield* lockGraph();
  // `decomposed` says that a task is never split twice, so it stays.
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

/** Each a sentence about something that the rules of the board do not allow; none means sound. */
export function* checkContent(): Steps<readonly string[]> {
  const findings: string[] = [];
  for (const { sql, say } of CHECKS) {
    const rows = yield* all<{ what: string; more: string | number | null }>(`${sql} limit 100`);
    findings.push(...rows.map(({ what, more }) => say(what, more)));
  }
  return [...findings, ...(yield* cycles())];
}

/** Where the events say that a task is. A mark of splitting outlives the events after it, and says nothing then. */
const LAST_STATUS = `(
  select e.to_status from event e where e.task_id = t.id and e.to_status is not null
     and (e.kind <> 'decomposed' or e.created_at >= (select events_kept_from from board)) order by e.id desc limit 1)`;

/** As an index can find them. */
const COUNTED = `(r.id in (select current_run_id from task where status = 'running')
  or r.id in (select l.id from run l where l.ended_at is not null and l.lease_until > 0))`;

/** What the database cannot enforce by itself. `more` is a text or a number, by each check alike. */
const CHECKS: readonly { readonly sql: string; say(what: string, more: string | number | null): string }[] = [
  {
    sql: `select t.id as what, t.current_run_id as more from task t where t.current_run_id is not null
           and not exists (select 1 from run r where r.id = t.current_run_id and r.task_id = t.id and r.ended_at is null)`,
    say: (task, runId) => `${task} names run ${runId}, which is not open`,
  },
  {
    sql: `select r.task_id as what, r.id as more from run r join task t on t.id = r.task_id
           where r.ended_at is null and coalesce(t.current_run_id, 0) <> r.id`,
    say: (task, runId) => `run ${runId} is open, but ${task} does not name it`,
  },
  {
    sql: `select t.id as what, min(p.id) as more from task t join link l on l.child_id = t.id
            join task p on p.id = l.parent_id
           where t.status = 'ready' and p.status not in ('done', 'archived') group by t.id`,
    say: (task, parent) => `${task} is ready although ${parent} is not done`,
  },
  {
    sql: `select t.id as what, ${LAST_STATUS} as more from task t where t.status <> coalesce(${LAST_STATUS}, t.status)`,
    say: (task, status) => `the last event of ${task} moved it to ${status}, but it is not there`,
  },
  {
    sql: `select t.id as what, null as more from task t where t.created_at >= (select events_kept_from from board)
            and not exists (select 1 from event e where e.task_id = t.id and e.kind = 'created')`,
    say: (task) => `${task} has no event of its creation`,
  },
  {
    sql: `select r.task_id as what, r.id as more from run r where r.lease_ms > 0
            and r.started_at >= (select events_kept_from from board)
            and not exists (select 1 from event e where e.task_id = r.task_id and e.run_id = r.id and e.kind = 'claimed')`,
    say: (task, runId) => `run ${runId} of ${task} has no event of its claim`,
  },
  {
    sql: `select e.task_id as what, e.id as more from event e where e.task_id is not null
            and not exists (select 1 from task t where t.id = e.task_id)`,
    say: (task, event) => `event ${event} tells of ${task}, which does not exist`,
  },
  {
    sql: `select e.task_id as what, e.run_id as more from event e where e.run_id is not null
            and not exists (select 1 from run r where r.id = e.run_id and r.task_id = e.task_id)`,
    say: (task, runId) => `an event of ${task} names run ${runId}, which does not exist`,
  },
  {
    sql: `select a.task_id as what, a.filename as more from attachment a
           where a.content_key is not null and a.size <> coalesce(
             (select sum(length(p.content)) from attachment_part p where p.content_key = a.content_key), 0)`,
    say: (task, filename) => `the content of ${filename} of ${task} is not whole`,
  },
  {
    sql: `select distinct p.content_key as what, null as more from attachment_part p
           where not exists (select 1 from attachment a where a.content_key = p.content_key)`,
    say: (key) => `the content ${key} belongs to no attachment`,
  },
  {
    sql: `select 'event' as what, max(e.id) as more from event e
           having max(e.id) > (select value from counter where name = 'event')`,
    say: (_, event) => `event ${event} has a number that was never given`,
  },
  {
    sql: `select c.name as what, c.value as more from counter c where c.name <> 'event' and c.value <> (${truth("c.name")})`,
    say: (name, value) => `the counter ${name} says ${value}, which is wrong`,
  },
  {
    sql: `select distinct 'running/profile/' || r.profile as what, null as more from run r
           where ${COUNTED} and r.profile is not null
             and not exists (select 1 from counter c where c.name = 'running/profile/' || r.profile)`,
    say: (name) => `the counter ${name} is missing`,
  },
];

/** What a counter of runs should say. */
function truth(name: string): string {
  return `select count(*) from run r where ${COUNTED} and (${name} = 'running'
    or ${name} = 'running/host/' || coalesce(r.host_id, '') or ${name} = 'running/profile/' || coalesce(r.profile, ''))`;
}

function* cycles(): Steps<readonly string[]> {
  const rows = yield* all<{ id: string }>(
    `with recursive after(start, id) as (
       select parent_id, child_id from link
       union select after.start, l.child_id from link l join after on l.parent_id = after.id)
     select id from after where start = id order by id limit 100`,
  );
  return rows.map(({ id }) => `${id} waits for itself`);
}

/** Counts the runs anew; says how many counters were wrong. */
export function* recountRuns(): Steps<number> {
  return yield* run(
    `update counter set value = (${truth("counter.name")})
      where name <> 'event' and value <> (${truth("counter.name")})`,
  );
}

/** Puts counters right, which is all that can be repaired without guessing; says how many were wrong. */
export function* repairCounters(change: Change): Steps<number> {
  requireRight(change.caller, "maintain");
  yield* lockGraph();
  yield* only("select value from counter where name = 'running' {lock}");
  const wrong = yield* recountRuns();
  if (wrong > 0) change.tell({ taskId: null, kind: "counters_repaired", payload: { counters: wrong } });
  return wrong;
}
