import { randomBytes } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import { numberedName } from "../attachments/attachment-name.ts";
import { requireOwnOrMade, requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, first, only, run, type Steps } from "../database/steps.ts";
import {
  type Attachment,
  type BoardEvent,
  type Comment,
  LARGEST_ATTACHMENT,
  type Subscription,
} from "../task.ts";
import { invalid, optionalName, requireInteger, requireText, toJson } from "../task-text.ts";
import {
  type EventRow,
  lockGraph,
  requireLiveRun,
  requireTask,
  requireTaskToChange,
  toEvent,
} from "./load.ts";

const FILENAME_LENGTH = 200;

/** Adds a comment; its author is the caller, whoever they say they are. */
export function* addComment(change: Change, taskId: string, body: string): Steps<Comment> {
  requireRight(change.caller, "comment");
  const text = requireText(body, "comment");
  yield* requireTaskToChange(taskId); // so that comments of one task have their numbers in order
  yield* requireLiveRun(change.caller);
  const row = yield* only<Comment>(
    "insert into comment (task_id, author, body, created_at) values (:taskId, :author, :text, hermes_now()) returning *",
    { taskId, author: change.actor, text },
  );
  if (change.caller.kind !== "run" || change.caller.taskId !== taskId) yield* markAnswered(taskId);
  change.tell({ taskId, kind: "commented", payload: { author: change.actor, len: text.length } });
  return row;
}

/** What is blocked after an answer is a new question. */
export function* markAnswered(taskId: string): Steps<void> {
  // Not through `updateTask`: an answer is not a change of the task, whose age says how long nobody answered.
  yield* run("update task set block_recurrences = 0 where id = :taskId and block_recurrences > 0", {
    taskId,
  });
}

/** Keeps the reason of a move as a comment, for a task that this transaction has locked. */
export function* addReason(change: Change, taskId: string, body: string): Steps<void> {
  yield* run(
    "insert into comment (task_id, author, body, created_at) values (:taskId, :author, :body, hermes_now())",
    { taskId, author: change.actor, body },
  );
  const payload = { author: change.actor, len: body.length, is_reason: true };
  change.tell({ taskId, kind: "commented", payload });
}

/** Files that went with a workspace and that nobody had declared. */
export interface Discarded {
  readonly path: string;
  readonly total_bytes: number;
  readonly file_count: number;
  readonly sample: readonly { readonly file: string; readonly bytes: number }[];
  /** Where they are until they are deleted for good. */
  readonly moved_to: string;
}

/** Records what was discarded with the workspace of a task; false when the task itself is gone. */
export function* tellDiscarded(change: Change, taskId: string, discarded: Discarded): Steps<boolean> {
  requireRight(change.caller, "maintain");
  const task = yield* first("select seq from task where id = :taskId {lock}", { taskId });
  if (task === undefined) return false;
  change.tell({ taskId, kind: "workspace_discarded_content", payload: { ...discarded } });
  return true;
}

export interface NewAttachment {
  readonly filename: string;
  readonly storedPath: string;
  readonly contentType?: string;
  readonly size: number;
  /** Of the content, in hex. */
  readonly sha256?: string;
  /** What is kept in the database; without it the file lies beside it. */
  readonly shared?: SharedContent;
}

export interface SharedContent {
  readonly bytes: Uint8Array;
  /** How many bytes of attachments the database may hold for this board. */
  readonly limitBytes: number;
}

/** Records a file, whose content lies beside the database or comes with it; a taken name becomes `name (1).ext`. */
export function* addAttachment(change: Change, taskId: string, file: NewAttachment): Steps<Attachment> {
  requireRight(change.caller, "attach");
  const wanted = requireText(file.filename, "file name", FILENAME_LENGTH);
  if (/^\.|[/\\\p{Cc}]/u.test(wanted))
    throw invalid("A file name has no folders, control characters or leading dots.");
  const size = requireInteger(file.size, "size", 0, LARGEST_ATTACHMENT);
  const key = file.shared === undefined ? null : yield* insertContent(file.shared);
  requireOwnOrMade(change.caller, yield* requireTaskToChange(taskId));
  yield* requireLiveRun(change.caller);
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
      by: change.actor,
    },
  );
  change.tell({ taskId, kind: "attached", payload: { filename, size, by: change.actor } });
  return row;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 1; taken.has(free); number++) free = numberedName(name, number);
  return free;
}

const PART_BYTES = 1024 * 1024;

/**
 * Keeps content in the database, in parts that readers fetch one by one. The parts come before any lock: a slow upload
 * must hold up nobody. Whoever is killed meanwhile leaves nothing, because no part is committed without its attachment.
 */
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
  yield* lockGraph(); // two at once must not pass the limit together
  const { held } = yield* only<{ held: number }>(
    "select cast(coalesce(sum(size), 0) as {int}) as held from attachment where content_key is not null",
  );
  if (held + bytes.length <= limitBytes) return key;
  throw new AppError(
    "attachment-too-large",
    `The board holds ${held} bytes of attachments for all its hosts; with ${bytes.length} more it would exceed ${limitBytes}.`,
    { hint: "Remove attachments, purge tasks, or raise kanban.shared_attachments_mb." },
  );
}

/** One part of the content of an attachment; undefined after the last one. */
export function* attachmentPart(key: string, number: number): Steps<Uint8Array | undefined> {
  const row = yield* first<{ content: Uint8Array }>(
    "select content from attachment_part where content_key = :key and number = :number",
    { key, number },
  );
  return row?.content;
}

/** Forgets an attachment and returns it, so that its file can be removed; undefined when there is none. */
export function* removeAttachment(change: Change, id: number): Steps<Attachment | undefined> {
  requireRight(change.caller, "edit");
  const row = yield* first<Attachment>("delete from attachment where id = :id returning *", { id });
  if (row === undefined) return undefined;
  yield* run("delete from attachment_part where content_key = :key", { key: row.content_key });
  const { task_id: taskId, filename, size } = row;
  change.tell({ taskId, kind: "attachment_removed", payload: { filename, size, by: change.actor } });
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

/** Tells a chat of what happens to a task from now on; asked again, only its mode changes. */
export function* subscribe(change: Change, taskId: string, wanted: NewSubscription): Steps<Subscription> {
  requireRight(change.caller, "subscribe");
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
const SAME = "task_id = :task_id and platform = :platform and chat_id = :chat_id and thread_id = :thread_id";
const keyOf = ({ task_id, platform, chat_id, thread_id }: SubscriptionKey) => ({
  task_id,
  platform,
  chat_id,
  thread_id,
});

export function* unsubscribe(change: Change, key: SubscriptionKey): Steps<boolean> {
  requireRight(change.caller, "subscribe");
  return (yield* run(`delete from subscription where ${SAME}`, keyOf(key))) === 1;
}

/** Takes the events that a subscription has not had yet, exactly once: whoever takes them moves its cursor. */
export function* takeEvents(change: Change, key: SubscriptionKey): Steps<readonly BoardEvent[]> {
  requireRight(change.caller, "maintain");
  const held = yield* first<Subscription>(`select * from subscription where ${SAME} {lock}`, keyOf(key));
  if (held === undefined) return [];
  const rows = yield* all<EventRow>(
    "select * from event where task_id = :task_id and id > :after order by id limit 200",
    { task_id: key.task_id, after: held.last_event_id },
  );
  const last = rows.at(-1)?.id;
  if (last !== undefined)
    yield* run(`update subscription set last_event_id = :last where ${SAME}`, { ...keyOf(key), last });
  return rows.map(toEvent);
}
