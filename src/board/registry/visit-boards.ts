import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import type { BoardsLocation } from "./boards-location.ts";
import { listExistingBoards } from "./list-boards.ts";

export interface BoardVisitResults<Result> {
  readonly visited: readonly { readonly board: string; readonly result: Result }[];
  /** Boards that could not be opened or used; `board` is undefined when the boards could not even be listed. */
  readonly failed: readonly FailedVisit[];
}

export interface FailedVisit {
  readonly board: string | undefined;
  readonly error: AppError;
}

/** Opens the existing boards one by one; creates none. Database errors are part of the result, other errors are thrown. */
export async function visitBoards<Result>(
  location: BoardsLocation,
  visit: (store: BoardStore) => Promise<Result>,
  signal: AbortSignal,
): Promise<BoardVisitResults<Result>> {
  const visited: { board: string; result: Result }[] = [];
  const failed: FailedVisit[] = [];
  try {
    for (const board of await listExistingBoards(location, signal)) {
      try {
        const { openBoardStore } = await import("../board-store.ts");
        await using store = await openBoardStore({ ...location, slug: board }, { connections: 1 }, signal);
        visited.push({ board, result: await visit(store) });
      } catch (error) {
        if (!isMissing(error)) failed.push({ board, error: requireDatabaseError(error) });
      }
    }
  } catch (error) {
    failed.push({ board: undefined, error: requireDatabaseError(error) });
  }
  return { visited, failed };
}

/** The board was removed after it was listed, or its folder name is not a valid slug. */
function isMissing(error: unknown): boolean {
  return error instanceof AppError && ["board-not-found", "board-slug-invalid"].includes(error.code);
}

/** Returns a database error as an `AppError`; throws any other error. */
function requireDatabaseError(error: unknown): AppError {
  if (error instanceof AppError && error.code.startsWith("database-")) return error;
  if (error instanceof AppError || !/^E[A-Z]+$/.test(errnoOf(error) ?? "")) throw error;
  return new AppError("database-unavailable", messageOf(error), { cause: error });
}
