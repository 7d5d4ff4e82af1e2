import { all, only, type Steps } from "../../database/steps.ts";
import type { Board } from "../../task.ts";
import { STATUSES, type Status } from "../../transitions.ts";
import type { BoardRow } from "./rows.ts";

/** The number of tasks that were completed at or after a time, and are not archived. */
export function* countDone(since: number): Steps<number> {
  const { count } = yield* only<{ count: number }>(
    `select count(*) as count from task
      where completed_at is not null and archived_at is null and completed_at >= cast(:since as bigint)`,
    { since },
  );
  return count;
}

/** The tenants of all tasks, in alphabetical order. */
export function* listTenants(): Steps<readonly string[]> {
  const rows = yield* all<{ tenant: string }>(
    "select distinct tenant from task where tenant is not null order by tenant",
  );
  return rows.map(({ tenant }) => tenant);
}

export function* loadBoard(): Steps<Board> {
  const row = yield* only<BoardRow>(
    "select slug, name, description, icon, color, default_workdir, paused, created_at from board",
  );
  return { ...row, paused: row.paused === 1 };
}

export interface BoardStats {
  readonly byStatus: Readonly<Record<Status, number>>;
  readonly byAssignee: Readonly<Record<string, number>>;
  readonly oldestReadyAgeSeconds: number | null;
  readonly costMicros: number;
  readonly latestEventId: number;
}

/** Counts over the whole board; unassigned tasks are counted under the empty name. */
export function* loadBoardStats(): Steps<BoardStats> {
  const statuses = yield* all<{ status: Status; count: number }>(
    "select status, count(*) as count from task group by status",
  );
  const assignees = yield* all<{ assignee: string; count: number }>(
    `select coalesce(assignee, '') as assignee, count(*) as count from task
      where status not in ('done', 'archived') group by coalesce(assignee, '') order by 1`,
  );
  const ready = yield* only<{ age: number | null }>(
    "select hermes_now() - min(ready_at) as age from task where status = 'ready'",
  );
  const cost = yield* only<{ cost: number }>(
    "select cast(coalesce(sum(cost_micros), 0) as bigint) as cost from run",
  );
  const events = yield* only<{ value: number }>("select value from counter where name = 'event'");
  const zero = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
  return {
    byStatus: { ...zero, ...Object.fromEntries(statuses.map(({ status, count }) => [status, count])) },
    byAssignee: Object.fromEntries(assignees.map(({ assignee, count }) => [assignee, count])),
    oldestReadyAgeSeconds: ready.age === null ? null : Math.floor(ready.age / 1_000),
    costMicros: cost.cost,
    latestEventId: events.value,
  };
}

/** Counts the tasks of each assignee by status; unassigned tasks are counted under the empty name. */
export function* countByAssignee(): Steps<Readonly<Record<string, Partial<Record<Status, number>>>>> {
  const rows = yield* all<{ assignee: string; status: Status; count: number }>(
    `select coalesce(assignee, '') as assignee, status, count(*) as count from task
      group by coalesce(assignee, ''), status order by 1, 2`,
  );
  const counts = new Map<string, Partial<Record<Status, number>>>();
  for (const { assignee, status, count } of rows)
    counts.set(assignee, { ...counts.get(assignee), [status]: count });
  return Object.fromEntries(counts);
}
