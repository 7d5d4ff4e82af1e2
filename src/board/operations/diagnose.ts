import { all, type Steps } from "../database/steps.ts";
import { STATUSES } from "../transitions.ts";

/** Of each kind; a person reads no more. */
const SHOWN = 200;

export interface DiagnosticRules {
  readonly failureThreshold: number;
  readonly crashThreshold: number;
  readonly blockedStaleHours: number;
  readonly strandedThresholdSeconds: number;
  readonly stormTasksPerHour: number;
}

export interface Diagnostic {
  readonly kind:
    | "repeated_failures"
    | "repeated_crashes"
    | "stuck_in_blocked"
    | "ghost_running"
    | "stranded_in_ready"
    | "task_storm";
  readonly severity: "warning" | "error" | "critical";
  readonly taskId: string;
  /** Its number. */
  readonly seq: number;
  readonly title: string;
  readonly count: number;
  readonly since: number;
  /** How many tasks there are with the same finding, of which only the first are told. */
  readonly total: number;
}

interface Row {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
  readonly count: number;
  readonly since: number;
  readonly total: number;
}

const UNFINISHED = `t.status in (${STATUSES.filter((status) => status !== "done" && status !== "archived")
  .map((status) => `'${status}'`)
  .join(", ")})`; // not as what it is not: then an index could not find them
const FIRST = `order by t.seq limit ${SHOWN}`;
const TOTAL = "count(*) over () as total";

const HOUR_MS = 3_600_000;

/** What looks wrong with tasks that are not finished, or with one of them. */
export function* diagnose(rules: DiagnosticRules, taskId?: string): Steps<readonly Diagnostic[]> {
  const { failureThreshold, crashThreshold, strandedThresholdSeconds } = rules;
  const which = taskId === undefined ? "" : "and t.id = :taskId";
  const one = taskId === undefined ? {} : { taskId };
  const failures = yield* all<Row>(
    `select t.id, t.seq, t.title, t.consecutive_failures as count, t.updated_at as since, ${TOTAL} from task t
      where ${UNFINISHED} and t.consecutive_failures >= :threshold ${which} ${FIRST}`,
    { threshold: failureThreshold, ...one },
  );
  const crashes = yield* all<Row>(
    `select t.id, t.seq, t.title, count(*) as count, max(r.ended_at) as since, ${TOTAL} from task t join run r on r.task_id = t.id
      where ${UNFINISHED} and r.outcome in ('crashed', 'gave_up') ${which}
      group by t.id, t.title, t.seq having count(*) >= :threshold ${FIRST}`,
    { threshold: crashThreshold, ...one },
  );
  const stuck = yield* all<Row>(
    `select t.id, t.seq, t.title, 1 as count, t.updated_at as since, ${TOTAL} from task t
      where t.status = 'blocked' ${which} and t.updated_at <= hermes_now() - cast(:age as bigint)
        and not exists (select 1 from comment c where c.task_id = t.id and c.created_at > t.updated_at) ${FIRST}`,
    { age: Math.round(rules.blockedStaleHours * HOUR_MS), ...one },
  );
  const ghosts = yield* all<Row>(
    `select t.id, t.seq, t.title, 1 as count, r.lease_until as since, ${TOTAL} from task t join run r on r.id = t.current_run_id
      where t.status = 'running' and r.lease_until <= hermes_now() ${which} ${FIRST}`,
    one,
  );
  const stranded = yield* all<Row & { age: number }>(
    `select t.id, t.seq, t.title, 1 as count, t.ready_at as since, hermes_now() - t.ready_at as age, ${TOTAL} from task t
      where t.status = 'ready' and t.assignee is not null and t.hold = 0
        and t.ready_at <= hermes_now() - cast(:age as bigint) ${which} ${FIRST}`,
    { age: strandedThresholdSeconds * 1_000, ...one },
  );
  const storms = yield* all<Row>(
    `with recursive up(made, id, made_at) as (
       select id, origin_task_id, created_at from task
        where origin_task_id is not null and created_at > hermes_now() - ${HOUR_MS}
       union select up.made, t.origin_task_id, up.made_at from up join task t on t.id = up.id
        where t.origin_task_id is not null)
     select t.id, t.seq, t.title, count(*) as count, min(up.made_at) as since, ${TOTAL} from up
       join task t on t.id = up.id
      where t.origin_task_id is null ${which} group by t.id, t.title, t.seq having count(*) >= :threshold ${FIRST}`,
    { threshold: rules.stormTasksPerHour, ...one },
  );
  const strandedMs = Math.max(1, strandedThresholdSeconds * 1_000);
  return [
    ...storms.map((row) => finding("task_storm", "critical", row)),
    ...ghosts.map((row) => finding("ghost_running", "critical", row)),
    ...failures.map((row) =>
      finding("repeated_failures", row.count >= 2 * failureThreshold ? "critical" : "error", row),
    ),
    ...crashes.map((row) =>
      finding("repeated_crashes", row.count >= 2 * crashThreshold ? "critical" : "error", row),
    ),
    ...stuck.map((row) => finding("stuck_in_blocked", "warning", row)),
    ...stranded.map((row) => {
      const times = row.age / strandedMs;
      return finding("stranded_in_ready", times >= 6 ? "critical" : times >= 2 ? "error" : "warning", row);
    }),
  ];
}

function finding(
  kind: Diagnostic["kind"],
  severity: Diagnostic["severity"],
  { id, seq, title, count, since, total }: Row,
): Diagnostic {
  return { kind, severity, taskId: id, seq, title, count, since, total };
}
