import { randomBytes } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../lib/errors.ts";
import { ensurePrivateFolder } from "../lib/files.ts";
import { boardFolder, boardSchemaName, DEFAULT_BOARD } from "./board-slug.ts";
import { type BoardsPlace, boardsFolder, REMOVED, REMOVED_SCHEMA } from "./boards-place.ts";
import { findCurrentBoard, switchBoard } from "./current-board.ts";
import { removeBoardSchema } from "./database/postgres-schemas.ts";

export interface BoardRemoval {
  /** Otherwise it is kept under another name. */
  readonly forGood: boolean;
  readonly now: number;
}

/** Takes a board away at once, so that nobody meets half of it; says where it is kept, if it is. */
export async function removeBoard(
  place: BoardsPlace,
  slug: string,
  { forGood, now }: BoardRemoval,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (slug === DEFAULT_BOARD) {
    throw new AppError("board-action-denied", "The board default always exists.", {
      hint: "Archive its tasks with `hermes kanban archive`.",
    });
  }
  const mark = `${Math.floor(now / 1_000)}-${randomBytes(2).toString("hex")}`;
  const kept =
    place.databaseUrl === ""
      ? await removeFolder(place.root, slug, mark, forGood)
      : await removeFromServer(place, slug, mark, forGood, signal);
  if ((await findCurrentBoard(place.root)) === slug) await switchBoard(place.root, DEFAULT_BOARD);
  return kept;
}

async function removeFolder(
  root: string,
  slug: string,
  mark: string,
  forGood: boolean,
): Promise<string | undefined> {
  const bin = join(boardsFolder(root), REMOVED);
  await ensurePrivateFolder(bin);
  const aside = join(bin, `${slug}-${mark}`);
  try {
    await rename(boardFolder(root, slug), aside);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw new AppError("board-not-found", `There is no board ${slug}.`, { cause: error });
  }
  if (!forGood) return aside;
  await rm(aside, { recursive: true, force: true });
  return undefined;
}

const KEPT_OF_SLUG = 30; // names end at 63 characters

/** The workspaces and attachments of its tasks, as far as they are on this host, go the same way. */
async function removeFromServer(
  { root, databaseUrl }: BoardsPlace,
  slug: string,
  mark: string,
  forGood: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const aside = forGood ? undefined : `${REMOVED_SCHEMA}${slug.slice(0, KEPT_OF_SLUG)}-${mark}`;
  await removeBoardSchema(databaseUrl, boardSchemaName(slug), aside, signal);
  try {
    await removeFolder(root, slug, mark, forGood);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "board-not-found") throw error;
  }
  return aside;
}
