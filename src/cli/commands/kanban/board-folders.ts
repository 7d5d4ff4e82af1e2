import { type App, boardsPlace } from "../../../app.ts";
import { listBoards } from "../../../board/list-boards.ts";

const DEADLINE_MS = 60_000;

/** The slugs of the boards of this home or its server, default first. */
export function findBoards(app: App, signal = AbortSignal.timeout(DEADLINE_MS)): Promise<readonly string[]> {
  return listBoards(boardsPlace(app), signal);
}
