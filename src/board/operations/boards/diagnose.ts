import { all, type Steps } from "../../database/steps.ts";
import { STATUSES } from "../../transitions.ts";

/** The maximum number of findings that are returned per kind. */
const MAX_FINDINGS = 200;

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
  /** The number of the task. */
  readonly seq: number;
  readonly title: string;
  readonly count: number;
  readonly since: number;
  /** The number of tasks with the same finding, including those past the limit. */
  readonly total: number;
}

type Row = Omit<Diagnostic, "kind" | "severity" | "taskId"> & { readonly id: string };

const UNFINISHED = `t.status in (${STATUSES.filter((status) => status !== "done" && status !== "archived")
  .map((status) => `'${status}'`)
  .join(", ")})`; // a positive list, because an index cannot serve `not in`
const FIRST = `order by t.seq limit ${MAX_FINDINGS}`;
const TOTAL = "count(*) over () as total";

const HOUR_MS = 3_600_000;

/** Finds problems of unfinished tasks, or of one task. */
export function* diagnose(rules: DiagnosticRules, taskId?: string): Steps<readonly Diagnostic[]> {
  const { failureThreshold, crashThreshold, strandedThresholdSeconds } = rules;
  const filter = taskId === undefined ? "" : "and t.id = :taskId";
  const filterValues = taskId === undefined ? {} : { taskId };
  const failures = yield* all<Row>(
    `select t.id, t.seq, t.title, t.consecutive_failures as count, t.updated_at as since, ${TOTAL} from task t
      where ${UNFINISHED} and t.consecutive_failures >= :threshold ${filter} ${FIRST}`,
    { threshold: failureThreshold, ...filterValues },
  );
  const crashes = yield* all<Row>(
    `select t.id, t.seq, t.title, count(*) as count, max(r.ended_at) as since, ${TOTAL} from task t join run r on r.task_id = t.id
      where ${UNFINISHED} and r.outcome in ('crashed', 'gave_up') ${filter}
      group by t.id, t.title, t.seq having count(*) >= :threshold ${FIRST}`,
    { threshold: crashThreshold, ...filterValues },
  );
  const stuck = yield* all<Row>(
    `select t.id, t.seq, t.title, 1 as count, t.updated_at as since, ${TOTAL} from task t
      where t.status = 'blocked' ${filter} and t.updated_at <= hermes_now() - cast(:age as bigint)
        and not exists (select 1 from comment c where c.task_id = t.id and c.created_at > t.updated_at) ${FIRST}`,
    { age: Math.round(rules.blockedStaleHours * HOUR_MS), ...filterValues },
  );
  const ghosts = yield* all<Row>(
    `select t.id, t.seq, t.title, 1 as count, r.lease_until as since, ${TOTAL} from task t join run r on r.id = t.current_run_id
      where t.status = 'running' and r.lease_until <= hermes_now() ${filter} ${FIRST}`,
    filterValues,
  );
  const stranded = yield* all<Row & { age: number }>(
    `select t.id, t.seq, t.title, 1 as count, t.ready_at as since, hermes_now() - t.ready_at as age, ${TOTAL} from task t
      where t.status = 'ready' and t.assignee is not null and t.hold = 0
        and t.ready_at <= hermes_now() - cast(:age as bigint) ${filter} ${FIRST}`,
    { age: strandedThresholdSeconds * 1_000, ...filterValues },
  );
  const storms = yield* all<Row>(
    `with recursive up(made, id, made_at) as (
       select id, origin_task_id, created_at from task
        where origin_task_id is not null and created_at > hermes_now() - ${HOUR_MS}
       union select up.made, t.origin_task_id, up.made_at from up join task t on t.id = up.id
        where t.origin_task_id is not null)
     select t.id, t.seq, t.title, count(*) as count, min(up.made_at) as since, ${TOTAL} from up
       join task t on t.id = up.id
      where t.origin_task_id is null ${filter} group by t.id, t.title, t.seq having count(*) >= :threshold ${FIRST}`,
    { threshold: rules.stormTasksPerHour, ...filterValues },
  );
  const strandedMs = Math.max(1, strandedThresholdSeconds * 1_000);
  return [
    ...storms.map((row) => createDiagnostic("task_storm", "critical", row)),
    ...ghosts.map((row) => createDiagnostic("ghost_running", "critical", row)),
    ...failures.map((row) =>
      createDiagnostic("repeated_failures", row.count >= 2 * failureThreshold ? "critical" : "error", row),
    ),
    ...crashes.map((row) =>
      createDiagnostic("repeated_crashes", row.count >= 2 * crashThreshold ? "critical" : "error", row),
    ),
    ...stuck.map((row) => createDiagnostic("stuck_in_blocked", "warning", row)),
    ...stranded.map((row) => {
      const ratio = row.age / strandedMs;
      return createDiagnostic(
        "stranded_in_ready",
        ratio >= 6 ? "critical" : ratio >= 2 ? "error" : "warning",
        row,
      );
    }),
  ];
}

function createDiagnostic(
  kind: Diagnostic["kind"],
  severity: Diagnostic["severity"],
  { id, seq, title, count, since, total }: Row,
): Diagnostic {
  return { kind, severity, taskId: id, seq, title, count, since, total };
}
