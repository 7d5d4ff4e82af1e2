import { all, only, type Steps } from "../../../database/steps.ts";
import type { BoardEvent } from "../../../task.ts";
import type { Status } from "../../../transitions.ts";
import { type EventRow, toEvent } from "../rows.ts";
import type { CardSettings } from "./build-cards.ts";
import type { BoardCard } from "./card.ts";
import { countTasks, findCards } from "./list-cards.ts";

/** The events of a board since a given event, and the current cards of the tasks that they affect. */
export interface BoardChanges {
  /** Oldest first; only the newest if there are too many. */
  readonly events: readonly BoardEvent[];
  readonly cards: readonly BoardCard[];
  /** Ids of deleted tasks. */
  readonly gone: readonly string[];
  readonly counts: Readonly<Record<Status, number>>;
  readonly paused: boolean;
  readonly lastEvent: number;
  /** Whether too many cards have changed, in which case none is included. */
  readonly isLarge: boolean;
}

const MAX_EVENTS = 2_000;
const MAX_CARDS = 300;

/** Reads the changes after an event in one snapshot. */
export function* loadChanges(after: number, settings: CardSettings): Steps<BoardChanges> {
  const rows = yield* all<EventRow>(
    `select * from event where id > :after order by id desc limit ${MAX_EVENTS + 1}`,
    { after },
  );
  const events = rows.slice(0, MAX_EVENTS).toReversed().map(toEvent);
  const named = new Set(events.flatMap(({ task_id: id, kind, payload }) => taskOf(id, kind, payload)));
  const isPauseChanged = events.some(({ kind }) => kind === "board_paused" || kind === "board_resumed");
  const ids = [...named, ...(yield* findAffected([...named], isPauseChanged))];
  const isLarge = rows.length > MAX_EVENTS || ids.length > MAX_CARDS;
  const cards = isLarge ? [] : yield* findCards([...new Set(ids)], settings);
  const found = new Set(cards.map(({ id }) => id));
  const gone = isLarge ? [] : [...named].filter((id) => !found.has(id));
  return { events, cards, gone, isLarge, ...(yield* loadState()) };
}

/** The cards of the given tasks as a change without events. */
export function* loadCardChanges(ids: readonly string[], settings: CardSettings): Steps<BoardChanges> {
  const cards = yield* findCards(ids, settings);
  return { events: [], cards, gone: [], isLarge: false, ...(yield* loadState()) };
}

function* loadState(): Steps<Pick<BoardChanges, "counts" | "paused" | "lastEvent">> {
  const { paused, value } = yield* only<{ paused: number; value: number }>(
    "select paused, value from board, counter where counter.name = 'event'",
  );
  return { counts: yield* countTasks(), paused: paused === 1, lastEvent: value };
}

/** The id of the task of an event; for a deleted task it is in the payload. */
function taskOf(
  id: string | null,
  kind: string,
  { task_id: purged }: BoardEvent["payload"],
): readonly string[] {
  if (id !== null) return [id];
  return kind === "purged" && typeof purged === "string" ? [purged] : [];
}

/** Tasks whose cards change without an event: children of changed tasks, and all waiting tasks when the board is paused or resumed. */
function* findAffected(ids: readonly string[], isPauseChanged: boolean): Steps<readonly string[]> {
  const children = yield* all<{ id: string }>(
    `select distinct child_id as id from link where parent_id {among:ids} limit ${MAX_CARDS}`,
    { ids: JSON.stringify(ids) },
  );
  const waiting = isPauseChanged
    ? yield* all<{ id: string }>(
        `select id from task where status in ('ready', 'todo') limit ${MAX_CARDS + 1}`,
      )
    : [];
  return [...children, ...waiting].map(({ id }) => id);
}
