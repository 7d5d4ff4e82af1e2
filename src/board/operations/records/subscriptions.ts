import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, only, run, type Steps } from "../../database/steps.ts";
import type { BoardEvent, Subscription } from "../../task.ts";
import { optionalName, requireText, toJson } from "../../task-text.ts";
import { type EventRow, requireTask, toEvent } from "../views/rows.ts";

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

/** Records that the events up to this one were delivered to a subscriber. */
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
