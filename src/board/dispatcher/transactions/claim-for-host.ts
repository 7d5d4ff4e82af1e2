import type { BoardTransaction } from "../../board-transaction.ts";
import type { ChildLimits } from "../../caller.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import type { Caps } from "../../operations/runs/caps.ts";
import { type ClaimedTask, type ClaimRefusal, claimTasks } from "../../operations/runs/claim.ts";
import { findWaitingForLeaving } from "../../operations/runs/leaving-runs.ts";
import { updateTask } from "../../operations/tasks/move-task.ts";
import type { TaskRow } from "../../operations/views/rows.ts";

export interface HostClaim {
  readonly taskId: string;
  readonly hostId: string;
  readonly leaseMs: number;
  readonly caps: Caps;
  readonly childLimits: ChildLimits;
  /** The profile that the task is assigned to if it still has no assignee. */
  readonly defaultAssignee: string | undefined;
  /** The expected assignee; the claim is refused if the task was reassigned since it was listed. */
  readonly profile: string;
  /** How far the claim moves its profile back in the fair queue. */
  readonly stride: number;
  /** The minimum stride total: a profile with a lower total is treated as having this total. */
  readonly floor: number;
}

export type HostClaimResult =
  | { readonly claimed: ClaimedTask; readonly wasAssigned: boolean }
  | { readonly refused: ClaimRefusal }
  /** `by` is the number of the running task of this host that uses the same branch. */
  | { readonly refused: "branch"; readonly by: number };

/** Thrown to undo the assignment of a task that then could not be claimed. */
class RefusedClaim extends Error {
  override readonly name = "RefusedClaim";
  readonly reason: ClaimRefusal;

  constructor(reason: ClaimRefusal) {
    super(reason);
    this.reason = reason;
  }
}

/** Git refuses a second checkout of a branch, and the checkout of a task that was just claimed may not exist yet. */
const ON_SAME_BRANCH = `
  select o.seq from task t join task o on o.id <> t.id and o.status = 'running' and o.workspace_kind = 'worktree'
     and o.branch_name = t.branch_name and coalesce(o.workspace_path, '') = coalesce(t.workspace_path, '')
    join run r on r.id = o.current_run_id and r.host_id = :hostId
   where t.id = :taskId and t.workspace_kind = 'worktree' and t.branch_name is not null limit 1`;

/** Claims one task; an unassigned task is assigned to the default assignee in the same transaction. */
export function* claimForHost(transaction: BoardTransaction, request: HostClaim): Steps<HostClaimResult> {
  const { taskId, hostId, leaseMs, caps, childLimits, profile } = request;
  if ((yield* findWaitingForLeaving(taskId)).size > 0) return { refused: "waiting" };
  const user = yield* first<{ seq: number }>(ON_SAME_BRANCH, { taskId, hostId });
  if (user !== undefined) return { refused: "branch", by: user.seq };
  const wasAssigned = yield* assignDefault(transaction, request);
  const { claimed, refused } = yield* claimTasks(transaction, {
    taskIds: [taskId],
    from: "ready",
    leaseMs,
    hostId,
    caps,
    childLimits,
    profiles: [profile],
  });
  const [mine] = claimed;
  if (mine === undefined) {
    const reason = refused[0]?.reason ?? "unavailable";
    if (wasAssigned) throw new RefusedClaim(reason);
    return { refused: reason };
  }
  yield* run(
    `insert into dispatch_share (profile, pass) values (:profile, cast(:floor as bigint) + cast(:stride as bigint))
     on conflict (profile) do update set pass = cast(:stride as bigint) +
       case when dispatch_share.pass < cast(:floor as bigint) then cast(:floor as bigint) else dispatch_share.pass end`,
    { profile, floor: Math.max(0, request.floor), stride: request.stride },
  );
  return { claimed: mine, wasAssigned };
}

/** The refusal that an error of `claimForHost` carries, if any. */
export function refusalIn(error: unknown): ClaimRefusal | undefined {
  return error instanceof RefusedClaim ? error.reason : undefined;
}

function* assignDefault(
  transaction: BoardTransaction,
  { taskId, defaultAssignee }: HostClaim,
): Steps<boolean> {
  if (defaultAssignee === undefined) return false;
  const task = yield* first<TaskRow>("select * from task where id = :taskId {free}", { taskId });
  if (task?.status !== "ready" || task.assignee !== null) return false;
  yield* updateTask(task, { assignee: defaultAssignee });
  const payload = { assignee: defaultAssignee, source: "kanban.default_assignee" };
  transaction.recordEvent({ taskId: task.id, kind: "assigned", payload });
  return true;
}
