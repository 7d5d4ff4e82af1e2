import { all, only, type Steps } from "../../../database/steps.ts";
import type { TaskName } from "../list-details.ts";

export interface TaskGraph {
  readonly tasks: readonly (TaskName & { readonly priority: number })[];
  readonly links: readonly { readonly parent: string; readonly child: string }[];
  /** How many tasks are omitted because there are too many. */
  readonly left: number;
}

const MAX_TASKS = 1_000;
const LINKED = `t.archived_at is null and (
  exists (select 1 from link l join task o on o.id = l.child_id where l.parent_id = t.id and o.archived_at is null)
  or exists (select 1 from link l join task o on o.id = l.parent_id where l.child_id = t.id and o.archived_at is null))`;

/** The links between tasks that are not archived. If there are too many tasks, unfinished and new ones take precedence. */
export function* loadTaskGraph(): Steps<TaskGraph> {
  const tasks = yield* all<TaskGraph["tasks"][number]>(
    `select t.id, t.seq, t.title, t.status, t.assignee, t.priority from task t where ${LINKED}
      order by case when t.status = 'done' then 1 else 0 end, t.seq desc limit ${MAX_TASKS}`,
  );
  const { count } = yield* only<{ count: number }>(`select count(*) as count from task t where ${LINKED}`);
  const ids = JSON.stringify(tasks.map(({ id }) => id));
  const links = yield* all<{ parent: string; child: string }>(
    `select parent_id as parent, child_id as child from link
      where parent_id {among:ids} and child_id {among:ids} order by parent_id, child_id`,
    { ids },
  );
  return { tasks, links, left: count - tasks.length };
}
