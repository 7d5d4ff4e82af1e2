import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import type { Steps } from "../../database/steps.ts";
import { invalidInput, optionalKey } from "../../task-text.ts";
import { type CreatedTask, createTask, type NewTask } from "./create-task.ts";

/** A task of a plan; it refers to other tasks of the plan by their keys. */
export interface PlannedTask {
  readonly key: string;
  /** Keys of the tasks that must be done first; `task.parents` holds ids of existing tasks. */
  readonly after: readonly string[];
  readonly task: NewTask;
}

/** Creates all tasks of a plan in one transaction, parents first; returns them in the order of the plan. */
export function* createPlan(
  transaction: BoardTransaction,
  plan: readonly PlannedTask[],
): Steps<readonly CreatedTask[]> {
  const [duplicate] = findSharedKeys(plan);
  if (duplicate !== undefined)
    throw invalidInput(`Two tasks of the plan have the idempotency key ${JSON.stringify(duplicate)}.`);
  const created = new Map<string, CreatedTask>();
  for (const { key, after, task } of sortPlan(plan)) {
    const parents = [
      ...(task.parents ?? []),
      ...after.flatMap((parentKey) => created.get(parentKey)?.task.id ?? []),
    ];
    created.set(key, yield* createTask(transaction, { ...task, parents }));
  }
  return plan.flatMap(({ key }) => created.get(key) ?? []);
}

/** The idempotency keys shared by several tasks of a plan; the second task would not be created. */
export function findSharedKeys(plan: readonly Pick<PlannedTask, "task">[]): readonly string[] {
  const keys = plan.flatMap(({ task }) => optionalKey(task.idempotencyKey) ?? []);
  return keys.filter((key, index) => keys.indexOf(key) !== index);
}

/** Sorts the tasks of a plan so that parents come first; throws for an unknown or duplicate key and for a cycle. */
export function sortPlan<PlanEntry extends Pick<PlannedTask, "key" | "after">>(
  plan: readonly PlanEntry[],
): readonly PlanEntry[] {
  const byKey = new Map(plan.map((one) => [one.key, one]));
  if (byKey.size < plan.length) throw invalidInput("Two tasks of the plan have the same key.");
  const sorted = new Set<PlanEntry>();
  for (const start of plan) {
    // Not recursive, because a chain of tasks may be longer than the stack of calls.
    const path: { readonly one: PlanEntry; visited: number }[] = [];
    const onPath = new Set<PlanEntry>();
    const enter = (one: PlanEntry): void => {
      if (sorted.has(one)) return;
      path.push({ one, visited: 0 });
      onPath.add(one);
    };
    enter(start);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const { one } = last;
      const key = one.after[last.visited++];
      if (key === undefined) {
        path.pop();
        onPath.delete(one);
        sorted.add(one);
        continue;
      }
      const before = byKey.get(key);
      if (before === undefined) throw invalidInput(`No task of the plan is called ${JSON.stringify(key)}.`);
      if (onPath.has(before)) throw cycleOf([...onPath], before);
      enter(before);
    }
  }
  return [...sorted];
}

function cycleOf(path: readonly Pick<PlannedTask, "key">[], repeated: Pick<PlannedTask, "key">): AppError {
  const names = [...path.slice(path.indexOf(repeated)), repeated].map(({ key }) => JSON.stringify(key));
  const shown = names.length > SHOWN_OF_CYCLE ? [...names.slice(0, SHOWN_OF_CYCLE), "…"] : names;
  return new AppError("task-link-cycle", `A task of the plan waits for itself: ${shown.join(" after ")}.`, {
    hint: "Remove one of these dependencies from the plan.",
  });
}

const SHOWN_OF_CYCLE = 20;
