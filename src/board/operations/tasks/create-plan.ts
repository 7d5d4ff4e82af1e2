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
export function sortPlan<One extends Pick<PlannedTask, "key" | "after">>(
  plan: readonly One[],
): readonly One[] {
  const byKey = new Map(plan.map((one) => [one.key, one]));
  if (byKey.size < plan.length) throw invalidInput("Two tasks of the plan have the same key.");
  const sorted = new Set<One>();
  const visit = (one: One, path: readonly One[]): void => {
    if (path.includes(one)) {
      const names = [...path.slice(path.indexOf(one)), one].map(({ key }) => JSON.stringify(key));
      throw new AppError("task-link-cycle", `A task of the plan waits for itself: ${names.join(" after ")}.`);
    }
    if (sorted.has(one)) return;
    for (const key of one.after) {
      const before = byKey.get(key);
      if (before === undefined) throw invalidInput(`No task of the plan is called ${JSON.stringify(key)}.`);
      visit(before, [...path, one]);
    }
    sorted.add(one);
  };
  for (const one of plan) visit(one, []);
  return [...sorted];
}
