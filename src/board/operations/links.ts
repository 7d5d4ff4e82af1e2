import { AppError } from "../../lib/errors.ts";
import { requireOwnOrMade, requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { first, run, type Steps } from "../database/steps.ts";
import { lockGraph, requireLiveRun, requireTaskToChange } from "./load.ts";
import { moveTask } from "./move-task.ts";
import { recompute } from "./recompute.ts";

export interface Linked {
  /** False when the link was there already. */
  readonly changed: boolean;
  /** Whether the child was ready and now waits. */
  readonly demoted: boolean;
}

/** Makes `childId` wait for `parentId`; refuses what would make a task wait for itself. */
export function* linkTasks(change: Change, parentId: string, childId: string): Steps<Linked> {
  requireRight(change.caller, "link");
  if (parentId === childId)
    throw new AppError("task-link-cycle", `${childId} cannot wait for itself.`, {
      hint: "Name two tasks: first the one that is waited for, then the one that waits.",
    });
  yield* lockGraph();
  const parent = yield* requireTaskToChange(parentId);
  const child = yield* requireTaskToChange(childId);
  requireOwnOrMade(change.caller, child);
  yield* requireLiveRun(change.caller);
  if (child.status === "archived" || child.status === "done")
    throw new AppError("task-move-refused", `${childId} is ${child.status} and waits for nothing any more.`);
  if (yield* leadsTo(childId, parentId)) {
    throw new AppError(
      "task-link-cycle",
      `${parentId} already waits for ${childId}, directly or through others.`,
    );
  }
  const inserted = yield* run(
    "insert into link (parent_id, child_id) values (:parentId, :childId) on conflict do nothing",
    { parentId, childId },
  );
  if (inserted === 0) return { changed: false, demoted: false };
  change.tell({ taskId: childId, kind: "linked", payload: { parent: parentId, child: childId } });
  const demoted = child.status === "ready" && parent.status !== "done" && parent.status !== "archived";
  if (demoted) {
    const payload = { demoted: true, parent: parentId };
    yield* moveTask(change, child, "link", "todo", { event: "dependency_wait", payload });
  }
  return { changed: true, demoted };
}

/** Removes a link; the child goes on at once if it waited for nothing else. False when there was none. */
export function* unlinkTasks(change: Change, parentId: string, childId: string): Steps<boolean> {
  requireRight(change.caller, "link");
  yield* lockGraph();
  yield* requireTaskToChange(parentId);
  requireOwnOrMade(change.caller, yield* requireTaskToChange(childId));
  yield* requireLiveRun(change.caller);
  const removed = yield* run("delete from link where parent_id = :parentId and child_id = :childId", {
    parentId,
    childId,
  });
  if (removed === 0) return false;
  change.tell({ taskId: childId, kind: "unlinked", payload: { parent: parentId, child: childId } });
  yield* recompute(change);
  return true;
}

function* leadsTo(from: string, to: string): Steps<boolean> {
  const found = yield* first(
    `with recursive after(id) as (
       select child_id from link where parent_id = :from
       union select l.child_id from link l join after on l.parent_id = after.id)
     select id from after where id = :to`,
    { from, to },
  );
  return found !== undefined;
}
