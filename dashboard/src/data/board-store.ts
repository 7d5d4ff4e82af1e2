import type {
  BoardChange,
  Card,
  CardColumn,
  CardsAnswer,
  CardsQuery,
  Status,
} from "../../../src/api/contract/boards.ts";

/** A column as it is drawn: what is loaded of it, with changes that the server has not confirmed yet. */
export interface ColumnView {
  readonly status: Status;
  /** How many tasks it has, loaded or not. */
  readonly count: number;
  readonly ids: readonly string[];
  /** Cursor of the next page; null when all is loaded. */
  readonly next: string | null;
}

/** A card as it is drawn. */
export interface CardView extends Card {
  /** Shown as a person changed it; the server has not answered yet. */
  readonly isPending: boolean;
  /** Counts changes from elsewhere, so that each can be shown by one fade. */
  readonly changes: number;
}

export interface BoardSummary {
  readonly isLoaded: boolean;
  /** Tasks that the filter lets through, without archived ones. */
  readonly total: number;
  readonly counts: Readonly<Partial<Record<Status, number>>>;
  readonly paused: boolean;
}

/** What a person changed and the server has not confirmed. */
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
  /** The server has agreed, and the next change of the card replaces it. */
  readonly isAccepted: boolean;
}

interface Column {
  count: number;
  ids: string[];
  next: string | null;
}

interface Stored {
  readonly card: Card;
  /** The board's event that this state contains. */
  readonly event: number;
  readonly changes: number;
}

type Listener = () => void;

export interface BoardStoreOptions {
  /** Calls back once, soon: once a frame in a browser. */
  readonly schedule: (flush: () => void) => void;
  /** Whether the filter lets a changed card through; undefined without a filter. */
  readonly matches?: ((card: Card) => boolean) | undefined;
  /** The order in which the server gives the cards of a column. */
  readonly order?: NonNullable<CardsQuery["order"]>;
  readonly paused?: boolean;
}

/**
 * The cards of one board under one filter. Each card and each column is subscribed to alone, so that a change draws only
 * what it changed, however many changes arrive in one frame.
 */
export class BoardStore {
  readonly #options: BoardStoreOptions;
  readonly #stored = new Map<string, Stored>();
  readonly #columns = new Map<Status, Column>();
  readonly #pending = new Map<string, Pending>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #dirty = new Set<string>();
  /** Views, kept until what they show changes: the same object means nothing to draw. */
  readonly #cardViews = new Map<string, CardView>();
  readonly #columnViews = new Map<Status, ColumnView>();
  #summary: BoardSummary | undefined;
  /** Changes that arrived while a snapshot was on its way. */
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

  /** Subscribes to `card:<id>`, `column:<status>` or `summary`; returns the end of the subscription. */
  subscribe(key: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  /** From now on, changes are kept until `loadSnapshot` says which of them it contains. */
  beginLoad(): void {
    this.#waiting ??= [];
  }

  /** Replaces what is shown by a snapshot; unconfirmed changes of a person stay visible. */
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

  /** Adds the next page of a column, which was read when the board had this event. */
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

  /** Applies what the stream says. Returns false if the change is too large to carry its cards, and they must be read again. */
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

  /** Shows a change of a person at once; `settle` ends it. */
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

  /** The server has agreed without saying what became of the task: it stays as shown until its event arrives. */
  accept(token: number, id: string): void {
    const pending = this.#pending.get(id);
    if (pending?.token !== token) return;
    if ((this.#stored.get(id)?.event ?? 0) > pending.event) this.settle(token, id);
    else this.#pending.set(id, { ...pending, isAccepted: true });
  }

  /** Ends the change of one task: with the card as the server has it now, or without if it was refused. */
  settle(token: number, id: string, card?: Card): void {
    const pending = this.#pending.get(id);
    if (pending?.token === token) {
      this.#pending.delete(id);
      this.#touchMove(id, pending.fields.status);
    }
    const stored = this.#stored.get(id);
    if (card === undefined || stored === undefined || stored.card.updatedAt > card.updatedAt) return;
    // The event of this change comes later by the stream and brings the counts; until then they are counted here.
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

  /** Counts a card that was not loaded, under a filter: in its column, and no longer in the one that it came from. */
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

  /** Stores a card and puts it where it belongs. */
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
    // What sorts behind the last loaded card comes with its own page.
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

/** The orders of the server. `board` is by priority, and by their end for done and archived tasks, the newest first. */
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
