import { findTaskNames, type TaskName } from "../../operations/views/list-details.ts";
import type { BranchTask, BranchUser } from "../../workspaces/git/find-branch-user.ts";
import type { DispatchBoard } from "../dispatch-board.ts";
import type { DispatchHost } from "../dispatch-host.ts";
import type { Guard } from "./guards.ts";

/** Branches are polled, because nothing announces that a person has switched to another branch. */
const POLL_AGAIN_MS = 30_000;

export interface BranchGuard {
  readonly guard: Guard;
  readonly user: BranchUser;
  /** The task of this board that owns the worktree, if any. */
  readonly task: TaskName | undefined;
}

/** The checkout that occupies a task's branch on this host; undefined when the branch is free. */
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
  const names = taskId === undefined ? undefined : await board.read(() => findTaskNames([taskId]), signal);
  const name = names?.get(taskId ?? "");
  return { guard: branchGuard(now, name?.seq), user, task: name };
}

export function branchGuard(now: number, seq: number | undefined): Guard {
  const guard = { reason: "branch_busy", until: now + POLL_AGAIN_MS } as const;
  return seq === undefined ? guard : { ...guard, met_by: seq };
}
