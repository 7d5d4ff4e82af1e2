import { randomBytes } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import { numberedName } from "../../attachments/attachment-name.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireOwnOrCreatedTask, requireRight } from "../../caller.ts";
import { all, first, only, run, type Steps } from "../../database/steps.ts";
import {
  type Attachment,
  type BoardEvent,
  type Comment,
  LARGEST_ATTACHMENT,
  type Subscription,
} from "../../task.ts";
import { invalidInput, optionalName, requireInteger, requireText, toJson } from "../../task-text.ts";
import type { Leftovers } from "../../workspaces/measure-leftovers.ts";
import {
  type EventRow,
  lockGraph,
  requireLiveRun,
  requireLockedTask,
  requireTask,
  toEvent,
} from "../views/rows.ts";

const FILENAME_LENGTH = 200;

/** Adds a comment; the author is always the caller. */
export function* addComment(transaction: BoardTransaction, taskId: string, body: string): Steps<Comment> {
  requireRight(transaction.caller, "comment");
  const text = requireText(body, "comment");
  yield* requireLockedTask(taskId); // so that comment ids of one task are in order
  yield* requireLiveRun(transaction.caller);
  const row = yield* insertComment(transaction, taskId, text);
  if (transaction.caller.kind !== "run" || transaction.caller.taskId !== taskId)
    yield* resetBlockCount(taskId);
  transaction.recordEvent({
    taskId,
    kind: "commented",
    payload: { author: transaction.actor, len: text.length },
  });
  return row;
}

/** Writes a comment without an event; this transaction has locked the task. */
export function* insertComment(transaction: BoardTransaction, taskId: string, body: string): Steps<Comment> {
  return yield* only<Comment>(
    "insert into comment (task_id, author, body, created_at) values (:taskId, :author, :body, hermes_now()) returning *",
    { taskId, author: transaction.actor, body },
  );
}

/** Resets the block counter after an answer: a later block is a new question. */
export function* resetBlockCount(taskId: string): Steps<void> {
  // Not through `updateTask`: `updated_at` measures how long the task has waited and must not change.
  const reset = "update task set block_recurrences = 0 where id = :taskId and block_recurrences > 0";
  yield* run(reset, { taskId });
}

/** Records the reason of a move as a comment; this transaction has locked the task. */
export function* addReasonComment(transaction: BoardTransaction, taskId: string, body: string): Steps<void> {
  yield* insertComment(transaction, taskId, body);
  const payload = { author: transaction.actor, len: body.length, is_reason: true };
  transaction.recordEvent({ taskId, kind: "commented", payload });
}

/** Records the files that were discarded with a workspace and where they are kept; false when the task no longer exists. */
export function* recordDiscarded(
  transaction: BoardTransaction,
  taskId: string,
  discarded: Leftovers & { readonly moved_to: string },
): Steps<boolean> {
  requireRight(transaction.caller, "maintain");
  const task = yield* first("select seq from task where id = :taskId {lock}", { taskId });
  if (task === undefined) return false;
  transaction.recordEvent({ taskId, kind: "workspace_discarded_content", payload: { ...discarded } });
  return true;
}

export interface NewAttachment {
  readonly filename: string;
  readonly storedPath: string;
  readonly contentType?: string;
  readonly size: number;
  /** Hash of the content, in hex. */
  readonly sha256?: string;
  /** Content to store in the database; without it the content is a file next to the database. */
  readonly shared?: SharedContent;
}

export interface SharedContent {
  readonly bytes: Uint8Array;
  /** Maximum total bytes of attachments that the database may store for this board. */
  readonly limitBytes: number;
}

/** Adds an attachment, optionally with its content; a name that is already used becomes `name (1).ext`. */
export function* addAttachment(
  transaction: BoardTransaction,
  taskId: string,
  file: NewAttachment,
): Steps<Attachment> {
  requireRight(transaction.caller, "attach");
  const wanted = requireText(file.filename, "file name", FILENAME_LENGTH);
  if (/^\.|[/\\\p{Cc}]/u.test(wanted))
    throw invalidInput("A file name must not contain folders, control characters or a leading dot.");
  const size = requireInteger(file.size, "size", 0, LARGEST_ATTACHMENT);
  const key = file.shared === undefined ? null : yield* insertContent(file.shared);
  requireOwnOrCreatedTask(transaction.caller, yield* requireLockedTask(taskId));
  yield* requireLiveRun(transaction.caller);
  const taken = yield* all<{ filename: string }>("select filename from attachment where task_id = :taskId", {
    taskId,
  });
  const filename = freeName(wanted, new Set(taken.map((row) => row.filename)));
  const row = yield* only<Attachment>(
    `insert into attachment (task_id, filename, stored_path, content_key, content_type, size, sha256, uploaded_by, created_at)
     values (:taskId, :filename, :path, :key, :type, :size, :sha256, :by, hermes_now()) returning *`,
    {
      taskId,
      filename,
      path: requireText(file.storedPath, "path", 4_096),
      key,
      type: optionalName(file.contentType, "content type"),
      size,
      sha256: file.sha256 ?? null,
      by: transaction.actor,
    },
  );
  transaction.recordEvent({ taskId, kind: "attached", payload: { filename, size, by: transaction.actor } });
  return row;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 1; taken.has(free); number++) free = numberedName(name, number);
  return free;
}

const PART_BYTES = 1024 * 1024;

/** Stores content in parts, before any lock is taken, so that a slow upload blocks no writer. */
export function* insertContent({ bytes, limitBytes }: SharedContent): Steps<string> {
  const key = randomBytes(16).toString("hex");
  for (let number = 0; number * PART_BYTES < bytes.length; number++)
    yield* run(
      "insert into attachment_part (content_key, number, content) values (:key, :number, :content)",
      {
        key,
        number,
        content: bytes.subarray(number * PART_BYTES, (number + 1) * PART_BYTES),
      },
    );
  yield* lockGraph(); // so that concurrent uploads cannot exceed the limit together
  const { held } = yield* only<{ held: number }>(
    "select cast(coalesce(sum(size), 0) as {int}) as held from attachment where content_key is not null",
  );
  if (held + bytes.length <= limitBytes) return key;
  throw new AppError(
    "attachment-too-large",
    `The board stores ${held} bytes of attachments; ${bytes.length} more would exceed the limit of ${limitBytes}.`,
    { hint: "Remove attachments, purge tasks, or raise kanban.shared_attachments_mb." },
  );
}

/** Loads one part of the content of an attachment; undefined after the last part. */
export function* loadAttachmentPart(key: string, number: number): Steps<Uint8Array | undefined> {
  const row = yield* first<{ content: Uint8Array }>(
    "select content from attachment_part where content_key = :key and number = :number",
    { key, number },
  );
  return row?.content;
}

/** Deletes an attachment and returns it so that the caller can remove its file; undefined when it does not exist. */
export function* removeAttachment(transaction: BoardTransaction, id: number): Steps<Attachment | undefined> {
  requireRight(transaction.caller, "edit");
  const row = yield* first<Attachment>("delete from attachment where id = :id returning *", { id });
  if (row === undefined) return undefined;
  yield* run("delete from attachment_part where content_key = :key", { key: row.content_key });
  const { task_id: taskId, filename, size } = row;
  transaction.recordEvent({
    taskId,
    kind: "attachment_removed",
    payload: { filename, size, by: transaction.actor },
  });
  return row;
}

export interface NewSubscription {
  readonly platform: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly userId?: string;
  readonly userIdAlt?: string;
  readonly chatType?: string;
  readonly notifierProfile?: string;
  readonly deliveryMode?: Subscription["delivery_mode"];
  readonly notifyProgress?: boolean;
  readonly deliveryMetadata?: Readonly<Record<string, unknown>>;
}

/** Subscribes a chat to later events of a task; for an existing subscription only the delivery mode changes. */
export function* subscribe(
  transaction: BoardTransaction,
  taskId: string,
  wanted: NewSubscription,
): Steps<Subscription> {
  requireRight(transaction.caller, "subscribe");
  yield* requireTask(taskId);
  return yield* only<Subscription>(
    `insert into subscription (task_id, platform, chat_id, thread_id, user_id, user_id_alt, chat_type,
                               notifier_profile, delivery_mode, notify_progress, delivery_metadata, created_at,
                               last_event_id)
     values (:taskId, :platform, :chatId, :threadId, :userId, :userIdAlt, :chatType, :profile, :mode,
             :progress, :metadata, hermes_now(),
             (select value from counter where name = 'event'))
     on conflict (task_id, platform, chat_id, thread_id) do update set delivery_mode = excluded.delivery_mode
     returning *`,
    {
      taskId,
      platform: requireText(wanted.platform, "platform", 200),
      chatId: requireText(wanted.chatId, "chat id", 200),
      threadId: optionalName(wanted.threadId, "thread id") ?? "",
      userId: optionalName(wanted.userId, "user id"),
      userIdAlt: optionalName(wanted.userIdAlt, "user id"),
      progress: Number(wanted.notifyProgress ?? false),
      metadata: toJson(wanted.deliveryMetadata, "delivery metadata"),
      chatType: optionalName(wanted.chatType, "chat type"),
      profile: optionalName(wanted.notifierProfile, "profile"),
      mode: wanted.deliveryMode ?? "notify",
    },
  );
}

type SubscriptionKey = Pick<Subscription, "task_id" | "platform" | "chat_id" | "thread_id">;
const SAME_KEY =
  "task_id = :task_id and platform = :platform and chat_id = :chat_id and thread_id = :thread_id";
const keyOf = ({ task_id, platform, chat_id, thread_id }: SubscriptionKey) => ({
  task_id,
  platform,
  chat_id,
  thread_id,
});

export function* unsubscribe(transaction: BoardTransaction, key: SubscriptionKey): Steps<boolean> {
  requireRight(transaction.caller, "subscribe");
  return (yield* run(`delete from subscription where ${SAME_KEY}`, keyOf(key))) === 1;
}

/** Returns the undelivered events of a subscription and advances its cursor, so that each event is taken exactly once. */
export function* takeEvents(
  transaction: BoardTransaction,
  key: SubscriptionKey,
): Steps<readonly BoardEvent[]> {
  requireRight(transaction.caller, "maintain");
  const held = yield* first<Subscription>(`select * from subscription where ${SAME_KEY} {lock}`, keyOf(key));
  if (held === undefined) return [];
  const rows = yield* all<EventRow>(
    "select * from event where task_id = :task_id and id > :after order by id limit 200",
    { task_id: key.task_id, after: held.last_event_id },
  );
  const last = rows.at(-1)?.id;
  if (last !== undefined)
    yield* run(`update subscription set last_event_id = :last where ${SAME_KEY}`, { ...keyOf(key), last });
  return rows.map(toEvent);
}

/** Records that a subscriber has been given the events up to this one. */
export function* confirmEvents(
  transaction: BoardTransaction,
  key: SubscriptionKey,
  upTo: number,
): Steps<void> {
  requireRight(transaction.caller, "maintain");
  yield* run(`update subscription set last_event_id = :upTo where ${SAME_KEY} and last_event_id < :upTo`, {
    ...keyOf(key),
    upTo,
  });
}
