import type { Run } from "../board/task.ts";
import { cleanUpWorkspace } from "../board/workspaces/clean-up-workspace.ts";
import { AppError } from "../lib/errors.ts";
import { type BoardOfApp, loadWorkspaceFolders } from "./board.ts";

export interface Cleanup extends BoardOfApp {
  /** Reports a notice or a warning, as a sentence. */
  notify(text: string): void;
}

/** Removes sandboxes left behind by workers that were killed, in the profile of this run. */
export async function removeSandboxes(
  { app, notify }: Cleanup,
  run: Run,
  signal: AbortSignal,
): Promise<void> {
  const { tryReclaimSandboxesOfTask } = await import("./environments/leftover-sandboxes.ts");
  const lines = await tryReclaimSandboxesOfTask(app, { profile: run.profile, taskId: run.task_id }, signal);
  for (const line of lines) notify(`note: ${line}`);
}

/**
 * Removes the workspaces that are no longer needed after a task has ended: its own, and those of its parents. If a worker
 * may still be running, the dispatcher removes the workspace later. A failure is only a warning: the task has ended anyway.
 */
export async function cleanUpAfter(cleanup: Cleanup, taskId: string, signal: AbortSignal): Promise<void> {
  const { store, notify } = cleanup;
  const { task, runs, parents } = await store.show(taskId, signal);
  const last = runs.at(-1);
  const hasProcesses = last !== undefined && (last.supervisor_pid !== null || last.worker_pid !== null);
  const mayStillRun = hasProcesses && last.lease_until > 0;
  if (hasProcesses) await removeSandboxes(cleanup, last, signal);
  const nameOf = (id: string): string => (id === taskId ? `#${task.seq}` : id);
  let current = taskId;
  try {
    const location = await loadWorkspaceFolders(cleanup, signal);
    for (const id of mayStillRun ? parents : [taskId, ...parents]) {
      current = id;
      const done = await cleanUpWorkspace({ store, location }, id, signal);
      if (done.outcome !== "removed" || done.discarded === undefined) continue;
      const { file_count, total_bytes } = done.discarded;
      notify(
        `note: the workspace of ${nameOf(id)} was removed; ${file_count} files (${total_bytes} bytes) in it that are not artifacts were moved aside. See \`hermes kanban show ${id}\`.`,
      );
    }
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    notify(`warning: the workspace of ${nameOf(current)} could not be removed and is kept: ${error.message}`);
  }
}
