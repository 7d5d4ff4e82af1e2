import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireOwnOrCreatedTask, requireRight } from "../../caller.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import { promoteWaitingTasks } from "../runs/recompute.ts";
import { lockGraph, requireLiveRun, requireLockedTask } from "../views/rows.ts";
import { moveTask } from "./move-task.ts";

export interface LinkResult {
  /** False when the link already existed. */
  readonly changed: boolean;
  /** Whether the child was ready and now waits for the parent. */
  readonly demoted: boolean;
}

/** Makes `childId` wait for `parentId`; throws `task-link-cycle` when the link would create a cycle. */
export function* linkTasks(
  transaction: BoardTransaction,
  parentId: string,
  childId: string,
): Steps<LinkResult> {
  requireRight(transaction.caller, "link");
  if (parentId === childId)
    throw new AppError("task-link-cycle", `${childId} cannot wait for itself.`, {
      hint: "Name two tasks: first the parent, then the child that waits for it.",
    });
  yield* lockGraph();
  const parent = yield* requireLockedTask(parentId);
  const child = yield* requireLockedTask(childId);
  requireOwnOrCreatedTask(transaction.caller, child);
  yield* requireLiveRun(transaction.caller);
  if (child.status === "archived" || child.status === "done")
    throw new AppError("task-move-refused", `${childId} is ${child.status} and cannot get a parent.`);
  if (yield* isAncestor(childId, parentId)) {
    throw new AppError(
      "task-link-cycle",
      `${parentId} already waits for ${childId}, directly or indirectly.`,
    );
  }
  const inserted = yield* run(
    "insert into link (parent_id, child_id) values (:parentId, :childId) on conflict do nothing",
    { parentId, childId },
  );
  if (inserted === 0) return { changed: false, demoted: false };
  transaction.recordEvent({ taskId: childId, kind: "linked", payload: { parent: parentId, child: childId } });
  const demoted = child.status === "ready" && parent.status !== "done" && parent.status !== "archived";
  if (demoted) {
    const payload = { demoted: true, parent: parentId };
    yield* moveTask(transaction, child, "link", "todo", { event: "dependency_wait", payload });
  }
  return { changed: true, demoted };
}

/** Removes a link; the child becomes ready if it waits for nothing else. Returns false when the link does not exist. */
export function* unlinkTasks(
  transaction: BoardTransaction,
  parentId: string,
  childId: string,
): Steps<boolean> {
  requireRight(transaction.caller, "link");
  yield* lockGraph();
  yield* requireLockedTask(parentId);
  requireOwnOrCreatedTask(transaction.caller, yield* requireLockedTask(childId));
  yield* requireLiveRun(transaction.caller);
  const removed = yield* run("delete from link where parent_id = :parentId and child_id = :childId", {
    parentId,
    childId,
  });
  if (removed === 0) return false;
  transaction.recordEvent({
    taskId: childId,
    kind: "unlinked",
    payload: { parent: parentId, child: childId },
  });
  yield* promoteWaitingTasks(transaction);
  return true;
}

function* isAncestor(ancestorId: string, taskId: string): Steps<boolean> {
  const found = yield* first(
    `with recursive after(id) as (
       select child_id from link where parent_id = :ancestorId
       union select l.child_id from link l join after on l.parent_id = after.id)
     select id from after where id = :taskId`,
    { ancestorId, taskId },
  );
  return found !== undefined;
}
