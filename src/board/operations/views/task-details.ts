import { all, first, only, type Steps } from "../../database/steps.ts";
import type { Attachment, Board, BoardEvent, Comment, Run, Subscription, Task } from "../../task.ts";
import { invalidInput, parseAssignee } from "../../task-text.ts";
import { STATUSES, type Status } from "../../transitions.ts";
import {
  type BoardRow,
  type EventRow,
  listAttachmentsOf,
  type RunRow,
  requireTask,
  type TaskRow,
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

/** The metadata of all attachments of the board. */
export function* listAttachments(): Steps<readonly Attachment[]> {
  return yield* all<Attachment>("select * from attachment order by id");
}

const NUMBER = /^#?([1-9]\d{0,14})$/;
const ID_PREFIX = /^(?:t_)?([0-9a-f]{4,12})$/;
const CANDIDATES = 10;

/** Finds up to ten tasks by user input: a number such as `#12` or `12`, or the first four or more hex digits of an id. */
export function* findTasks(text: string): Steps<readonly Pick<Task, "id" | "title" | "status">[]> {
  const word = text.trim().toLowerCase();
  const number = NUMBER.exec(word)?.[1];
  if (number !== undefined) {
    const numbered = yield* all<Pick<Task, "id" | "title" | "status">>(
      "select id, title, status from task where seq = :seq",
      { seq: Number(number) },
    );
    if (numbered.length > 0) return numbered;
  }
  const digits = ID_PREFIX.exec(word)?.[1];
  if (digits === undefined) return [];
  // Both databases answer a range query from the index of ids; `g` sorts after every hex digit.
  return yield* all(
    `select id, title, status from task where id >= :from and id < :to order by id limit ${CANDIDATES}`,
    { from: `t_${digits}`, to: `t_${digits}g` },
  );
}

/** Sort orders of a list: the column and its direction. Ties are broken by `seq`. */
export const LIST_ORDERS = {
  priority: { key: "priority", descending: true },
  created: { key: "seq", descending: false },
  "created-desc": { key: "seq", descending: true },
  "priority-asc": { key: "priority", descending: false },
  status: { key: "status", descending: false },
  assignee: { key: "coalesce(assignee, '')", descending: false },
  title: { key: "title", descending: false },
  updated: { key: "updated_at", descending: true },
} as const satisfies Record<string, { key: string; descending: boolean }>;
export type ListOrder = keyof typeof LIST_ORDERS;

export interface ListQuery {
  readonly status?: Status;
  /** Null selects unassigned tasks. */
  readonly assignee?: string | null;
  readonly tenant?: string;
  readonly sessionId?: string;
  readonly workflowTemplateId?: string;
  readonly stepKey?: string;
  readonly includeArchived?: boolean;
  readonly order?: ListOrder;
  readonly limit?: number;
  /** The `next` cursor of the previous page. */
  readonly after?: string;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

const PAGE = 50;
const LARGEST_PAGE = 1_000;

/** Lists a page of tasks. Paging continues after the last row of the previous page, so concurrent changes skip no task. */
export function* listTasks(query: ListQuery): Steps<TaskPage> {
  const { key, descending } = LIST_ORDERS[query.order ?? "priority"];
  const limit = Math.min(Math.max(1, Math.trunc(query.limit ?? PAGE)), LARGEST_PAGE);
  const { conditions, values } = filterOf(query);
  if (query.after !== undefined) {
    const from = parseCursor(query.after);
    const comparison = descending ? "<" : ">";
    const type = typeof from.key === "string" ? "text" : "bigint";
    const tieBreak = key === "seq" ? "false" : `(${key} = cast(:key as ${type}) and seq > :seq)`;
    conditions.push(`(${key} ${comparison} cast(:key as ${type}) or ${tieBreak})`);
    values["key"] = from.key;
    if (key !== "seq") values["seq"] = from.seq;
  }
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const order = key === "seq" ? `seq ${descending ? "desc" : ""}` : `${key} ${descending ? "desc" : ""}, seq`;
  const rows = yield* all<TaskRow & { sort_key: string | number }>(
    `select *, ${key} as sort_key from task ${where} order by ${order} limit cast(:limit as bigint)`,
    { ...values, limit: limit + 1 },
  );
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    tasks: page.map(({ sort_key: _, ...row }) => toTask(row)),
    next: last === undefined ? undefined : JSON.stringify([last.sort_key, last.seq]),
  };
}

function filterOf(query: ListQuery): { conditions: string[]; values: Record<string, string | number> } {
  const conditions: string[] = [];
  const values: Record<string, string | number> = {};
  const equal = (column: string, value: string | undefined): void => {
    if (value === undefined) return;
    conditions.push(`${column} = :${column}`);
    values[column] = value;
  };
  if (query.status !== undefined && !STATUSES.includes(query.status))
    throw invalidInput(`${query.status} is not a status. Use one of ${STATUSES.join(", ")}.`);
  equal("status", query.status);
  const assignee = query.assignee === undefined ? undefined : parseAssignee(query.assignee);
  if (assignee === null) conditions.push("assignee is null");
  else equal("assignee", assignee);
  equal("tenant", query.tenant);
  equal("session_id", query.sessionId);
  equal("workflow_template_id", query.workflowTemplateId);
  equal("current_step_key", query.stepKey);
  if (query.includeArchived !== true && query.status === undefined) conditions.push("archived_at is null");
  return { conditions, values };
}

export function parseCursor(text: string): { key: string | number; seq: number } {
  const wrong = invalidInput("The page cursor is invalid.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong;
  }
  if (!Array.isArray(value)) throw wrong;
  const [key, seq]: unknown[] = value;
  if ((typeof key !== "string" && !Number.isSafeInteger(key)) || !Number.isSafeInteger(seq)) throw wrong;
  return { key: key as string | number, seq: seq as number };
}

/** Events with an id greater than `after`, oldest first. Pass the id of the last event to get the next page. */
export function* listEventsAfter(after: number, limit = 200): Steps<readonly BoardEvent[]> {
  const page = "select * from event where id > :after order by id limit cast(:limit as bigint)";
  return (yield* all<EventRow>(page, { after, limit })).map(toEvent);
}

/** The newest events, oldest first. */
export function* listLastEvents(limit: number): Steps<readonly BoardEvent[]> {
  const page = "select * from event order by id desc limit cast(:limit as bigint)";
  return (yield* all<EventRow>(page, { limit })).toReversed().map(toEvent);
}

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

/** The newest run whose worker works in a session. Reads all runs, because few callers ask. */
export function* findRunOfSession(
  sessionId: string,
): Steps<{ readonly id: number; readonly taskId: string } | undefined> {
  return yield* first(
    `select id, task_id as "taskId" from run where session_id = :sessionId order by id desc limit 1`,
    { sessionId },
  );
}

export function* findRun(id: number): Steps<Run | undefined> {
  const row = yield* first<RunRow>("select * from run where id = :id", { id });
  return row === undefined ? undefined : toRun(row);
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
