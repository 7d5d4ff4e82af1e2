import { all, type Steps } from "../../database/steps.ts";
import type { BoardEvent } from "../../task.ts";
import { type EventRow, toEvent } from "./rows.ts";

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
