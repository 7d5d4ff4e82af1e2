import { type Clock, systemClock } from "../../lib/clock.ts";
import { boardPath, boardSchemaName, parseBoardSlug } from "../board-slug.ts";
import type { BoardPlace } from "../board-store.ts";
import type { Caller } from "../caller.ts";
import { Change } from "../change.ts";
import type { BoardDatabase } from "../database/board-database.ts";
import { openPostgresBoard } from "../database/postgres-board-database.ts";
import { openSqliteBoard } from "../database/sqlite-board-database.ts";
import type { Steps } from "../database/steps.ts";

/** A board in the hands of a dispatcher, which puts operations of the store together in transactions of its own. */
export interface DispatchBoard extends AsyncDisposable {
  readonly slug: string;
  read<Result>(steps: () => Steps<Result>, signal: AbortSignal): Promise<Result>;
  write<Result>(
    caller: Caller,
    steps: (change: Change) => Steps<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
}

export interface DispatchBoardOptions {
  readonly clock?: Clock;
  readonly connections?: number;
}

/** In whose name a dispatcher acts. */
export const DISPATCHER: Caller = { kind: "system", name: "dispatcher" };

/** Opens a board that the store has made. */
export async function openDispatchBoard(
  { root, databaseUrl, slug: text }: BoardPlace,
  { clock = systemClock, connections = 4 }: DispatchBoardOptions,
  signal: AbortSignal,
): Promise<DispatchBoard> {
  const slug = parseBoardSlug(text);
  const database =
    databaseUrl !== ""
      ? await openPostgresBoard(
          { url: databaseUrl, schema: boardSchemaName(slug), create: false, connections },
          signal,
        )
      : await openSqliteBoard({ path: boardPath(root, slug), clock }, signal);
  return wrapDatabase(slug, database);
}

/** A dispatcher's view of an open database. */
export function wrapDatabase(slug: string, database: BoardDatabase): DispatchBoard {
  return {
    slug,
    read: (steps, signal) => database.read(steps, signal),
    write: (caller, steps, signal) => database.write(() => transact(caller, steps), signal),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

function* transact<Result>(caller: Caller, steps: (change: Change) => Steps<Result>): Steps<Result> {
  const change = new Change(caller);
  const result = yield* steps(change);
  yield* change.finish();
  return result;
}
