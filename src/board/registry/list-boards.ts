import { join } from "node:path";
import { exists, listNames } from "../../lib/files/unless-missing.ts";
import { BOARD_SCHEMA_PREFIX, boardPath, boardSchemaName, DEFAULT_BOARD } from "../board-slug.ts";
import { findSlugOfSchema, listBoardSchemas } from "../database/postgres-schemas.ts";
import {
  type BoardsLocation,
  boardsFolder,
  REMOVED_FOLDER,
  REMOVED_SCHEMA_PREFIX,
} from "./boards-location.ts";

/** The slugs of all boards, default first, even if the default board was never used. */
export async function listBoards(location: BoardsLocation, signal: AbortSignal): Promise<readonly string[]> {
  return [...new Set([DEFAULT_BOARD, ...(await listExistingBoards(location, signal))])];
}

/** The slugs of the boards that exist, default first; the default board is created on first use. */
export async function listExistingBoards(
  location: BoardsLocation,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const slugs = await (location.databaseUrl === ""
    ? slugsOfFolders(location.root)
    : slugsOfSchemas(location, signal));
  const others = slugs.filter((slug) => slug !== DEFAULT_BOARD).toSorted();
  return slugs.includes(DEFAULT_BOARD) ? [DEFAULT_BOARD, ...others] : others;
}

/** The archived copies of removed boards: folder paths, or schema names on a server. */
export async function listRemovedBoards(
  location: BoardsLocation,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (location.databaseUrl !== "")
    return listBoardSchemas(location.databaseUrl, REMOVED_SCHEMA_PREFIX, signal);
  const folder = join(boardsFolder(location.root), REMOVED_FOLDER);
  return (await listNames(folder)).toSorted().map((name) => join(folder, name));
}

async function slugsOfFolders(root: string): Promise<readonly string[]> {
  const folders = await listNames(boardsFolder(root));
  const names = [DEFAULT_BOARD, ...folders.filter((name) => name !== REMOVED_FOLDER)];
  const hasBoard = await Promise.all(names.map((name) => exists(boardPath(root, name))));
  return names.filter((_, index) => hasBoard[index]);
}

/** The schema name truncates a long slug, so the full slug is read from the board itself. */
async function slugsOfSchemas(
  { databaseUrl }: BoardsLocation,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const slugs: string[] = [];
  for (const schema of await listBoardSchemas(databaseUrl, BOARD_SCHEMA_PREFIX, signal)) {
    const plain = schema.slice(BOARD_SCHEMA_PREFIX.length);
    const slug =
      boardSchemaName(plain) === schema ? plain : await findSlugOfSchema(databaseUrl, schema, signal);
    if (slug !== undefined && boardSchemaName(slug) === schema) slugs.push(slug);
  }
  return slugs;
}
