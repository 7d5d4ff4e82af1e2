import type { Caller } from "./caller.ts";
import { authorOf } from "./caller.ts";
import { all, run, type Steps, TransactionOvertaken } from "./database/steps.ts";
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
    const counts = [...this.#counts].filter(([, by]) => by !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, by] of counts) if (by < 0) yield* run(LOWER, { name, by: -by });
    const raised = counts.filter(([, by]) => by > 0);
    if (this.#events.length > 0) raised.push(["event", this.#events.length]); // last: all writers meet here
    if (raised.length === 0) return;
    const counters = yield* raise(raised);
    if (counters.some(({ name, value }) => value > (this.#limits.get(name) ?? Number.POSITIVE_INFINITY)))
      throw new TransactionOvertaken();
    const last = counters.find(({ name }) => name === "event")?.value;
    if (last === undefined) return;
    const rows = this.#rows(last - this.#events.length);
    const [row, ...others] = rows;
    if (row !== undefined && others.length === 0) yield* run(INSERT_ONE, { actor: this.actor, ...row });
    else yield* run(INSERT, { actor: this.actor, rows: JSON.stringify(rows) });
  }

  #rows(before: number) {
    return this.#events.map(({ taskId, kind, payload = {}, runId = null, from = null, to = null }, index) => {
      return { id: before + index + 1, taskId, kind, payload: JSON.stringify(payload), runId, from, to };
    });
  }
}

interface Counter {
  readonly name: string;
  readonly value: number;
}

const PLAIN = 8; // so many values stand in the statement itself, which is faster; more come as JSON

function* raise(counters: readonly (readonly [name: string, by: number])[]): Steps<readonly Counter[]> {
  if (counters.length > PLAIN)
    return yield* all(RAISE, { rows: JSON.stringify(counters.map(([name, by]) => ({ name, by }))) });
  const values = Object.fromEntries(
    counters.flatMap(([name, by], index) => [
      [`name${index}`, name],
      [`by${index}`, by],
    ]),
  );
  const rows = counters.map((_, index) => `(:name${index}, cast(:by${index} as bigint))`);
  return yield* all(`insert into counter (name, value) values ${rows.join(", ")} ${ADD}`, values);
}

const LOWER = "update counter set value = value - cast(:by as bigint) where name = :name";
const ADD = "on conflict (name) do update set value = counter.value + excluded.value returning name, value";
const RAISE = `
  insert into counter (name, value)
  select value ->> 'name', cast(value ->> 'by' as bigint) from {rows:rows} as added where true ${ADD}`;
const INSERT_ONE = `
  insert into event (id, task_id, run_id, kind, actor, from_status, to_status, payload, created_at)
  values (:id, :taskId, :runId, :kind, :actor, :from, :to, :payload, hermes_now())`;
const INSERT = `
  insert into event (id, task_id, run_id, kind, actor, from_status, to_status, payload, created_at)
  select cast(value ->> 'id' as bigint), value ->> 'taskId', cast(value ->> 'runId' as bigint), value ->> 'kind',
         :actor, value ->> 'from', value ->> 'to', value ->> 'payload', hermes_now()
    from {rows:rows} as added`;
