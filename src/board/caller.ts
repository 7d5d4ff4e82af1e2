import { AppError } from "../lib/errors.ts";

/** On whose behalf the store acts. Only the caller determines author and rights; arguments of an operation never do. */
export type Caller =
  /** A person, through any user interface. */
  | { readonly kind: "operator"; readonly name: string }
  /** The agent of a profile in a conversation; it has no task of its own. */
  | { readonly kind: "agent"; readonly profile: string }
  /** A worker in its run; the token proves that the run still belongs to it. */
  | RunCaller
  /** A subagent that an agent delegated to; it may only read. */
  | { readonly kind: "delegate"; readonly profile: string }
  /** An internal component: dispatcher, supervisor or decomposer. */
  | { readonly kind: "system"; readonly name: string };

export interface RunCaller {
  readonly kind: "run";
  readonly profile: string;
  readonly taskId: string;
  readonly runId: number;
  readonly token: string;
}

/** Limits for tasks that workers create: how many per task, and how many generations below a user's task. */
export interface ChildLimits {
  readonly maxChildren: number;
  readonly maxDepth: number;
}

type Kind = Caller["kind"];
const ALL_WRITERS: readonly Kind[] = ["operator", "agent", "run", "system"];
const OPERATORS: readonly Kind[] = ["operator", "system"];
const OWN_TASK: readonly Kind[] = ["operator", "run", "system"];

/** The kinds of caller that have each right. A worker has the rights in `OWN_TASK` only on its own task. */
const RIGHTS = {
  create: ALL_WRITERS,
  comment: ALL_WRITERS,
  link: ALL_WRITERS,
  attach: ALL_WRITERS,
  subscribe: ALL_WRITERS,
  unblock: ["operator", "agent", "system"],
  recompute: ALL_WRITERS,
  complete: OWN_TASK,
  block: OWN_TASK,
  review: OWN_TASK,
  heartbeat: OWN_TASK,
  claim: OPERATORS,
  "end-run": OPERATORS, // if a live worker released its claim, a second worker would start while the first still runs
  assign: OPERATORS,
  edit: OPERATORS,
  schedule: OWN_TASK,
  promote: ["operator"],
  reopen: OPERATORS,
  archive: OPERATORS,
  purge: ["operator"],
  hold: OPERATORS,
  release: ["operator"],
  pause: ["operator"],
  specify: OPERATORS,
  maintain: OPERATORS,
} as const satisfies Record<string, readonly Kind[]>;
export type Right = keyof typeof RIGHTS;

/** The name that is recorded as the author of the caller's actions. */
export function authorOf(caller: Caller): string {
  return "name" in caller ? caller.name : caller.profile;
}

/** Throws `board-action-denied` unless this kind of caller has the right. */
export function requireRight(caller: Caller, right: Right): void {
  if ((RIGHTS[right] as readonly Kind[]).includes(caller.kind)) return;
  throw new AppError(
    "board-action-denied",
    `${authorOf(caller)} (${caller.kind}) may not ${right} on the board.`,
  );
}

/** Throws `board-action-denied` when a worker accesses a task that is neither its own nor created by its task. */
export function requireOwnOrCreatedTask(
  caller: Caller,
  { id, origin_task_id: origin }: { readonly id: string; readonly origin_task_id: string | null },
): void {
  if (caller.kind !== "run" || origin !== caller.taskId) requireOwnTask(caller, id);
}

/** Throws `board-action-denied` when a worker accesses a task that is not its own. */
export function requireOwnTask(caller: Caller, taskId: string): void {
  if (caller.kind !== "run" || caller.taskId === taskId) return;
  throw new AppError("board-action-denied", `The run of ${caller.taskId} may not change ${taskId}.`);
}
