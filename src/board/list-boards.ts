import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../lib/errors.ts";
import { BOARD_SCHEMA, boardPath, boardSchemaName, DEFAULT_BOARD } from "./board-slug.ts";
import { type BoardsPlace, boardsFolder, REMOVED, REMOVED_SCHEMA } from "./boards-place.ts";
import { findSlugIn, listBoardSchemas } from "./database/postgres-schemas.ts";

/** The slugs of all boards, default first. */
export async function listBoards(place: BoardsPlace, signal: AbortSignal): Promise<readonly string[]> {
  const slugs = await (place.databaseUrl === "" ? slugsOfFolders(place.root) : slugsOfSchemas(place, signal));
  return [DEFAULT_BOARD, ...slugs.filter((slug) => slug !== DEFAULT_BOARD).toSorted()];
}

/** What is left of boards that were removed but kept: folders, or schemas of the server. */
export async function listRemovedBoards(place: BoardsPlace, signal: AbortSignal): Promise<readonly string[]> {
  if (place.databaseUrl !== "") return listBoardSchemas(place.databaseUrl, REMOVED_SCHEMA, signal);
  const folder = join(boardsFolder(place.root), REMOVED);
  return (await namesIn(folder)).toSorted().map((name) => join(folder, name));
}

async function slugsOfFolders(root: string): Promise<readonly string[]> {
  const names = (await namesIn(boardsFolder(root))).filter((name) => name !== REMOVED);
  const there = await Promise.all(names.map((name) => isThere(boardPath(root, name))));
  return names.filter((_, index) => there[index]);
}

/** A long slug is cut in the name of its schema, so that only the board itself can say it. */
async function slugsOfSchemas({ databaseUrl }: BoardsPlace, signal: AbortSignal): Promise<readonly string[]> {
  const slugs: string[] = [];
  for (const schema of await listBoardSchemas(databaseUrl, BOARD_SCHEMA, signal)) {
    const plain = schema.slice(BOARD_SCHEMA.length);
    const slug = boardSchemaName(plain) === schema ? plain : await findSlugIn(databaseUrl, schema, signal);
    if (slug !== undefined && boardSchemaName(slug) === schema) slugs.push(slug);
  }
  return slugs;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
