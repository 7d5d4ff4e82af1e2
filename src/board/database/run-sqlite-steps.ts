import { TIME_PARAMETER, toSqlite } from "./dialect.ts";
import type { Query, QueryResult, SqlValues, Steps } from "./steps.ts";

/** A prepared SQLite statement with named parameters. */
interface PreparedStatement {
  all(values: SqlValues): readonly unknown[];
  run(values: SqlValues): { readonly changes: number };
}

const TRANSLATED_TEXTS = 500; // SQL text built at run time must not fill the memory

export type Execute = (query: Query) => QueryResult;

/** Runs statements on a connection; the time is a parameter, so that it is constant within a statement. */
export function createExecute(prepare: (text: string) => PreparedStatement, now: () => number): Execute {
  const translated = new Map<string, string>();
  const translate = (sql: string): string => {
    if (translated.size >= TRANSLATED_TEXTS) translated.clear();
    const text = toSqlite(sql);
    translated.set(sql, text);
    return text;
  };
  return ({ sql, values, returns }) => {
    const statement = prepare(translated.get(sql) ?? translate(sql));
    const bound = { ...values, [TIME_PARAMETER]: BigInt(Math.trunc(now())) }; // a number would become REAL
    if (returns === "rows") return { rows: statement.all(bound), changes: 0 };
    return { rows: [], changes: statement.run(bound).changes };
  };
}

/** Runs all steps synchronously, so that no other code of this process can use the connection during a transaction. */
export function runSteps<Result>(steps: Steps<Result>, execute: Execute): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next(execute(step.value));
  return step.value;
}

/** Runs read-only steps asynchronously; the connection must not be used by other code. */
export async function runStepsAsync<Result>(
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
