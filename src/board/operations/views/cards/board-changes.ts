import { all, only, type Steps } from "../../../database/steps.ts";
import type { BoardEvent } from "../../../task.ts";
import type { Status } from "../../../transitions.ts";
import { type EventRow, toEvent } from "../rows.ts";
import type { CardSettings } from "./build-cards.ts";
import type { BoardCard } from "./card.ts";
import { countTasks, findCards } from "./list-cards.ts";

/** What has happened on a board since an event, and the cards that it changed, as they are now. */
export interface BoardChanges {
  /** Oldest first; of too many, the newest. */
  readonly events: readonly BoardEvent[];
  readonly cards: readonly BoardCard[];
  /** Ids of deleted tasks. */
  readonly gone: readonly string[];
  readonly counts: Readonly<Record<Status, number>>;
  readonly paused: boolean;
  readonly lastEvent: number;
  /** Too many cards changed, so none of them is included. */
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

/** The cards of some tasks, in the form of a change without events. */
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

/** The task of an event; that of a deleted task is in the payload. */
function taskOf(
  id: string | null,
  kind: string,
  { task_id: purged }: BoardEvent["payload"],
): readonly string[] {
  if (id !== null) return [id];
  return kind === "purged" && typeof purged === "string" ? [purged] : [];
}

/** Tasks whose cards change without an event of their own: those that wait for a changed task, and all on a pause. */
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
