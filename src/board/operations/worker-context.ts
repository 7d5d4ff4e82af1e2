import { shorten } from "../../lib/shorten.ts";
import { all, type Steps } from "../database/steps.ts";
import type { Attachment, Comment, Run, Task } from "../task.ts";
import { type RunRow, requireTask, toRun, toTask } from "./load.ts";

const BODY = 8_192;
const ATTEMPTS = 10;
const ATTEMPT_TEXT = 4_096;
const ELSEWHERE = 5;
const ELSEWHERE_LINE = 200;
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

/** All that a worker is told about its task, each part cut to a size that a prompt can bear. */
export interface WorkerContext {
  readonly task: Task;
  readonly body: string | null;
  readonly attachments: readonly Attachment[];
  /** Earlier attempts, oldest first, and how many more there were before. */
  readonly attempts: readonly (Pick<Run, "id" | "outcome" | "profile" | "started_at" | "ended_at"> & {
    readonly summary: string | null;
    readonly error: string | null;
    readonly metadata: string | null;
  })[];
  readonly omittedAttempts: number;
  readonly parents: readonly ParentHandoff[];
  /** What the same profile finished last, elsewhere. */
  readonly elsewhere: readonly { readonly taskId: string; readonly summary: string }[];
  readonly comments: readonly Comment[];
  readonly omittedComments: number;
  readonly now: number;
}

const NEWEST_COMPLETED = `
  select max(r.id) from run r where r.task_id = p.id and r.outcome = 'completed'`;

export function* workerContext(taskId: string): Steps<WorkerContext> {
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
  const elsewhere = yield* all<{ taskId: string; summary: string }>(
    `select task_id as "taskId", summary from run
      where profile = :profile and outcome = 'completed' and task_id <> :taskId and summary is not null
      order by id desc limit ${ELSEWHERE}`,
    { profile: task.assignee, taskId },
  );
  const [clock] = yield* all<{ now: number }>("select hermes_now() as now");
  return {
    task,
    body: cut(task.body, BODY),
    attachments: yield* all<Attachment>("select * from attachment where task_id = :taskId order by id", {
      taskId,
    }),
    attempts: attempts.slice(0, ATTEMPTS).toReversed().map(toAttempt),
    omittedAttempts: Math.max(0, attempts.length - ATTEMPTS),
    parents: parents.map((parent) => ({
      ...parent,
      summary: cut(parent.summary, ATTEMPT_TEXT),
      metadata: cut(parent.metadata, ATTEMPT_TEXT),
      attachments: files.filter(({ task_id }) => task_id === parent.taskId),
    })),
    elsewhere: elsewhere.map(({ taskId, summary }) => ({ taskId, summary: firstLine(summary) })),
    comments: comments
      .slice(0, COMMENTS)
      .toReversed()
      .map((comment) => ({ ...comment, body: cut(comment.body, COMMENT_TEXT) ?? "" })),
    omittedComments: Math.max(0, comments.length - COMMENTS),
    now: clock?.now ?? 0,
  };
}

function toAttempt(row: RunRow): WorkerContext["attempts"][number] {
  const { id, outcome, profile, started_at, ended_at } = toRun(row);
  const texts = { summary: row.summary, error: row.error, metadata: row.metadata };
  return {
    id,
    outcome,
    profile,
    started_at,
    ended_at,
    summary: cut(texts.summary, ATTEMPT_TEXT),
    error: cut(texts.error, ATTEMPT_TEXT),
    metadata: cut(texts.metadata, ATTEMPT_TEXT),
  };
}

function cut(text: string | null, max: number): string | null {
  return text === null ? null : shorten(text, max);
}

function firstLine(text: string): string {
  return cut(text.split("\n", 1)[0] ?? "", ELSEWHERE_LINE) ?? "";
}
