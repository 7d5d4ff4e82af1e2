import { mkdir, rm } from "node:fs/promises";
import { AppError, errnoOf } from "../lib/errors.ts";
import { ensurePrivateFolder } from "../lib/files.ts";
import { boardFolder, boardSchemaName } from "./board-slug.ts";
import { type BoardsPlace, boardsFolder } from "./boards-place.ts";
import { removeBoardSchema, reserveSchema } from "./database/postgres-schemas.ts";

/** Takes a slug for a new board, or says that it is taken: of several who ask at once, one gets it. */
export async function reserveBoard(
  { root, databaseUrl }: BoardsPlace,
  slug: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (databaseUrl !== "") return reserveSchema(databaseUrl, boardSchemaName(slug), signal);
  await ensurePrivateFolder(boardsFolder(root));
  try {
    await mkdir(boardFolder(root, slug), { mode: 0o700 });
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

const DROP_DEADLINE_MS = 60_000;

/** Removes a board that this process has reserved and that came to nothing; also when that was for an abort. */
export async function dropReserved({ root, databaseUrl }: BoardsPlace, slug: string): Promise<void> {
  if (databaseUrl === "") return rm(boardFolder(root, slug), { recursive: true, force: true });
  try {
    const deadline = AbortSignal.timeout(DROP_DEADLINE_MS);
    await removeBoardSchema(databaseUrl, boardSchemaName(slug), undefined, deadline);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "board-not-found") throw error;
  }
}
