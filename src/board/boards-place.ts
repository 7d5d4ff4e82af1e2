import { join } from "node:path";
import type { BoardPlace } from "./board-store.ts";

/** Where all boards are: in the root home, or on one server. */
export type BoardsPlace = Pick<BoardPlace, "root" | "databaseUrl">;

/** The name below the folder of boards under which removed ones are kept. */
export const REMOVED = "_archived";
/** How the schema of a removed board begins. */
export const REMOVED_SCHEMA = "hermes_removed_";

/** The folder of all boards but the default one. */
export function boardsFolder(root: string): string {
  return join(root, "kanban", "boards");
}
