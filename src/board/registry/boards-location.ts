import { join } from "node:path";
import type { BoardLocation } from "../open-board.ts";

/** The storage of all boards: the root home or one PostgreSQL server. */
export type BoardsLocation = Pick<BoardLocation, "root" | "databaseUrl">;

/** Subfolder of the boards folder that keeps removed boards. */
export const REMOVED_FOLDER = "_archived";
/** Prefix of the PostgreSQL schema of a removed board. */
export const REMOVED_SCHEMA_PREFIX = "hermes_removed_";

/** The folder of all boards except the default board. */
export function boardsFolder(root: string): string {
  return join(root, "kanban", "boards");
}
