import type { Change } from "../../change.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import type { Caps } from "../../operations/caps.ts";
import { type ClaimedTask, type ClaimRefusal, claimTasks } from "../../operations/claim.ts";
import { findTaken } from "../../operations/leaving.ts";
import type { TaskRow } from "../../operations/load.ts";
import { updateTask } from "../../operations/move-task.ts";

export interface HostClaim {
  readonly taskId: string;
  readonly hostId: string;
  readonly leaseMs: number;
  readonly caps: Caps;
  /** Who gets it if it is still nobody's. */
  readonly defaultAssignee: string | undefined;
  /** Whom it must belong to; given to another meanwhile, it is no longer wanted. */
  readonly profile: string;
  /** How far the turn of its profile moves, and from where at least. */
  readonly stride: number;
  readonly floor: number;
}

export type HostClaimResult =
  | { readonly claimed: ClaimedTask; readonly wasAssigned: boolean }
  | { readonly refused: ClaimRefusal }
  /** A task that runs on this host has the same branch: its number. */
  | { readonly refused: "branch"; readonly by: number };

/** Thrown to undo the assignment of a task that then could not be claimed. */
class Refused extends Error {
  override readonly name = "Refused";
  readonly reason: ClaimRefusal;

  constructor(reason: ClaimRefusal) {
    super(reason);
    this.reason = reason;
  }
}

/** Git makes no second checkout of a branch, and the one that was just begun may not be there yet. */
const ON_SAME_BRANCH = `
  select o.seq from task t join task o on o.status = 'running' and o.workspace_kind = 'worktree'
     and o.branch_name = t.branch_name and coalesce(o.workspace_path, '') = coalesce(t.workspace_path, '')
    join run r on r.id = o.current_run_id and r.host_id = :hostId
   where t.id = :taskId and t.workspace_kind = 'worktree' and t.branch_name is not null limit 1`;

/** Claims one task, given to the default assignee first if it is nobody's: both or neither. */
export function* claimForHost(change: Change, request: HostClaim): Steps<HostClaimResult> {
  const { taskId, hostId, leaseMs, caps, profile } = request;
  if ((yield* findTaken(taskId)).size > 0) return { refused: "waiting" };
  const user = yield* first<{ seq: number }>(ON_SAME_BRANCH, { taskId, hostId });
  if (user !== undefined) return { refused: "branch", by: user.seq };
  const wasAssigned = yield* assignDefault(change, request);
  const { claimed, refused } = yield* claimTasks(change, {
    wanted: [taskId],
    from: "ready",
    leaseMs,
    hostId,
    caps,
    profiles: [profile],
  });
  const [mine] = claimed;
  if (mine === undefined) {
    const reason = refused[0]?.reason ?? "unavailable";
    if (wasAssigned) throw new Refused(reason);
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

/** The refusal inside an error of `claimForHost`, if it is one. */
export function refusalIn(error: unknown): ClaimRefusal | undefined {
  return error instanceof Refused ? error.reason : undefined;
}

function* assignDefault(change: Change, { taskId, defaultAssignee }: HostClaim): Steps<boolean> {
  if (defaultAssignee === undefined) return false;
  const task = yield* first<TaskRow>("select * from task where id = :taskId {free}", { taskId });
  if (task?.status !== "ready" || task.assignee !== null) return false;
  yield* updateTask(task, { assignee: defaultAssignee });
  const payload = { assignee: defaultAssignee, source: "kanban.default_assignee" };
  change.tell({ taskId: task.id, kind: "assigned", payload });
  return true;
}
