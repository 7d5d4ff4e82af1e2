import type { BoardStore } from "../../../../board/board-store.ts";
import { findTaskId } from "../../../../board/find-task-id.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import type { DashboardCall } from "../../dashboard-route.ts";
import type { DashboardBoard } from "../../data/board-data.ts";

type Call = Pick<DashboardCall, "params" | "disconnected">;

/** Opens the board in the path; throws `board-not-found`. */
export function requireBoard(
  { params, disconnected }: Call,
  { data }: DashboardParts,
): Promise<DashboardBoard> {
  return data.boards.open(params["board"] ?? "", disconnected);
}

/** The full id of the task in the path, which may be an id, an id prefix or a number. */
export async function requireTaskId(
  { params, disconnected }: Call,
  store: BoardStore,
  name = "task",
): Promise<string> {
  const text = params[name] ?? "";
  const id = await findTaskId(store, text, disconnected);
  if (id !== undefined) return id;
  throw new AppError("task-not-found", `There is no task ${JSON.stringify(text)} on this board.`);
}
