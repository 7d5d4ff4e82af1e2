import { all, type Steps } from "../../database/steps.ts";
import type { BoardEvent, Subscription } from "../../task.ts";
import { type EventRow, toEvent } from "./rows.ts";

/** The undelivered events of a task for one subscribed chat, oldest first. */
export interface PendingNotices {
  readonly subscription: Subscription;
  readonly events: readonly BoardEvent[];
}

export function* listPendingNotices(limit = 200): Steps<readonly PendingNotices[]> {
  const behind = yield* all<Subscription>(
    `select * from subscription where exists (
       select 1 from event where event.task_id = subscription.task_id and event.id > subscription.last_event_id)
     order by task_id, platform, chat_id, thread_id`,
    {},
  );
  const pending: PendingNotices[] = [];
  for (const subscription of behind) {
    const rows = yield* all<EventRow>(
      "select * from event where task_id = :task and id > :after order by id limit cast(:limit as bigint)",
      { task: subscription.task_id, after: subscription.last_event_id, limit },
    );
    pending.push({ subscription, events: rows.map(toEvent) });
  }
  return pending;
}
