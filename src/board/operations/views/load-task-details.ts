import { all, type Steps } from "../../database/steps.ts";
import type { Attachment, BoardEvent, Comment, Run, Subscription, Task } from "../../task.ts";
import {
  type EventRow,
  listAttachmentsOf,
  type RunRow,
  requireTask,
  toEvent,
  toRun,
  toTask,
} from "./rows.ts";

export interface TaskDetails {
  readonly task: Task;
  readonly parents: readonly string[];
  readonly children: readonly string[];
  readonly comments: readonly Comment[];
  /** The last 50 events, oldest first. */
  readonly events: readonly BoardEvent[];
  readonly runs: readonly Run[];
  readonly attachments: readonly Attachment[];
  readonly subscriptions: readonly Subscription[];
}

const SHOWN_EVENTS = 50;

/** Loads a task with all related records; throws `task-not-found`. */
export function* loadTaskDetails(id: string): Steps<TaskDetails> {
  const task = toTask(yield* requireTask(id));
  const parents = yield* all<{ id: string }>(
    "select t.id from link l join task t on t.id = l.parent_id where l.child_id = :id order by t.seq",
    { id },
  );
  const children = yield* all<{ id: string }>(
    "select t.id from link l join task t on t.id = l.child_id where l.parent_id = :id order by t.seq",
    { id },
  );
  const events = yield* all<EventRow>(
    `select * from event where task_id = :id order by id desc limit ${SHOWN_EVENTS}`,
    { id },
  );
  const runs = yield* all<RunRow>("select * from run where task_id = :id order by id", { id });
  return {
    task,
    parents: parents.map((row) => row.id),
    children: children.map((row) => row.id),
    comments: yield* all<Comment>("select * from comment where task_id = :id order by id", { id }),
    events: events.toReversed().map(toEvent),
    runs: runs.map(toRun),
    attachments: yield* listAttachmentsOf(id),
    subscriptions: yield* all<Subscription>(
      "select * from subscription where task_id = :id order by platform, chat_id, thread_id",
      { id },
    ),
  };
}
