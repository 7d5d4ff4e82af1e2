import { stat } from "node:fs/promises";
import { AppError, errnoOf, messageOf } from "../lib/errors.ts";
import { boardPath, boardSchemaName, DEFAULT_BOARD } from "./board-slug.ts";
import type { BoardStore } from "./board-store.ts";
import type { BoardsPlace } from "./boards-place.ts";
import { findSlugIn } from "./database/postgres-schemas.ts";
import { listBoards } from "./list-boards.ts";

export interface BoardVisits<Result> {
  readonly visited: readonly { readonly board: string; readonly result: Result }[];
  /** Those that could not be opened or used; without a slug when not even a list of them could be had. */
  readonly failed: readonly FailedVisit[];
}

export interface FailedVisit {
  readonly board: string | undefined;
  readonly error: AppError;
}

/**
 * Opens one board after the other, each closed before the next, and makes none. What is wrong with a database is in
 * the result; any other failure ends the visits.
 */
export async function visitBoards<Result>(
  place: BoardsPlace,
  visit: (store: BoardStore) => Promise<Result>,
  signal: AbortSignal,
): Promise<BoardVisits<Result>> {
  const visited: { board: string; result: Result }[] = [];
  const failed: FailedVisit[] = [];
  try {
    for (const board of await listExisting(place, signal)) {
      try {
        const { openBoardStore } = await import("./board-store.ts");
        await using store = await openBoardStore({ ...place, slug: board }, { connections: 1 }, signal);
        visited.push({ board, result: await visit(store) });
      } catch (error) {
        if (!isGone(error)) failed.push({ board, error: requireFailure(error) });
      }
    }
  } catch (error) {
    failed.push({ board: undefined, error: requireFailure(error) });
  }
  return { visited, failed };
}

/** The list of boards always has the default one, which is only made when first used. */
async function listExisting(place: BoardsPlace, signal: AbortSignal): Promise<readonly string[]> {
  const slugs = await listBoards(place, signal);
  return (await hasDefault(place, signal)) ? slugs : slugs.filter((slug) => slug !== DEFAULT_BOARD);
}

async function hasDefault({ root, databaseUrl }: BoardsPlace, signal: AbortSignal): Promise<boolean> {
  if (databaseUrl !== "") {
    return (await findSlugIn(databaseUrl, boardSchemaName(DEFAULT_BOARD), signal)) !== undefined;
  }
  try {
    await stat(boardPath(root, DEFAULT_BOARD));
    return true;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
}

/** Removed since it was listed, or a folder of a name that no command can mean. */
function isGone(error: unknown): boolean {
  return error instanceof AppError && ["board-not-found", "board-slug-invalid"].includes(error.code);
}

/** Throws what is not the failure of a database. */
function requireFailure(error: unknown): AppError {
  if (error instanceof AppError && error.code.startsWith("database-")) return error;
  if (error instanceof AppError || !/^E[A-Z]+$/.test(errnoOf(error) ?? "")) throw error;
  return new AppError("database-unavailable", messageOf(error), { cause: error });
}
