import { AppError } from "../../lib/errors.ts";
import type { RunCaller } from "../caller.ts";
import { only, type Steps } from "../database/steps.ts";

/** What a run may make when nobody has said otherwise. */
const DEFAULTS = { maxChildren: 50, maxDepth: 5 };

/**
 * Throws when a task has made as many tasks as it may, or is itself too far from the task of a person. The run of the
 * caller is locked, so two creations of it at once cannot both take the last place.
 */
export function* requireRoomForChild({ taskId, limits = DEFAULTS }: RunCaller): Steps<void> {
  const { maxChildren, maxDepth } = limits;
  const { count } = yield* only<{ count: number }>(
    "select count(*) as count from task where origin_task_id = :taskId",
    { taskId },
  );
  if (count >= maxChildren)
    throw limitReached(
      `${taskId} has made ${count} tasks, and kanban.max_children_per_task allows ${maxChildren}.`,
    );
  // One more step than allowed is looked at, so that a circle in damaged rows ends too.
  const { depth } = yield* only<{ depth: number }>(
    `with recursive up(id, depth) as (
       select id, 1 from task where id = :taskId
       union all select t.origin_task_id, up.depth + 1 from up join task t on t.id = up.id
        where t.origin_task_id is not null and up.depth <= cast(:maxDepth as bigint))
     select max(depth) as depth from up`,
    { taskId, maxDepth },
  );
  if (depth > maxDepth)
    throw limitReached(
      `A task made by ${taskId} would be ${depth} steps from the task of a person, and kanban.max_depth allows ${maxDepth}.`,
    );
}

function limitReached(message: string): AppError {
  return new AppError("task-limit-reached", message);
}
