import { AppError } from "../../lib/errors.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, only, run, type Steps } from "../database/steps.ts";
import { invalid, parseAssignee } from "../task-text.ts";
import type { Status } from "../transitions.ts";
import { lockGraph } from "./load.ts";

/** What a profile still has to do on a board. */
export interface ProfileWork {
  readonly running: readonly string[];
  /** How many of its tasks are neither done nor archived, and the first of them. */
  readonly open: number;
  readonly ids: readonly string[];
}

const SHOWN = 5;

/** What is still to be done by a profile, the most urgent first. */
export function* workOfProfile(profile: string): Steps<ProfileWork> {
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

/**
 * Lets whatever decides who works and who is told follow a profile to its new name; what has happened keeps the old one.
 * Refused while one of its tasks runs. Says how many tasks it concerned; a second time it is none.
 */
export function* renameProfileOnBoard(change: Change, from: string, to: string): Steps<number> {
  requireRight(change.caller, "assign");
  const names = { old: parseAssignee(from), new: parseAssignee(to) };
  if (names.new === null) throw invalid(`On a board ${JSON.stringify(to)} means nobody.`);
  yield* lockGraph();
  // Locked before they are looked at: a claim that is under way ends first, and is seen.
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
    change.tell({ taskId: null, kind: "profile_renamed", payload });
  }
  return tasks;
}

const follow = (column: string): string =>
  `${column} = case when ${column} = :old then :new else ${column} end`;
/** `updated_at` stays: how long a task has waited or been done does not begin anew with a name. */
const RENAME_IN_TASKS = `
  update task set ${["assignee", "implementer", "reviewer"].map(follow).join(", ")}
   where assignee = :old or implementer = :old or reviewer = :old`;
/** That of a profile which had the new name once; a profile takes its own turn along. */
const DROP_SHARE = `
  delete from dispatch_share where profile = :new and exists (select 1 from dispatch_share where profile = :old)`;
