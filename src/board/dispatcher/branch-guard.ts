import { nameTasks, type TaskName } from "../operations/glance.ts";
import type { BranchTask, BranchUser } from "../workspaces/find-branch-user.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import type { Guard } from "./guards.ts";
import type { DispatchHost } from "./host.ts";

/** Nothing announces that a person has left a branch, so somebody looks again. */
const LOOK_AGAIN_MS = 30_000;

export interface BranchGuard {
  readonly guard: Guard;
  readonly user: BranchUser;
  /** The task whose worktree it is, if it is one of this board. */
  readonly task: TaskName | undefined;
}

/** What keeps a task from its branch on this host; undefined when it is free. */
export async function findBranchGuard(
  { board, host }: { readonly board: DispatchBoard; readonly host: DispatchHost },
  task: BranchTask,
  now: number,
  signal: AbortSignal,
): Promise<BranchGuard | undefined> {
  if (task.workspace_kind !== "worktree" || task.branch_name === null) return undefined;
  const user = await host.findBranchUser(task, signal);
  if (user === undefined) return undefined;
  const { taskId } = user;
  const names = taskId === undefined ? undefined : await board.read(() => nameTasks([taskId]), signal);
  const name = names?.get(taskId ?? "");
  return { guard: branchGuard(now, name?.seq), user, task: name };
}

export function branchGuard(now: number, seq: number | undefined): Guard {
  const guard = { reason: "branch_busy", until: now + LOOK_AGAIN_MS } as const;
  return seq === undefined ? guard : { ...guard, met_by: seq };
}
