import type { NewTask } from "../../../board/operations/create-task.ts";
import { AppError } from "../../../lib/errors.ts";
import type { OpenDesk } from "./desk.ts";
import { workspacePlace } from "./workspace-place.ts";

/** Throws for a worktree of which nobody says the repository: it would fail only when a worker is started. */
export async function requireRepository(
  open: OpenDesk,
  { workspaceKind, workspacePath }: Pick<NewTask, "workspaceKind" | "workspacePath">,
): Promise<void> {
  if (workspaceKind !== "worktree" || workspacePath !== undefined) return;
  const { slug } = open.store;
  if ((await workspacePlace(open)).defaultWorkdir !== null) return;
  throw new AppError(
    "task-input-invalid",
    `A worktree needs a repository, and the board ${slug} names none.`,
    {
      hint: `Write worktree:PATH, or name one for the board: \`hermes kanban boards set-default-workdir ${slug} PATH\`.`,
    },
  );
}
