import { boardsPlace } from "../../../app.ts";
import { boardFolders } from "../../../board/workspaces/board-folders.ts";
import type { WorkspacePlace } from "../../../board/workspaces/workspace.ts";
import type { OpenDesk } from "./desk.ts";

/** Where the workspaces of the open board's tasks are. */
export async function workspacePlace({
  app,
  store,
  context,
  signal,
}: Pick<OpenDesk, "app" | "store" | "context" | "signal">): Promise<WorkspacePlace> {
  const { default_workdir } = await store.board(signal);
  return {
    ...boardFolders(boardsPlace(app).root, store.slug),
    now: Date.now,
    home: context.userHome,
    defaultWorkdir: default_workdir ?? (app.resolved.config.kanban.default_workdir || null),
    env: context.variables,
  };
}
