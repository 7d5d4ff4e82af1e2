import { AppError } from "../../lib/errors.ts";
import type { Change } from "../change.ts";
import type { Steps } from "../database/steps.ts";
import { invalid, optionalKey } from "../task-text.ts";
import { type CreatedTask, createTask, type NewTask } from "./create-task.ts";

/** A task of a plan, which names others of the plan by their keys. */
export interface PlannedTask {
  readonly key: string;
  /** Keys of tasks that are done before this one; `task.parents` are ids of tasks that are there already. */
  readonly after: readonly string[];
  readonly task: NewTask;
}

/** Makes all tasks of a plan in one transaction, each after those it waits for; in the order of the plan. */
export function* createPlan(change: Change, plan: readonly PlannedTask[]): Steps<readonly CreatedTask[]> {
  const [again] = findSharedKeys(plan);
  if (again !== undefined)
    throw invalid(`Two tasks of the plan have the idempotency key ${JSON.stringify(again)}.`);
  const made = new Map<string, CreatedTask>();
  for (const { key, after, task } of sortPlan(plan)) {
    const parents = [...(task.parents ?? []), ...after.flatMap((one) => made.get(one)?.task.id ?? [])];
    made.set(key, yield* createTask(change, { ...task, parents }));
  }
  return plan.flatMap(({ key }) => made.get(key) ?? []);
}

/** The idempotency keys that more than one task of a plan has: the second one would not be made. */
export function findSharedKeys(plan: readonly Pick<PlannedTask, "task">[]): readonly string[] {
  const keys = plan.flatMap(({ task }) => optionalKey(task.idempotencyKey) ?? []);
  return keys.filter((key, index) => keys.indexOf(key) !== index);
}

/** The tasks such that none comes before one it waits for; throws when a key is missing, twice there, or waits for itself. */
export function sortPlan<One extends Pick<PlannedTask, "key" | "after">>(
  plan: readonly One[],
): readonly One[] {
  const byKey = new Map(plan.map((one) => [one.key, one]));
  if (byKey.size < plan.length) throw invalid("Two tasks of the plan have the same key.");
  const sorted = new Set<One>();
  const visit = (one: One, path: readonly One[]): void => {
    if (path.includes(one)) {
      const names = [...path.slice(path.indexOf(one)), one].map(({ key }) => JSON.stringify(key));
      throw new AppError("task-link-cycle", `A task of the plan waits for itself: ${names.join(" after ")}.`);
    }
    if (sorted.has(one)) return;
    for (const key of one.after) {
      const before = byKey.get(key);
      if (before === undefined) throw invalid(`No task of the plan is called ${JSON.stringify(key)}.`);
      visit(before, [...path, one]);
    }
    sorted.add(one);
  };
  for (const one of plan) visit(one, []);
  return [...sorted];
}
