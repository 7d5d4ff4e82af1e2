import { authorOf, type Caller } from "./caller.ts";
import type { BoardDatabase } from "./database/board-database.ts";
import { run, type Steps } from "./database/steps.ts";
import type { Status } from "./transitions.ts";

interface NewEvent {
  /** Null for an event of the board itself. */
  readonly taskId: string | null;
  readonly kind: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly runId?: number | null;
  readonly from?: Status;
  readonly to?: Status;
}

/** Runs an operation for a caller in one transaction, and writes its events and counters at the end. */
export function runTransaction<Result>(
  database: BoardDatabase,
  caller: Caller,
  operation: (transaction: BoardTransaction) => Steps<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return database.write(function* () {
    const transaction = new BoardTransaction(caller);
    const result = yield* operation(transaction);
    yield* transaction.finish();
    return result;
  }, signal);
}

/** Collects the events and counters of one transaction; they are written last, because counter locks block other writers. */
export class BoardTransaction {
  readonly caller: Caller;
  /** The name recorded as the author of the events. */
  readonly actor: string;
  readonly #events: NewEvent[] = [];
  readonly #counters = new Map<string, number>();

  constructor(caller: Caller) {
    this.caller = caller;
    this.actor = authorOf(caller);
  }

  recordEvent(event: NewEvent): void {
    this.#events.push(event);
  }

  count(names: readonly string[], by: 1 | -1): void {
    for (const name of names) this.#counters.set(name, (this.#counters.get(name) ?? 0) + by);
  }

  /** Writes the counters, then the events. All transactions lock counters in the same order, which avoids deadlocks. */
  *finish(): Steps<void> {
    const count = this.#events.length;
    const counters = [...this.#counters].map(([name, by]) => ({ name, by })).sort(byName);
    for (const { name, by } of counters) if (by < 0) yield* run(LOWER, { name, by: -by });
    const raised = counters.filter(({ by }) => by > 0);
    if (count > 0) raised.push({ name: "event", by: count }); // last: every writer contends for this counter
    const [only, second] = raised; // most operations change one counter and record one event, which need no JSON
    if (second !== undefined) yield* run(RAISE_ALL, { raised: JSON.stringify(raised) });
    else if (only !== undefined) yield* run(RAISE, only);
    const rows = this.#events.map(
      ({ taskId, kind, payload = {}, runId = null, from = null, to = null }, index) => {
        return { later: count - 1 - index, taskId, kind, payload: JSON.stringify(payload), runId, from, to };
      },
    );
    const [row] = rows;
    if (rows.length > 1) yield* run(INSERT_ALL, { actor: this.actor, rows: JSON.stringify(rows) });
    else if (row !== undefined) yield* run(INSERT, { actor: this.actor, ...row });
  }
}

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : 1;

const RAISE = `
  insert into counter (name, value) values (:name, :by)
      on conflict (name) do update set value = counter.value + excluded.value`;
const RAISE_ALL = `
  insert into counter (name, value) select value ->> 'name', cast(value ->> 'by' as bigint) from {rows:raised} as raised
   where true on conflict (name) do update set value = counter.value + excluded.value`;
/** Not an upsert with a negative value: constraints are checked on the value to insert before the conflict is detected. */
const LOWER = "update counter set value = value - cast(:by as bigint) where name = :name";
const COLUMNS = "id, task_id, run_id, kind, actor, from_status, to_status, payload, created_at";
const INSERT = `
  insert into event (${COLUMNS})
  values ((select value from counter where name = 'event') - :later, :taskId, :runId, :kind, :actor, :from, :to, :payload,
          hermes_now()) {announce}`;
const INSERT_ALL = `
  insert into event (${COLUMNS})
  select (select value from counter where name = 'event') - cast(value ->> 'later' as bigint), value ->> 'taskId',
         cast(value ->> 'runId' as bigint), value ->> 'kind', :actor, value ->> 'from', value ->> 'to',
         value ->> 'payload', hermes_now()
    from {rows:rows} as added {announce}`;
