import { randomBytes } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import { boardFolder, boardSchemaName, DEFAULT_BOARD } from "../board-slug.ts";
import { removeBoardSchema } from "../database/postgres-schemas.ts";
import {
  type BoardsLocation,
  boardsFolder,
  REMOVED_FOLDER,
  REMOVED_SCHEMA_PREFIX,
} from "./boards-location.ts";
import { findCurrentBoard, switchBoard } from "./current-board.ts";

export interface BoardRemoval {
  /** Deletes the board; otherwise it is kept under another name. */
  readonly permanently: boolean;
  readonly now: number;
}

/** Removes a board atomically. Returns where the archived copy is, or undefined when the board was deleted. */
export async function removeBoard(
  location: BoardsLocation,
  slug: string,
  { permanently, now }: BoardRemoval,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (slug === DEFAULT_BOARD) {
    throw new AppError("board-action-denied", "The board default always exists.", {
      hint: "Archive its tasks with `hermes kanban archive`.",
    });
  }
  const suffix = `${Math.floor(now / 1_000)}-${randomBytes(2).toString("hex")}`;
  const kept =
    location.databaseUrl === ""
      ? await removeFolder(location.root, slug, suffix, permanently)
      : await removeFromServer(location, slug, suffix, permanently, signal);
  if ((await findCurrentBoard(location.root)) === slug) await switchBoard(location.root, DEFAULT_BOARD);
  return kept;
}

async function removeFolder(
  root: string,
  slug: string,
  suffix: string,
  permanently: boolean,
): Promise<string | undefined> {
  const archive = join(boardsFolder(root), REMOVED_FOLDER);
  await ensurePrivateFolder(archive);
  const archived = join(archive, `${slug}-${suffix}`);
  try {
    await rename(boardFolder(root, slug), archived);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw new AppError("board-not-found", `There is no board ${slug}.`, { cause: error });
  }
  if (!permanently) return archived;
  await rm(archived, { recursive: true, force: true });
  return undefined;
}

const SLUG_PART_LENGTH = 30; // PostgreSQL limits names to 63 characters

/** Also removes the workspaces and attachments of the board's tasks that are on this host. */
async function removeFromServer(
  { root, databaseUrl }: BoardsLocation,
  slug: string,
  suffix: string,
  permanently: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const archived = permanently
    ? undefined
    : `${REMOVED_SCHEMA_PREFIX}${slug.slice(0, SLUG_PART_LENGTH)}-${suffix}`;
  await removeBoardSchema(databaseUrl, boardSchemaName(slug), archived, signal);
  try {
    await removeFolder(root, slug, suffix, permanently);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "board-not-found") throw error;
  }
  return archived;
}
