import { cleanUpWorkspace } from "../../../board/workspaces/clean-up-workspace.ts";
import { AppError } from "../../../lib/errors.ts";
import type { OpenDesk } from "./desk.ts";
import { workspacePlace } from "./workspace-place.ts";

/**
 * Removes the workspaces that nobody needs now that a task is over: its own, and those of tasks it had waited for. Where
 * a worker may still be at it, that is left to the dispatcher. What fails is only said, because the task is over anyway.
 */
export async function cleanUpAfter(open: OpenDesk, taskId: string): Promise<void> {
  const { store, signal, context } = open;
  const { task, runs, parents } = await store.show(taskId, signal);
  const last = runs.at(-1);
  const hasProcesses = last !== undefined && (last.supervisor_pid !== null || last.worker_pid !== null);
  const mayLive = hasProcesses && last.lease_until > 0;
  try {
    const place = await workspacePlace(open);
    for (const id of mayLive ? parents : [taskId, ...parents]) {
      const cleanup = await cleanUpWorkspace({ store, place }, id, signal);
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
