import { shorten } from "../../../lib/text/shorten.ts";
import { all, type Steps } from "../../database/steps.ts";
import type { Attachment, Comment, Run, Task } from "../../task.ts";
import { listAttachmentsOf, type RunRow, requireTask, toTask } from "./rows.ts";

const BODY = 8_192;
const ATTEMPTS = 10;
const ATTEMPT_TEXT = 4_096;
const MAX_RECENT_RUNS = 5;
const MAX_RECENT_RUN_CHARS = 200;
const COMMENTS = 30;
const COMMENT_TEXT = 2_048;

export interface ParentHandoff {
  readonly taskId: string;
  readonly title: string;
  readonly ageMs: number;
  readonly summary: string | null;
  readonly metadata: string | null;
  readonly attachments: readonly Attachment[];
}

/** The information about a task that goes into the worker's prompt; each part is truncated to fit. */
export interface WorkerContext {
  readonly task: Task;
  readonly body: string | null;
  readonly attachments: readonly Attachment[];
  /** The last attempts, oldest first; `omittedAttempts` counts the earlier ones. */
  readonly attempts: readonly (Pick<Run, "id" | "outcome" | "profile" | "started_at" | "ended_at"> & {
    readonly summary: string | null;
    readonly error: string | null;
    readonly metadata: string | null;
  })[];
  readonly omittedAttempts: number;
  readonly parents: readonly ParentHandoff[];
  /** The last completed runs of the same profile on other tasks. */
  readonly recentRunsOfProfile: readonly { readonly taskId: string; readonly summary: string }[];
  readonly comments: readonly Comment[];
  readonly omittedComments: number;
  readonly now: number;
}

const NEWEST_COMPLETED = `
  select max(r.id) from run r where r.task_id = p.id and r.outcome = 'completed'`;

export function* loadWorkerContext(taskId: string): Steps<WorkerContext> {
  const task = toTask(yield* requireTask(taskId));
  const attempts = yield* all<RunRow>(
    "select * from run where task_id = :taskId and ended_at is not null order by id desc",
    { taskId },
  );
  const comments = yield* all<Comment>("select * from comment where task_id = :taskId order by id desc", {
    taskId,
  });
  const parents = yield* all<Omit<ParentHandoff, "attachments">>(
    `select p.id as "taskId", p.title, hermes_now() - coalesce(r.ended_at, p.completed_at) as "ageMs", r.summary, r.metadata
       from link l join task p on p.id = l.parent_id left join run r on r.id = (${NEWEST_COMPLETED})
      where l.child_id = :taskId and p.status = 'done' order by p.seq`,
    { taskId },
  );
  const files = yield* all<Attachment>(
    `select a.* from attachment a join link l on l.parent_id = a.task_id where l.child_id = :taskId order by a.id`,
    { taskId },
  );
  const recentRunsOfProfile = yield* all<{ taskId: string; summary: string }>(
    `select task_id as "taskId", summary from run
      where profile = :profile and outcome = 'completed' and task_id <> :taskId and summary is not null
      order by id desc limit ${MAX_RECENT_RUNS}`,
    { profile: task.assignee, taskId },
  );
  const [clock] = yield* all<{ now: number }>("select hermes_now() as now");
  return {
    task,
    body: cutOrNull(task.body, BODY),
    attachments: yield* listAttachmentsOf(taskId),
    attempts: attempts.slice(0, ATTEMPTS).toReversed().map(toAttempt),
    omittedAttempts: Math.max(0, attempts.length - ATTEMPTS),
    parents: parents.map((parent) => ({
      ...parent,
      summary: cutOrNull(parent.summary, ATTEMPT_TEXT),
      metadata: cutOrNull(parent.metadata, ATTEMPT_TEXT),
      attachments: files.filter(({ task_id }) => task_id === parent.taskId),
    })),
    recentRunsOfProfile: recentRunsOfProfile.map(({ taskId, summary }) => ({
      taskId,
      summary: firstLine(summary),
    })),
    comments: comments
      .slice(0, COMMENTS)
      .toReversed()
      .map((comment) => ({ ...comment, body: cutOrNull(comment.body, COMMENT_TEXT) ?? "" })),
    omittedComments: Math.max(0, comments.length - COMMENTS),
    now: clock?.now ?? 0,
  };
}

function toAttempt(row: RunRow): WorkerContext["attempts"][number] {
  const { id, outcome, profile, started_at, ended_at } = row;
  const short = (text: string | null): string | null => cutOrNull(text, ATTEMPT_TEXT);
  const texts = { summary: short(row.summary), error: short(row.error), metadata: short(row.metadata) };
  return { id, outcome, profile, started_at, ended_at, ...texts };
}

function cutOrNull(text: string | null, max: number): string | null {
  return text === null ? null : shorten(text, max);
}

function firstLine(text: string): string {
  return cutOrNull(text.split("\n", 1)[0] ?? "", MAX_RECENT_RUN_CHARS) ?? "";
}
