import type { BoardStore } from "../../board/board-store.ts";
import type { BoardEvent } from "../../board/task.ts";
import type { AddToOutbox } from "../../gateway/runner/run-gateway.ts";

/** The sentence for each kind of event that subscribers are notified of. */
const SENTENCES: Readonly<Record<string, (event: BoardEvent, text: (name: string) => string) => string>> = {
  completed: (_, text) => `is done. ${text("summary")}`,
  blocked: (_, text) => `is blocked: ${text("reason")}`,
  unblocked: () => "is unblocked.",
  gave_up: () => "failed too often and is blocked.",
  crashed: (_, text) => `failed: ${text("error")}`,
  timed_out: (_, text) => `ran out of time. ${text("error")}`,
  block_loop_detected: (_, text) => `asked again without an answer: ${text("reason")}`,
  review_requested: (_, text) => `waits for review. ${text("summary")}`,
  changes_requested: (_, text) => `needs changes: ${text("reason")}`,
  archived: () => "was archived.",
};

const FAILURES: ReadonlySet<string> = new Set(["crashed", "timed_out"]);
const QUIET_AFTER_FAILURE_MS = 30 * 60_000;

/**
 * Sends the new events of a board to the chats that subscribed to them. The outbox identifies each notice by its event and chat, so
 * a crash before the event is confirmed does not send it twice.
 */
export async function sendBoardNotices(
  store: BoardStore,
  { profile, say }: { readonly profile: string; readonly say: AddToOutbox },
  signal: AbortSignal,
): Promise<void> {
  const client = store.as({ kind: "system", name: "notifier" });
  for (const { subscription, events } of await store.pendingNotices(undefined, signal)) {
    const { platform, chat_id: chatId, thread_id, notifier_profile: owner } = subscription;
    if (owner !== null && owner !== profile) continue;
    const threadId = thread_id === "" ? undefined : thread_id;
    const names = await store.findTaskNames([subscription.task_id], signal);
    const task = names.get(subscription.task_id);
    for (const event of events) {
      const sentence = SENTENCES[event.kind]?.(event, (name) => String(event.payload[name] ?? ""));
      if (sentence === undefined || task === undefined) continue;
      // Repeated failures of a task have the same name for a while, and the outbox sends each name once.
      const name = FAILURES.has(event.kind)
        ? `${task.seq}:failed:${Math.floor(event.created_at / QUIET_AFTER_FAILURE_MS)}`
        : String(event.id);
      const source = `board:${store.identity}:${name}:${platform}:${chatId}:${thread_id}`;
      await say(source, { platform, chatId, threadId }, `#${task.seq} ${task.title} ${sentence}`.trim());
    }
    const last = events.at(-1);
    if (events.some(({ kind }) => kind === "archived")) await client.unsubscribe(subscription, signal);
    else if (last !== undefined) await client.confirmEvents(subscription, last.id, signal);
  }
}
