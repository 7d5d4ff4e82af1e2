import { randomUUID } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import { formatCount } from "../../../lib/text/format-count.ts";
import type { ChildLimits, RunCaller } from "../../caller.ts";
import { only, type Steps } from "../../database/steps.ts";

/** The limits of a run that was claimed without any. */
const DEFAULTS: ChildLimits = { maxChildren: 50, maxDepth: 5 };

/** Creates the token of a run. It contains the limits of the run, so that a worker cannot change them. */
export function createRunToken({ maxChildren, maxDepth }: ChildLimits = DEFAULTS): string {
  return `${randomUUID().replaceAll("-", "")}-${maxChildren}-${maxDepth}`;
}

function limitsIn(token: string): ChildLimits {
  const [, maxChildren, maxDepth] = /-(\d+)-(\d+)$/.exec(token) ?? [];
  if (maxChildren === undefined) return DEFAULTS; // claimed by an earlier version
  return { maxChildren: Number(maxChildren), maxDepth: Number(maxDepth) };
}

/**
 * Throws `task-limit-reached`. The caller's run is locked and its token is verified, so that concurrent creations cannot
 * exceed the limit.
 */
export function* requireChildLimit({ taskId, token }: RunCaller): Steps<void> {
  const { maxChildren, maxDepth } = limitsIn(token);
  const { count } = yield* only<{ count: number }>(
    "select count(*) as count from task where origin_task_id = :taskId",
    { taskId },
  );
  if (count >= maxChildren)
    throw limitReached(
      `${taskId} has created ${formatCount(count, "task")}; kanban.max_children_per_task allows ${maxChildren}.`,
    );
  // The recursion stops one generation past the limit, so it also ends when damaged rows form a cycle.
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
      `A task created by ${taskId} would be ${depth} generations below a user's task; kanban.max_depth allows ${maxDepth}.`,
    );
}

function limitReached(message: string): AppError {
  return new AppError("task-limit-reached", message);
}
