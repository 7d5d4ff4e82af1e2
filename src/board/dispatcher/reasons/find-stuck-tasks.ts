import { all } from "../../database/steps.ts";
import { type BlockCause, causeOf, findBlocks } from "../../operations/tasks/find-blocks.ts";
import type { PassParts } from "../pass-parts.ts";
import { runPass } from "../run-pass.ts";
import { type Explanation, explainTask } from "./explain-task.ts";

const MAX_TASKS = 200; // no user reads more, and each task costs a query
const PER_PROFILE = 10; // the tasks of a profile share their reason

const NEEDS_USER: ReadonlySet<BlockCause> = new Set(["provider", "rate-limit-bound"]);

/** Tasks that cannot proceed until a user fixes a problem outside the task, each with its reason. */
export async function findStuckTasks(parts: PassParts, signal: AbortSignal): Promise<readonly Explanation[]> {
  const report = await runPass({ ...parts, dryRun: true, perProfile: PER_PROFILE }, signal);
  const blocked = await parts.board.read(function* () {
    const rows = yield* all<{ id: string }>(
      `select id from task where status = 'blocked' and block_sticky = 1 order by updated_at desc limit ${MAX_TASKS}`,
    );
    const blocks = yield* findBlocks(rows.map(({ id }) => id));
    return rows.map(({ id }) => id).filter((id) => NEEDS_USER.has(causeOf(blocks.get(id))));
  }, signal);
  const reasons: Explanation[] = [];
  for (const id of [...report.skipped_nonspawnable.slice(0, MAX_TASKS), ...blocked])
    reasons.push(await explainTask(parts, id, signal));
  return reasons;
}
