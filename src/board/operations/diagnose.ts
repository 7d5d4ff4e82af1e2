import { all, type Steps } from "../database/steps.ts";

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
  readonly title: string;
  readonly count: number;
  readonly since: number;
}

interface Row {
  readonly id: string;
  readonly title: string;
  readonly count: number;
  readonly since: number;
}

const HOUR_MS = 3_600_000;

/** What looks wrong with tasks that are not finished. */
export function* diagnose(rules: DiagnosticRules): Steps<readonly Diagnostic[]> {
  const { failureThreshold, crashThreshold, strandedThresholdSeconds } = rules;
  const failures = yield* all<Row>(
    `select id, title, consecutive_failures as count, updated_at as since from task
      where status not in ('done', 'archived') and consecutive_failures >= :threshold order by seq`,
    { threshold: failureThreshold },
  );
  const crashes = yield* all<Row>(
    `select t.id, t.title, count(*) as count, max(r.ended_at) as since from task t join run r on r.task_id = t.id
      where t.status not in ('done', 'archived') and r.outcome in ('crashed', 'gave_up')
      group by t.id, t.title, t.seq having count(*) >= :threshold order by t.seq`,
    { threshold: crashThreshold },
  );
  const stuck = yield* all<Row>(
    `select t.id, t.title, 1 as count, t.updated_at as since from task t
      where t.status = 'blocked' and t.updated_at <= hermes_now() - cast(:age as bigint)
        and not exists (select 1 from comment c where c.task_id = t.id and c.created_at > t.updated_at) order by t.seq`,
    { age: Math.round(rules.blockedStaleHours * HOUR_MS) },
  );
  const ghosts = yield* all<Row>(
    `select t.id, t.title, 1 as count, r.lease_until as since from task t join run r on r.id = t.current_run_id
      where t.status = 'running' and r.lease_until <= hermes_now() order by t.seq`,
  );
  const stranded = yield* all<Row & { age: number }>(
    `select t.id, t.title, 1 as count, t.ready_at as since, hermes_now() - t.ready_at as age from task t
      where t.status = 'ready' and t.assignee is not null and t.hold = 0
        and t.ready_at <= hermes_now() - cast(:age as bigint) order by t.seq`,
    { age: strandedThresholdSeconds * 1_000 },
  );
  const storms = yield* all<Row>(
    `with recursive up(made, id, made_at) as (
       select id, origin_task_id, created_at from task
        where origin_task_id is not null and created_at > hermes_now() - ${HOUR_MS}
       union select up.made, t.origin_task_id, up.made_at from up join task t on t.id = up.id
        where t.origin_task_id is not null)
     select t.id, t.title, count(*) as count, min(up.made_at) as since from up join task t on t.id = up.id
      where t.origin_task_id is null group by t.id, t.title, t.seq having count(*) >= :threshold order by t.seq`,
    { threshold: rules.stormTasksPerHour },
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
  { id, title, count, since }: Row,
): Diagnostic {
  return { kind, severity, taskId: id, title, count, since };
}
