import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, only, run, type Steps } from "../../database/steps.ts";
import { invalidInput, parseAssignee } from "../../task-text.ts";
import type { Status } from "../../transitions.ts";
import { lockGraph } from "../views/rows.ts";

/** The unfinished tasks of a profile on a board. */
export interface ProfileWork {
  readonly running: readonly string[];
  /** The number of its tasks that are neither done nor archived; `ids` holds the first of them. */
  readonly open: number;
  readonly ids: readonly string[];
}

const SHOWN = 5;

/** Loads the unfinished tasks of a profile, highest priority first. */
export function* loadProfileWork(profile: string): Steps<ProfileWork> {
  const name = parseAssignee(profile);
  const running = yield* all<{ id: string }>(
    "select id from task where assignee = :name and status = 'running' order by seq",
    { name },
  );
  const open = yield* only<{ count: number }>(`select count(*) as count ${OPEN_TASKS}`, { name });
  const ids = yield* all<{ id: string }>(
    `select id ${OPEN_TASKS} order by priority desc, seq limit ${SHOWN}`,
    { name },
  );
  return { running: running.map(({ id }) => id), open: open.count, ids: ids.map(({ id }) => id) };
}

const OPEN_TASKS = "from task where assignee = :name and status not in ('done', 'archived')";

/** Renames a profile in tasks, subscriptions and shares, not in history; refused while it runs a task. Returns the task count. */
export function* renameProfileOnBoard(
  transaction: BoardTransaction,
  from: string,
  to: string,
): Steps<number> {
  requireRight(transaction.caller, "assign");
  const names = { old: parseAssignee(from), new: parseAssignee(to) };
  if (names.new === null)
    throw invalidInput(`${JSON.stringify(to)} means "no assignee" on a board and cannot be a profile name.`);
  yield* lockGraph();
  // Lock before checking: a concurrent claim finishes first and is then seen as running.
  const own = yield* all<{ id: string; status: Status }>(
    "select id, status from task where assignee = :old order by seq {lock}",
    { old: names.old },
  );
  const running = own.find(({ status }) => status === "running");
  if (running !== undefined) throw new AppError("task-running", `${running.id} is running as ${names.old}.`);
  const tasks = yield* run(RENAME_IN_TASKS, names);
  const subscriptions = yield* run(
    "update subscription set notifier_profile = :new where notifier_profile = :old",
    names,
  );
  yield* run(DROP_SHARE, names);
  yield* run("update dispatch_share set profile = :new where profile = :old", names);
  if (tasks + subscriptions > 0) {
    const payload = { from: names.old, to: names.new, tasks, subscriptions };
    transaction.recordEvent({ taskId: null, kind: "profile_renamed", payload });
  }
  return tasks;
}

const renameIn = (column: string): string =>
  `${column} = case when ${column} = :old then :new else ${column} end`;
/** `updated_at` stays unchanged: a rename must not reset how long a task has waited or been done. */
const RENAME_IN_TASKS = `
  update task set ${["assignee", "implementer", "reviewer"].map(renameIn).join(", ")}
   where assignee = :old or implementer = :old or reviewer = :old`;
/** Deletes the share of an earlier profile with the new name; the renamed profile keeps its own share. */
const DROP_SHARE = `
  delete from dispatch_share where profile = :new and exists (select 1 from dispatch_share where profile = :old)`;
