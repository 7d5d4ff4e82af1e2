import type { SqlValue } from "../../lib/statement.ts";
import { TIME, toSqlite } from "./dialect.ts";
import type { Answer, Query, Steps } from "./steps.ts";

/** A statement of a connection to SQLite, with its values in the order of their places. */
interface Prepared {
  all(values: readonly SqlValue[]): readonly unknown[];
  run(values: readonly SqlValue[]): { readonly changes: number };
}

interface Translated {
  readonly statement: Prepared;
  readonly parameters: readonly string[];
}

export type Execute = (query: Query) => Answer;

const KNOWN_STATEMENTS = 500; // text built at run time must not fill the memory

/**
 * Runs statements on a connection, each translated and prepared once. Values go by their places, because looking each
 * up by its name takes longer; and the time is such a value, so that it stands still within a statement.
 */
export function executeOn(prepare: (text: string) => Prepared, now: () => number): Execute {
  const known = new Map<string, Translated>();
  const translate = (sql: string): Translated => {
    if (known.size >= KNOWN_STATEMENTS) known.clear();
    const { text, parameters } = toSqlite(sql);
    const translated = { statement: prepare(text), parameters };
    known.set(sql, translated);
    return translated;
  };
  return ({ sql, values, wants }) => {
    const { statement, parameters } = known.get(sql) ?? translate(sql);
    const inPlace: SqlValue[] = [];
    for (const name of parameters) {
      const value = name === TIME ? BigInt(Math.trunc(now())) : values[name]; // a number would become REAL
      if (value === undefined) throw new Error(`the statement lacks its value "${name}": ${sql}`);
      inPlace.push(value);
    }
    if (wants === "rows") return { rows: statement.all(inPlace), changes: 0 };
    return { rows: [], changes: statement.run(inPlace).changes };
  };
}

/** Never yields to the event loop: a transaction is over before anyone else of this process can touch the connection. */
export function drive<Result>(steps: Steps<Result>, execute: Execute): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next(execute(step.value));
  return step.value;
}

/** For steps that only read, on a connection that nobody else has. */
export async function driveSlowly<Result>(
  steps: Steps<Result>,
  execute: Execute,
  between: () => Promise<void>,
): Promise<Result> {
  let step = steps.next();
  while (step.done !== true) {
    step = steps.next(execute(step.value));
    await between();
  }
  return step.value;
}
