import type { BoardStore } from "../../../../board/board-store.ts";
import { describeEvent, tasksIn } from "../../../../board/operations/views/describe-event.ts";
import type { BoardEvent as StoredEvent } from "../../../../board/task.ts";
import { shorten } from "../../../../lib/text/shorten.ts";
import type { BoardEvent } from "../../../contract/boards.ts";

const TITLE_LENGTH = 60;

/** Turns events into sentences; internal events are omitted. */
export async function toEvents(
  store: BoardStore,
  events: readonly StoredEvent[],
  signal: AbortSignal,
): Promise<BoardEvent[]> {
  const names = await store.findTaskNames(events.flatMap(tasksIn), signal);
  return events.flatMap((event): BoardEvent[] => {
    const text = describeEvent(event, names, ({ seq, title }) => `#${seq} ${shorten(title, TITLE_LENGTH)}`);
    if (text === undefined) return [];
    const task = event.task_id === null ? undefined : names.get(event.task_id);
    return [
      {
        id: event.id,
        at: event.created_at,
        kind: event.kind,
        actor: event.actor,
        task: task === undefined ? null : { id: task.id, seq: task.seq, title: task.title },
        runId: event.run_id,
        from: event.from_status,
        to: event.to_status,
        text,
      },
    ];
  });
}
