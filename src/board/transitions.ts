/** The columns of a board, in the order of a task's lifecycle. */
export const STATUSES = [
  "triage",
  "todo",
  "scheduled",
  "ready",
  "running",
  "blocked",
  "review",
  "done",
  "archived",
] as const;
export type Status = (typeof STATUSES)[number];

/** The status as it reads in a sentence ("is ready", "is in triage", "is under review"). */
export function describeStatus(status: Status): string {
  if (status === "triage") return "in triage";
  return status === "review" ? "under review" : status;
}

interface Transition {
  readonly from: readonly Status[];
  readonly to: readonly Status[];
  /** The verbs of `hermes kanban` that trigger it; none means that it happens automatically. */
  readonly verbs: readonly string[];
  /** When it happens and when it is refused; shown in help and API. */
  readonly rule: string;
}

/** All allowed status changes of a task. */
export const TRANSITIONS = {
  specify: {
    from: ["triage"],
    to: ["todo"],
    verbs: ["specify"],
    rule: "The task was specified; it then waits for its parents.",
  },
  decompose: {
    from: ["triage"],
    to: ["todo"],
    verbs: [],
    rule: "The task was split into parts; it then waits for them.",
  },
  recompute: {
    from: ["todo", "blocked", "scheduled"],
    to: ["todo", "ready", "review"],
    verbs: [],
    rule: "All parents are done, its scheduled time has passed, it is not held, and no person or worker has blocked it.",
  },
  claim: {
    from: ["ready", "review"],
    to: ["running"],
    verbs: ["claim"],
    rule: "A worker claims the task; parents, caps, hold and pause are checked.",
  },
  "reject-claim": {
    from: ["ready", "review"],
    to: ["todo"],
    verbs: [],
    rule: "A claim was refused because a parent is not done.",
  },
  link: {
    from: ["ready"],
    to: ["todo"],
    verbs: ["link"],
    rule: "A parent that is not done was added.",
  },
  block: {
    from: ["running", "ready"],
    to: ["blocked", "todo", "triage"],
    verbs: ["block"],
    rule: "Needs a reason. A dependency block leads to todo; a worker's repeated block without an answer leads to triage.",
  },
  complete: {
    from: ["running", "ready", "blocked", "review"],
    to: ["done"],
    verbs: ["complete", "approve"],
    rule: "Refused while a parent is not done.",
  },
  "request-review": {
    from: ["running", "ready"],
    to: ["review"],
    verbs: ["request-review"],
    rule: "The reviewer must not be the implementer. No dispatcher starts a reviewer: a person approves the task, or claims it and works on it.",
  },
  "request-changes": {
    from: ["running", "review"],
    to: ["ready", "todo"],
    verbs: ["request-changes"],
    rule: "By a reviewer, with a reason; returns the task to the implementer.",
  },
  "reopen-review": {
    from: ["review"],
    to: ["ready", "todo"],
    verbs: ["reopen"],
    rule: "Returns the task to the implementer without a verdict.",
  },
  unblock: {
    from: ["triage", "blocked", "scheduled"],
    to: ["ready", "review", "todo"],
    verbs: ["unblock", "answer", "retry"],
    rule: "Clears the failure count; the task waits for its parents again.",
  },
  promote: {
    from: ["triage", "todo", "blocked"],
    to: ["ready"],
    verbs: ["promote"],
    rule: "By a person; refused while a parent is not done.",
  },
  schedule: {
    from: ["todo", "scheduled", "ready", "running", "blocked"],
    to: ["scheduled"],
    verbs: ["schedule"],
    rule: "The task waits until the given time and then resumes automatically; a scheduled task gets the new time.",
  },
  reclaim: {
    from: ["running"],
    to: ["ready", "review", "todo"],
    verbs: ["reclaim", "release"],
    rule: "The run ended without a result; the task returns to its status before the claim.",
  },
  "give-up": { from: ["running"], to: ["blocked"], verbs: [], rule: "Too many failures in a row." },
  archive: {
    from: ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done"],
    to: ["archived"],
    verbs: ["archive"],
    rule: "Ends the open run, unblocks the children and frees the idempotency key.",
  },
  reopen: {
    from: ["done", "archived"],
    to: ["ready", "todo"],
    verbs: ["reopen"],
    rule: "Also invalidates all descendants of the task.",
  },
  invalidate: {
    from: ["ready", "review", "running", "done"],
    to: ["todo"],
    verbs: [],
    rule: "An ancestor of the task was reopened.",
  },
} as const satisfies Record<string, Transition>;
export type Move = keyof typeof TRANSITIONS;

/** Whether the move may change a task from one status to the other. */
export function isMove(move: Move, from: Status, to: Status): boolean {
  return mayMove(move, from) && (TRANSITIONS[move].to as readonly Status[]).includes(to);
}

/** Whether a task with this status may make the move. */
export function mayMove(move: Move, from: Status): boolean {
  return (TRANSITIONS[move].from as readonly Status[]).includes(from);
}
