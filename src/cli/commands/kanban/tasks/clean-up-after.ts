import { loadWorkspaceFolders } from "../../../../app/board.ts";
import type { Run } from "../../../../board/task.ts";
import { cleanUpWorkspace } from "../../../../board/workspaces/clean-up-workspace.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { OpenBoardContext } from "../kanban-context.ts";

/** Removes the sandboxes that killed workers of a run's profile left behind. */
export async function removeSandboxes({ app, context, signal }: OpenBoardContext, run: Run): Promise<void> {
  const { reclaimSandboxesOf } = await import("../../../../app/environments/leftover-sandboxes.ts");
  const lines = await reclaimSandboxesOf(app, { profile: run.profile, taskId: run.task_id }, signal);
  for (const line of lines) context.terminal.note(`hermes: note: ${line}`);
}

/**
 * Removes the workspaces that are no longer needed after a task has ended: its own, and those of its parents. If a worker
 * may still be running, the dispatcher removes the workspace later. A failure is only a warning: the task has ended anyway.
 */
export async function cleanUpAfter(open: OpenBoardContext, taskId: string): Promise<void> {
  const { store, signal, context } = open;
  const { task, runs, parents } = await store.show(taskId, signal);
  const last = runs.at(-1);
  const hasProcesses = last !== undefined && (last.supervisor_pid !== null || last.worker_pid !== null);
  const mayStillRun = hasProcesses && last.lease_until > 0;
  if (hasProcesses) await removeSandboxes(open, last);
  try {
    const location = await loadWorkspaceFolders(open, signal);
    for (const id of mayStillRun ? parents : [taskId, ...parents]) {
      const cleanup = await cleanUpWorkspace({ store, location }, id, signal);
      if (cleanup.outcome !== "removed" || cleanup.discarded === undefined) continue;
      const { file_count, total_bytes } = cleanup.discarded;
      context.terminal.note(
        `hermes: note: ${file_count} files (${total_bytes} bytes) of the workspace of ${id} were discarded; see its events.`,
      );
    }
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    context.terminal.note(`hermes: warning: the workspace of #${task.seq} is kept: ${error.message}`);
  }
}
