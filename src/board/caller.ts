import { AppError } from "../lib/errors.ts";

/** On whose behalf the store acts. It alone decides author and rights; no argument of an operation can. */
export type Caller =
  /** A person, through whatever surface. */
  | { readonly kind: "operator"; readonly name: string }
  /** A profile's agent in a conversation, without a task of its own. */
  | { readonly kind: "agent"; readonly profile: string }
  /** A worker in its run; the token proves that the run is still its own. */
  | RunCaller
  /** What an agent has delegated to: it reads, and changes nothing. */
  | { readonly kind: "delegate"; readonly profile: string }
  /** Our own machinery: dispatcher, supervisor, decomposer. */
  | { readonly kind: "system"; readonly name: string };

export interface RunCaller {
  readonly kind: "run";
  readonly profile: string;
  readonly taskId: string;
  readonly runId: number;
  readonly token: string;
  /** How many tasks its task may make, and how far they may be from the task of a person. */
  readonly limits?: { readonly maxChildren: number; readonly maxDepth: number };
}

type Kind = Caller["kind"];
const ANYONE: readonly Kind[] = ["operator", "agent", "run", "system"];
const PEOPLE: readonly Kind[] = ["operator", "system"];
const OWN_TASK: readonly Kind[] = ["operator", "run", "system"];

/** Who may do what. A worker does what is under `OWN_TASK` to no task but its own. */
const RIGHTS = {
  create: ANYONE,
  comment: ANYONE,
  link: ANYONE,
  attach: ANYONE,
  subscribe: ANYONE,
  unblock: ["operator", "agent", "system"],
  recompute: ANYONE,
  complete: OWN_TASK,
  block: OWN_TASK,
  review: OWN_TASK,
  heartbeat: OWN_TASK,
  claim: PEOPLE,
  "end-run": PEOPLE, // a worker that gave its claim back while it lives would have a second one beside it
  assign: PEOPLE,
  edit: PEOPLE,
  schedule: OWN_TASK,
  promote: ["operator"],
  reopen: PEOPLE,
  archive: PEOPLE,
  purge: ["operator"],
  hold: PEOPLE,
  release: ["operator"],
  pause: ["operator"],
  specify: PEOPLE,
  maintain: PEOPLE,
} as const satisfies Record<string, readonly Kind[]>;
export type Right = keyof typeof RIGHTS;

/** The name under which the caller's doings are recorded. */
export function authorOf(caller: Caller): string {
  return "name" in caller ? caller.name : caller.profile;
}

/** Throws unless this kind of caller may do that at all. */
export function requireRight(caller: Caller, right: Right): void {
  if ((RIGHTS[right] as readonly Kind[]).includes(caller.kind)) return;
  throw new AppError(
    "board-action-denied",
    `${authorOf(caller)} (${caller.kind}) may not ${right} on the board.`,
  );
}

/** Throws when a worker reaches for a task that is neither its own nor one that its task has made. */
export function requireOwnOrMade(
  caller: Caller,
  { id, origin_task_id: origin }: { readonly id: string; readonly origin_task_id: string | null },
): void {
  if (caller.kind !== "run" || origin !== caller.taskId) requireOwnTask(caller, id);
}

/** Throws when a worker reaches for a task that is not its own. */
export function requireOwnTask(caller: Caller, taskId: string): void {
  if (caller.kind !== "run" || caller.taskId === taskId) return;
  throw new AppError("board-action-denied", `The run of ${caller.taskId} may not change ${taskId}.`);
}
