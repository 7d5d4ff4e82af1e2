import type { Caller } from "./caller.ts";
import { authorOf } from "./caller.ts";
import { run, type SqlValues, type Steps, TransactionOvertaken } from "./database/steps.ts";
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

/** What one transaction gathers to write at its end: whoever holds the counters keeps others waiting. */
export class Change {
  readonly caller: Caller;
  /** Who is recorded as doing this. */
  readonly actor: string;
  readonly #events: NewEvent[] = [];
  readonly #counts = new Map<string, number>();
  readonly #limits = new Map<string, number>();

  constructor(caller: Caller) {
    this.caller = caller;
    this.actor = authorOf(caller);
  }

  tell(event: NewEvent): void {
    this.#events.push(event);
  }

  count(names: readonly string[], by: 1 | -1): void {
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  /** Makes the transaction start again when this counter, once it is raised and nobody else can, is beyond `max`. */
  limit(name: string, max: number): void {
    if (max !== Number.POSITIVE_INFINITY) this.#limits.set(name, max);
  }

  /** The last statements of the transaction. */
  *finish(): Steps<void> {
    const raised: [name: string, by: number][] = [];
    for (const name of [...this.#counts.keys()].sort()) {
      const by = this.#counts.get(name) ?? 0;
      if (by < 0) yield* run(LOWER, { name, by: -by });
      if (by > 0) raised.push([name, by]);
    }
    if (this.#events.length > 0) raised.push(["event", this.#events.length]); // last: all writers meet here
    for (let next = 0; next < raised.length; next += AT_ONCE)
      yield* this.#raise(raised.slice(next, next + AT_ONCE));
    yield* this.#record();
  }

  *#raise(counters: readonly (readonly [name: string, by: number])[]): Steps<void> {
    const values: Record<string, string | number> = {};
    for (const [index, [name, by]] of counters.entries()) {
      values[`name${index}`] = name;
      values[`by${index}`] = by;
      values[`max${index}`] = this.#limits.get(name) ?? Number.MAX_SAFE_INTEGER;
    }
    const changed = yield* run(RAISE[counters.length] ?? "", values);
    if (changed < counters.length) throw new TransactionOvertaken();
  }

  *#record(): Steps<void> {
    const rows = this.#events.map((event, index): SqlValues => {
      const { taskId, kind, payload = {}, runId = null } = event;
      const [from, to] = [event.from ?? null, event.to ?? null];
      const later = this.#events.length - 1 - index;
      return { later, taskId, kind, payload: JSON.stringify(payload), runId, from, to };
    });
    const [row, ...others] = rows;
    if (row === undefined) return;
    if (others.length === 0) yield* run(INSERT_ONE, { actor: this.actor, ...row });
    else yield* run(INSERT, { actor: this.actor, rows: JSON.stringify(rows) });
  }
}

const AT_ONCE = 8; // counters; there are seldom more
const LOWER = "update counter set value = value - cast(:by as bigint) where name = :name";
/** By how many counters there are. Leaves those alone that would go beyond their limit. */
const RAISE = Array.from({ length: AT_ONCE + 1 }, (_, count) => {
  const indices = Array.from({ length: count }, (_, index) => index);
  const rows = indices.map((index) => `(:name${index}, cast(:by${index} as bigint))`);
  const limits = indices.map((index) => `when :name${index} then cast(:max${index} as bigint)`);
  return `
    insert into counter (name, value) values ${rows.join(", ")}
    on conflict (name) do update set value = counter.value + excluded.value
     where counter.value + excluded.value <= case counter.name ${limits.join(" ")} end`;
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
