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
  /** What makes it happen and when it is refused, for help and API. */
  readonly rule: string;
}

/** Every way in which the status of a task changes; a move that is not in here does not exist. */
export const TRANSITIONS = {
  specify: {
    from: ["triage"],
    to: ["todo"],
    rule: "The task was written out; it then waits for its parents.",
  },
  decompose: { from: ["triage"], to: ["todo"], rule: "The task was split; it then waits for its parts." },
  recompute: {
    from: ["todo", "blocked", "scheduled"],
    to: ["todo", "ready", "review"],
    rule: "All parents are done, its time has come, it is not held, and no person or worker has blocked it.",
  },
  claim: {
    from: ["ready", "review"],
    to: ["running"],
    rule: "A worker takes it; parents, caps, hold and pause are checked.",
  },
  "reject-claim": {
    from: ["ready", "review"],
    to: ["todo"],
    rule: "A claim found a parent that is not done.",
  },
  link: { from: ["ready"], to: ["todo"], rule: "It was linked to a parent that is not done." },
  block: {
    from: ["running", "ready"],
    to: ["blocked", "todo", "triage"],
    rule: "With a reason. Waiting for another task leads to todo; the same kind twice in a row to triage.",
  },
  complete: { from: ["running", "ready", "blocked", "review"], to: ["done"], rule: "All parents are done." },
  "request-review": {
    from: ["running", "ready"],
    to: ["review"],
    rule: "The reviewer is not the implementer.",
  },
  "request-changes": {
    from: ["running"],
    to: ["ready", "todo"],
    rule: "By a reviewer's run, with a reason.",
  },
  "reopen-review": { from: ["review"], to: ["ready", "todo"], rule: "Back to the implementer." },
  unblock: {
    from: ["blocked", "scheduled"],
    to: ["ready", "review", "todo"],
    rule: "Clears failures; it waits for its parents again.",
  },
  promote: { from: ["todo", "blocked"], to: ["ready"], rule: "By a person; refused while a parent is open." },
  schedule: {
    from: ["todo", "ready", "running", "blocked"],
    to: ["scheduled"],
    rule: "Waits for its time and then comes back by itself.",
  },
  reclaim: {
    from: ["running"],
    to: ["ready", "review", "todo"],
    rule: "The run is over without a result; the task goes back to where it was claimed.",
  },
  "give-up": { from: ["running"], to: ["blocked"], rule: "Too many failures in a row." },
  archive: {
    from: ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done"],
    to: ["archived"],
    rule: "Ends an open run and frees its children and its idempotency key.",
  },
  reopen: { from: ["done"], to: ["ready", "todo"], rule: "Invalidates everything that came after it." },
  invalidate: {
    from: ["ready", "review", "running", "done"],
    to: ["todo"],
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
