import type { Caller } from "./caller.ts";
import { authorOf } from "./caller.ts";
import {
  type Query,
  type SqlValues,
  type Steps,
  TransactionOvertaken,
  wantChanges,
} from "./database/steps.ts";
import type { Status } from "./transitions.ts";

interface NewEvent {
  /** Null for the board itself. */
  readonly taskId: string | null;
  readonly kind: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly runId?: number | null;
  readonly from?: Status;
  readonly to?: Status;
}

interface Counted {
  readonly name: string;
  by: number;
  max: number;
}

/** What one transaction gathers to write at its end: whoever holds the counters keeps others waiting. */
export class Change {
  readonly caller: Caller;
  /** Who is recorded as doing this. */
  readonly actor: string;
  readonly #events: NewEvent[] = [];
  readonly #counted: Counted[] = []; // few, so that to look through them is faster than a map
  #hasLimits = false;

  constructor(caller: Caller) {
    this.caller = caller;
    this.actor = authorOf(caller);
  }

  tell(event: NewEvent): void {
    this.#events.push(event);
  }

  count(names: readonly string[], by: 1 | -1): void {
    for (const name of names) this.#counterOf(name).by += by;
  }

  /** Makes the transaction start again when this counter, once it is raised and nobody else can, is beyond `max`. */
  limit(name: string, max: number): void {
    if (max === Number.POSITIVE_INFINITY) return;
    this.#counterOf(name).max = max;
    this.#hasLimits = true;
  }

  #counterOf(name: string): Counted {
    for (const counted of this.#counted) if (counted.name === name) return counted;
    const added = { name, by: 0, max: Number.MAX_SAFE_INTEGER };
    this.#counted.push(added);
    return added;
  }

  /** The last statements of the transaction. */
  *finish(): Steps<void> {
    const raised: Counted[] = [];
    for (const counted of this.#counted.sort(byName)) {
      const { name, by } = counted;
      if (by < 0) yield wantChanges(LOWER, { name, by: -by });
      if (by > 0) raised.push(counted);
    }
    const events = this.#events.length;
    if (events > 0) raised.push({ name: "event", by: events, max: Number.MAX_SAFE_INTEGER }); // last: all writers meet here
    while (raised.length > 0) {
      const counters = raised.splice(0, AT_ONCE);
      const { changes } = yield raise(counters, this.#hasLimits);
      if (changes < counters.length) throw new TransactionOvertaken();
    }
    if (events > 0) yield this.#record();
  }

  #record(): Query {
    const rows = this.#events.map(
      ({ taskId, kind, payload, runId = null, from = null, to = null }, index): SqlValues => {
        const later = this.#events.length - 1 - index;
        const { actor } = this;
        return { actor, later, taskId, kind, payload: JSON.stringify(payload ?? {}), runId, from, to };
      },
    );
    const row = rows[0];
    if (row !== undefined && rows.length === 1) return wantChanges(INSERT_ONE, row);
    return wantChanges(INSERT, { actor: this.actor, rows: JSON.stringify(rows) });
  }
}

const byName = (one: Counted, other: Counted): number => (one.name < other.name ? -1 : 1);

function raise(counters: readonly Counted[], hasLimits: boolean): Query {
  const values: Record<string, string | number> = {};
  for (const [index, { name, by, max }] of counters.entries()) {
    const slot = SLOTS[index];
    if (slot === undefined) throw new RangeError("so many counters are not raised at once");
    values[slot.name] = name;
    values[slot.by] = by;
    if (hasLimits) values[slot.max] = max;
  }
  return wantChanges((hasLimits ? RAISE : RAISE_FREELY)[counters.length] ?? "", values);
}

const AT_ONCE = 8; // counters; there are seldom more
const LOWER = "update counter set value = value - cast(:by as bigint) where name = :name";
const SLOTS = Array.from({ length: AT_ONCE }, (_, index) => {
  return { name: `name${index}`, by: `by${index}`, max: `max${index}` };
});
/** By how many counters there are. */
const RAISE_FREELY = Array.from({ length: AT_ONCE + 1 }, (_, count) => {
  const rows = SLOTS.slice(0, count).map(({ name, by }) => `(:${name}, cast(:${by} as bigint))`);
  return `
    insert into counter (name, value) values ${rows.join(", ")}
    on conflict (name) do update set value = counter.value + excluded.value`;
});
/** Leaves those alone that would go beyond their limit. */
const RAISE = RAISE_FREELY.map((raise, count) => {
  const limits = SLOTS.slice(0, count).map(({ name, max }) => `when :${name} then cast(:${max} as bigint)`);
  return `${raise} where counter.value + excluded.value <= case counter.name ${limits.join(" ")} end`;
});
const EVENT_ID = "(select value from counter where name = 'event')";
const INSERT_ONE = `
  insert into event (id, task_id, run_id, kind, actor, from_status, to_status, payload, created_at)
  values (${EVENT_ID} - cast(:later as bigint), :taskId, :runId, :kind, :actor, :from, :to, :payload, hermes_now()) {announce}`;
const INSERT = `
  insert into event (id, task_id, run_id, kind, actor, from_status, to_status, payload, created_at)
  select ${EVENT_ID} - cast(value ->> 'later' as bigint), value ->> 'taskId', cast(value ->> 'runId' as bigint), value ->> 'kind',
         :actor, value ->> 'from', value ->> 'to', value ->> 'payload', hermes_now()
    from {rows:rows} as added {announce}`;
