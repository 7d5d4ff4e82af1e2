import { type Clock, systemClock } from "../../lib/clock.ts";
import { boardPath, boardSchemaName, parseBoardSlug } from "../board-slug.ts";
import type { BoardPlace } from "../board-store.ts";
import type { Caller } from "../caller.ts";
import { Change } from "../change.ts";
import type { BoardDatabase } from "../database/board-database.ts";
import { openPostgresBoard } from "../database/postgres-board-database.ts";
import { openSqliteBoard } from "../database/sqlite-board-database.ts";
import { only, run, type Steps } from "../database/steps.ts";
import { lockGraph } from "../operations/load.ts";
import { DISPATCH_TABLES, HAS_TABLES } from "./dispatch-schema.ts";

/** A board in the hands of a dispatcher, which puts operations of the store together in transactions of its own. */
export interface DispatchBoard extends AsyncDisposable {
  readonly slug: string;
  /** False only on a board that was never dispatched and was opened to look. */
  readonly hasTables: boolean;
  read<Result>(steps: () => Steps<Result>, signal: AbortSignal): Promise<Result>;
  write<Result>(
    caller: Caller,
    steps: (change: Change) => Steps<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
}

export interface DispatchBoardOptions {
  readonly clock?: Clock;
  /** Leaves the board as it is, even without the tables of the dispatcher. */
  readonly readOnly?: boolean;
  readonly connections?: number;
}

/** In whose name a dispatcher acts. */
export const DISPATCHER: Caller = { kind: "system", name: "dispatcher" };

/** Opens a board that the store has made. */
export async function openDispatchBoard(
  { root, databaseUrl, slug: text }: BoardPlace,
  { clock = systemClock, readOnly = false, connections = 4 }: DispatchBoardOptions,
  signal: AbortSignal,
): Promise<DispatchBoard> {
  const slug = parseBoardSlug(text);
  const isServer = databaseUrl !== "";
  const database = isServer
    ? await openPostgresBoard(
        { url: databaseUrl, schema: boardSchemaName(slug), create: false, connections },
        signal,
      )
    : await openSqliteBoard({ path: boardPath(root, slug), clock }, signal);
  try {
    const sql = HAS_TABLES[isServer ? "postgres" : "sqlite"];
    const has = await database.read(() => only<{ found: number }>(sql), signal);
    if (has.found === 0 && !readOnly) await database.write(makeTables, signal);
    return wrapDatabase(slug, database, has.found > 0 || !readOnly);
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

/** A dispatcher's view of an open database that has its tables, or is only looked at. */
export function wrapDatabase(slug: string, database: BoardDatabase, hasTables = true): DispatchBoard {
  return {
    slug,
    hasTables,
    read: (steps, signal) => database.read(steps, signal),
    write: (caller, steps, signal) => database.write(() => transact(caller, steps), signal),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

function* makeTables(): Steps<void> {
  yield* lockGraph(); // two that make the same table at once would fail on PostgreSQL
  for (const sql of DISPATCH_TABLES) yield* run(sql);
}

function* transact<Result>(caller: Caller, steps: (change: Change) => Steps<Result>): Steps<Result> {
  const change = new Change(caller);
  const result = yield* steps(change);
  yield* change.finish();
  return result;
}
