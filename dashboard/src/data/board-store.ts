import type {
  BoardChange,
  Card,
  CardColumn,
  CardsAnswer,
  CardsQuery,
  Status,
} from "../../../src/api/contract/boards.ts";

/** A column as it is drawn: its loaded cards, with changes that the server has not confirmed yet. */
export interface ColumnView {
  readonly status: Status;
  /** How many tasks it has, loaded or not. */
  readonly count: number;
  readonly ids: readonly string[];
  /** Cursor of the next page; null when everything is loaded. */
  readonly next: string | null;
}

/** A card as it is drawn. */
export interface CardView extends Card {
  /** It shows a change that the server has not confirmed yet. */
  readonly isPending: boolean;
  /** Counts changes from elsewhere; each is shown with one fade. */
  readonly changes: number;
}

export interface BoardSummary {
  readonly isLoaded: boolean;
  /** Tasks that match the filter, without archived ones. */
  readonly total: number;
  readonly counts: Readonly<Partial<Record<Status, number>>>;
  readonly paused: boolean;
}

/** Changed fields that the server has not confirmed yet. */
interface PendingFields {
  readonly status?: Status;
  readonly priority?: number;
  readonly assignee?: string | null;
  readonly hold?: boolean;
}

interface Pending {
  readonly token: number;
  readonly fields: PendingFields;
  /** The event of the card when the change began. */
  readonly event: number;
  /** The server has agreed; the next event of the card replaces this change. */
  readonly isAccepted: boolean;
}

interface Column {
  count: number;
  ids: string[];
  next: string | null;
}

interface Stored {
  readonly card: Card;
  /** The number of the newest event in this state. */
  readonly event: number;
  readonly changes: number;
}

type Listener = () => void;

export interface BoardStoreOptions {
  /** Calls back once, soon; in a browser, in the next frame. */
  readonly schedule: (flush: () => void) => void;
  /** Whether a changed card matches the filter; undefined without a filter. */
  readonly matches?: ((card: Card) => boolean) | undefined;
  /** The order in which the server gives the cards of a column. */
  readonly order?: NonNullable<CardsQuery["order"]>;
  readonly paused?: boolean;
}

/**
 * The cards of one board under one filter. Cards and columns have separate subscriptions, so that only what has changed is
 * drawn again, at most once per frame.
 */
export class BoardStore {
  readonly #options: BoardStoreOptions;
  readonly #stored = new Map<string, Stored>();
  readonly #columns = new Map<Status, Column>();
  readonly #pending = new Map<string, Pending>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #dirty = new Set<string>();
  /** Views are cached until they change, because React compares them by identity. */
  readonly #cardViews = new Map<string, CardView>();
  readonly #columnViews = new Map<Status, ColumnView>();
  #summary: BoardSummary | undefined;
  /** Changes that arrive while a snapshot is being read. */
  #waiting: BoardChange[] | undefined;
  #snapshotEvent = -1;
  #tokens = 0;
  #isScheduled = false;
  #paused: boolean;

  constructor(options: BoardStoreOptions) {
    this.#options = options;
    this.#paused = options.paused ?? false;
  }

  card(id: string): CardView | undefined {
    const known = this.#cardViews.get(id);
    if (known !== undefined) return known;
    const stored = this.#stored.get(id);
    if (stored === undefined) return undefined;
    const fields = this.#pending.get(id)?.fields;
    const view = { ...stored.card, ...fields, isPending: fields !== undefined, changes: stored.changes };
    this.#cardViews.set(id, view);
    return view;
  }

  column(status: Status): ColumnView {
    const known = this.#columnViews.get(status);
    if (known !== undefined) return known;
    const column = this.#columns.get(status) ?? { count: 0, ids: [], next: null };
    const leaving = new Set<string>();
    const coming: string[] = [];
    for (const [id, { fields }] of this.#pending) {
      const from = this.#stored.get(id)?.card.status;
      const to = fields.status ?? from;
      if (from === status && column.ids.includes(id)) leaving.add(id);
      if (to === status && from !== undefined) coming.push(id);
    }
    const stay = leaving.size === 0 ? column.ids : column.ids.filter((id) => !leaving.has(id));
    const view: ColumnView = {
      status,
      count: column.count + coming.length - leaving.size,
      ids: coming.length === 0 ? [...stay] : [...stay, ...coming].sort((a, b) => this.#compare(a, b)),
      next: column.next,
    };
    this.#columnViews.set(status, view);
    return view;
  }

  summary(): BoardSummary {
    if (this.#summary !== undefined) return this.#summary;
    const statuses = [...this.#columns.keys()];
    const counts = Object.fromEntries(statuses.map((status) => [status, this.column(status).count]));
    const total = statuses.reduce(
      (sum, status) => (status === "archived" ? sum : sum + this.column(status).count),
      0,
    );
    this.#summary = { isLoaded: statuses.length > 0, total, counts, paused: this.#paused };
    return this.#summary;
  }

  /** Subscribes to `card:<id>`, `column:<status>` or `summary`; returns a function that unsubscribes. */
  subscribe(key: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  /** Call before reading a snapshot: changes are then queued until `loadSnapshot`. */
  beginLoad(): void {
    this.#waiting ??= [];
  }

  /** Replaces all cards with a snapshot; unconfirmed changes stay visible. */
  loadSnapshot({ columns, event }: CardsAnswer): void {
    for (const id of this.#stored.keys()) this.#touchCard(id);
    const before = new Map(this.#stored);
    this.#stored.clear();
    for (const status of this.#columns.keys()) this.#touchColumn(status);
    this.#columns.clear();
    this.#snapshotEvent = event;
    for (const { status, count, cards, next } of columns) {
      this.#columns.set(status, { count, next, ids: cards.map(({ id }) => id) });
      for (const card of cards) {
        const changes = before.get(card.id)?.changes ?? 0;
        this.#stored.set(card.id, { card, event, changes });
        this.#touchCard(card.id);
      }
      this.#touchColumn(status);
    }
    const missed = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const change of missed) this.applyChange(change);
  }

  /** Adds the next page of a column, as of this event of the board. */
  appendPage(page: CardColumn, event: number): void {
    const column = this.#columns.get(page.status);
    if (column === undefined) return;
    const known = new Set(column.ids);
    const added: string[] = [];
    for (const card of page.cards) {
      const stored = this.#stored.get(card.id);
      if (stored !== undefined && stored.event > event && stored.card.status !== page.status) continue;
      if (stored === undefined || stored.event <= event)
        this.#stored.set(card.id, { card, event, changes: stored?.changes ?? 0 });
      this.#touchCard(card.id);
      if (!known.has(card.id)) added.push(card.id);
    }
    const last = column.ids.at(-1);
    const isInOrder = last === undefined || added[0] === undefined || this.#compare(last, added[0]) <= 0;
    column.ids.push(...added);
    if (!isInOrder) column.ids.sort((a, b) => this.#compare(a, b));
    column.next = page.next;
    this.#touchColumn(page.status);
  }

  /** Applies an event of the stream. Returns false if it was too large to contain the cards, which must then be read again. */
  applyChange(change: BoardChange): boolean {
    if (this.#waiting !== undefined) {
      this.#waiting.push(change);
      return true;
    }
    if (change.event <= this.#snapshotEvent) return true;
    if (change.isLarge) return false;
    for (const card of change.cards) this.#place(card, change);
    for (const id of change.gone) this.#remove(id);
    if (this.#options.matches === undefined)
      for (const [status, count] of Object.entries(change.counts) as [Status, number][]) {
        const column = this.#columns.get(status);
        if (column === undefined || column.count === count) continue;
        column.count = count;
        this.#touchColumn(status);
      }
    if (change.paused !== this.#paused) {
      this.#paused = change.paused;
      this.#touchSummary();
    }
    return true;
  }

  /** Shows a person's change before the server has confirmed it. End it with `accept` or `settle`. */
  begin(ids: readonly string[], fields: PendingFields): number {
    this.#tokens += 1;
    for (const id of ids) {
      const event = this.#stored.get(id)?.event;
      if (event === undefined) continue;
      this.#pending.set(id, { token: this.#tokens, fields, event, isAccepted: false });
      this.#touchMove(id, fields.status);
    }
    return this.#tokens;
  }

  /** The server has agreed but not returned the card: the change stays visible until its event arrives. */
  accept(token: number, id: string): void {
    const pending = this.#pending.get(id);
    if (pending?.token !== token) return;
    if ((this.#stored.get(id)?.event ?? 0) > pending.event) this.settle(token, id);
    else this.#pending.set(id, { ...pending, isAccepted: true });
  }

  /** Ends the change of one task, with the card that the server returned, or without one if it refused. */
  settle(token: number, id: string, card?: Card): void {
    const pending = this.#pending.get(id);
    if (pending?.token === token) {
      this.#pending.delete(id);
      this.#touchMove(id, pending.fields.status);
    }
    const stored = this.#stored.get(id);
    if (card === undefined || stored === undefined || stored.card.updatedAt > card.updatedAt) return;
    // The event with the new counts arrives later; until then they are adjusted here.
    this.#replace(card, stored.event, stored.changes, true);
  }

  #place(card: Card, change: BoardChange): void {
    const stored = this.#stored.get(card.id);
    if (stored !== undefined && stored.event > change.event) return;
    const pending = this.#pending.get(card.id);
    if (pending !== undefined && (pending.isAccepted || pending.fields.status === card.status)) {
      this.#touchMove(card.id, pending.fields.status);
      this.#pending.delete(card.id);
    }
    const isFiltered = this.#options.matches !== undefined;
    if (this.#options.matches?.(card) === false) {
      if (stored !== undefined) this.#remove(card.id);
      return;
    }
    if (stored === undefined && isFiltered) this.#countArrival(card, change);
    const isOwn = pending !== undefined || stored?.card.updatedAt === card.updatedAt;
    const changes = (stored?.changes ?? 0) + (isOwn ? 0 : 1);
    this.#replace(card, change.event, changes, isFiltered && stored !== undefined);
  }

  /** Adjusts the counts under a filter for a card that was not loaded: one more in its column, one less where it came from. */
  #countArrival(card: Card, { events }: BoardChange): void {
    const moves = events.filter(({ task, from }) => task?.id === card.id && from !== null);
    const from = moves[0]?.from ?? undefined;
    const isNew = events.some(({ task, kind }) => task?.id === card.id && kind === "created");
    const source = from === undefined ? undefined : this.#columns.get(from);
    const target = this.#columns.get(card.status);
    if (source !== undefined && from !== undefined && source.next !== null) {
      source.count -= 1;
      this.#touchColumn(from);
    }
    if (target !== undefined && (isNew || (from !== undefined && from !== card.status))) {
      target.count += 1;
      this.#touchColumn(card.status);
    }
  }

  /** Stores a card and inserts it into its column. */
  #replace(card: Card, event: number, changes: number, counts: boolean): void {
    const { id, status } = card;
    const before = this.#stored.get(id);
    const source = before && this.#columns.get(before.card.status);
    const index = source?.ids.indexOf(id) ?? -1;
    if (source !== undefined && index >= 0) source.ids.splice(index, 1);
    this.#stored.set(id, { card, event, changes });
    this.#touchMove(id, before?.card.status);
    const target = this.#columns.get(status);
    if (target !== undefined) this.#insert(target, id);
    if (!counts || before === undefined || before.card.status === status) return;
    if (source !== undefined) source.count -= 1;
    if (target !== undefined) target.count += 1;
  }

  #remove(id: string): void {
    const stored = this.#stored.get(id);
    if (stored === undefined) return;
    const column = this.#columns.get(stored.card.status);
    const index = column?.ids.indexOf(id) ?? -1;
    if (column !== undefined && index >= 0) {
      column.ids.splice(index, 1);
      column.count -= 1;
    }
    this.#touchMove(id, this.#pending.get(id)?.fields.status);
    this.#pending.delete(id);
    this.#stored.delete(id);
  }

  #insert(column: Column, id: string): void {
    let low = 0;
    let high = column.ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(column.ids[middle] ?? id, id) <= 0) low = middle + 1;
      else high = middle;
    }
    // A card that belongs after the last loaded one comes with a later page.
    if (low === column.ids.length && column.next !== null) return;
    column.ids.splice(low, 0, id);
  }

  #compare(one: string, other: string): number {
    const a = this.card(one);
    const b = this.card(other);
    return a === undefined || b === undefined ? 0 : compareCards(a, b, this.#options.order ?? "board");
  }

  #touchMove(id: string, alsoIn: Status | undefined): void {
    const status = this.#stored.get(id)?.card.status;
    this.#touchCard(id);
    if (status !== undefined) this.#touchColumn(status);
    if (alsoIn !== undefined) this.#touchColumn(alsoIn);
  }

  #touchCard(id: string): void {
    this.#cardViews.delete(id);
    this.#touch(`card:${id}`);
  }

  #touchColumn(status: Status): void {
    this.#columnViews.delete(status);
    this.#touch(`column:${status}`);
    this.#touchSummary();
  }

  #touchSummary(): void {
    this.#summary = undefined;
    this.#touch("summary");
  }

  #touch(key: string): void {
    this.#dirty.add(key);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.schedule(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const keys = [...this.#dirty];
    this.#dirty.clear();
    for (const key of keys) for (const listener of [...(this.#listeners.get(key) ?? [])]) listener();
  }
}

/** The same orders as on the server. `board` sorts by priority, but done and archived tasks by their end, newest first. */
function compareCards(a: Card, b: Card, order: NonNullable<CardsQuery["order"]>): number {
  switch (order) {
    case "created":
      return b.seq - a.seq;
    case "updated":
      return b.updatedAt - a.updatedAt || a.seq - b.seq;
    case "title":
      return a.title < b.title ? -1 : a.title > b.title ? 1 : a.seq - b.seq;
    case "priority":
      return b.priority - a.priority || a.seq - b.seq;
    case "board":
      if (a.status === "done" || a.status === "archived") return b.since - a.since || b.seq - a.seq;
      return b.priority - a.priority || a.seq - b.seq;
  }
}
