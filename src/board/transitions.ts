/** The columns of a board, in the order of a task's life. */
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

interface Transition {
  readonly from: readonly Status[];
  readonly to: readonly Status[];
  /** The verbs of `hermes kanban` by which a person makes it; none means that it happens by itself. */
  readonly verbs: readonly string[];
  /** What makes it happen and when it is refused, for help and API. */
  readonly rule: string;
}

/** Every way in which the status of a task changes; a move that is not in here does not exist. */
export const TRANSITIONS = {
  specify: {
    from: ["triage"],
    to: ["todo"],
    verbs: ["specify"],
    rule: "The task was written out; it then waits for its parents.",
  },
  decompose: {
    from: ["triage"],
    to: ["todo"],
    verbs: [],
    rule: "The task was split; it then waits for its parts.",
  },
  recompute: {
    from: ["todo", "blocked", "scheduled"],
    to: ["todo", "ready", "review"],
    verbs: [],
    rule: "All parents are done, its time has come, it is not held, and no person or worker has blocked it.",
  },
  claim: {
    from: ["ready", "review"],
    to: ["running"],
    verbs: ["claim"],
    rule: "A worker takes it; parents, caps, hold and pause are checked.",
  },
  "reject-claim": {
    from: ["ready", "review"],
    to: ["todo"],
    verbs: [],
    rule: "A claim found a parent that is not done.",
  },
  link: {
    from: ["ready"],
    to: ["todo"],
    verbs: ["link"],
    rule: "It was linked to a parent that is not done.",
  },
  block: {
    from: ["running", "ready"],
    to: ["blocked", "todo", "triage"],
    verbs: ["block"],
    rule: "With a reason. Waiting for another task leads to todo; asked again by a worker, unanswered, to triage.",
  },
  complete: {
    from: ["running", "ready", "blocked", "review"],
    to: ["done"],
    verbs: ["complete", "approve"],
    rule: "All parents are done.",
  },
  "request-review": {
    from: ["running", "ready"],
    to: ["review"],
    verbs: ["request-review"],
    rule: "The reviewer is not the implementer.",
  },
  "request-changes": {
    from: ["running", "review"],
    to: ["ready", "todo"],
    verbs: ["request-changes"],
    rule: "By a reviewer, with a reason; back to the implementer.",
  },
  "reopen-review": {
    from: ["review"],
    to: ["ready", "todo"],
    verbs: ["reopen"],
    rule: "Back to the implementer, without a verdict.",
  },
  unblock: {
    from: ["triage", "blocked", "scheduled"],
    to: ["ready", "review", "todo"],
    verbs: ["unblock", "answer", "retry"],
    rule: "Clears failures; it waits for its parents again.",
  },
  promote: {
    from: ["triage", "todo", "blocked"],
    to: ["ready"],
    verbs: ["promote"],
    rule: "By a person; refused while a parent is open.",
  },
  schedule: {
    from: ["todo", "ready", "running", "blocked"],
    to: ["scheduled"],
    verbs: ["schedule"],
    rule: "Waits for its time and then comes back by itself.",
  },
  reclaim: {
    from: ["running"],
    to: ["ready", "review", "todo"],
    verbs: ["reclaim", "release"],
    rule: "The run is over without a result; the task goes back to where it was claimed.",
  },
  "give-up": { from: ["running"], to: ["blocked"], verbs: [], rule: "Too many failures in a row." },
  archive: {
    from: ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done"],
    to: ["archived"],
    verbs: ["archive"],
    rule: "Ends an open run and frees its children and its idempotency key.",
  },
  reopen: {
    from: ["done", "archived"],
    to: ["ready", "todo"],
    verbs: ["reopen"],
    rule: "Invalidates everything that came after it.",
  },
  invalidate: {
    from: ["ready", "review", "running", "done"],
    to: ["todo"],
    verbs: [],
    rule: "A task before it was reopened.",
  },
} as const satisfies Record<string, Transition>;
export type Move = keyof typeof TRANSITIONS;

/** Whether the table has this move. */
export function isMove(move: Move, from: Status, to: Status): boolean {
  return mayMove(move, from) && (TRANSITIONS[move].to as readonly Status[]).includes(to);
}

/** Whether the table lets a task with this status make the move at all. */
export function mayMove(move: Move, from: Status): boolean {
  return (TRANSITIONS[move].from as readonly Status[]).includes(from);
}
