import type { Card, Status } from "../../../../../src/api/contract/boards.ts";
import type { TaskMove } from "../../../../../src/api/contract/tasks.ts";

export type MoveName = TaskMove["move"];

/** What a person is asked before a move is sent. */
export type MoveQuestion = "confirm" | "stop" | "reason" | "changes" | "time" | "reviewer" | "summary";

export interface MoveChoice {
  readonly move: MoveName;
  readonly to: Status;
  readonly ask?: MoveQuestion;
}

/** Why a card cannot be dropped on a column; the words are in words/board-words.ts. */
export type Refusal =
  | "already-here"
  | "not-by-hand"
  | "only-new"
  | "waits-by-itself"
  | "only-ready-or-running"
  | "not-schedulable"
  | "not-ready-yet"
  | "reopen-first"
  | "archived";

type Choices = Partial<Record<Status, Omit<MoveChoice, "to">>>;

/** The move that takes a card from one column to another. Pairs that are not listed are refused, here and on the server. */
const MOVES: Readonly<Record<Status, Choices>> = {
  triage: { todo: { move: "specify" }, ready: { move: "promote" } },
  todo: { scheduled: { move: "schedule", ask: "time" }, ready: { move: "promote" } },
  scheduled: { ready: { move: "unblock" } },
  ready: {
    scheduled: { move: "schedule", ask: "time" },
    blocked: { move: "block", ask: "reason" },
    review: { move: "request-review", ask: "reviewer" },
    done: { move: "complete", ask: "summary" },
  },
  running: {
    scheduled: { move: "schedule", ask: "time" },
    ready: { move: "reclaim", ask: "stop" },
    blocked: { move: "block", ask: "reason" },
    review: { move: "request-review", ask: "reviewer" },
    done: { move: "complete", ask: "summary" },
  },
  blocked: {
    scheduled: { move: "schedule", ask: "time" },
    ready: { move: "unblock" },
    done: { move: "complete", ask: "summary" },
  },
  review: { ready: { move: "request-changes", ask: "changes" }, done: { move: "approve", ask: "confirm" } },
  done: { ready: { move: "reopen", ask: "confirm" } },
  archived: { ready: { move: "reopen", ask: "confirm" } },
};

/** What dropping a card on a column does, or why it is refused. */
export function choiceFor(from: Status, to: Status): MoveChoice | { readonly refusal: Refusal } {
  if (to === "archived" && from !== "archived") return { move: "archive", to, ask: "confirm" };
  const choice = MOVES[from][to];
  return choice === undefined ? { refusal: refusalOf(from, to) } : { ...choice, to };
}

function refusalOf(from: Status, to: Status): Refusal {
  if (from === to) return "already-here";
  if (from === "archived") return "archived";
  if (to === "running") return "not-by-hand";
  if (to === "triage") return "only-new";
  if (from === "done") return "reopen-first";
  if (to === "todo") return "waits-by-itself";
  if (to === "blocked" || to === "review") return "only-ready-or-running";
  return to === "scheduled" ? "not-schedulable" : "not-ready-yet";
}

/** The move that undoes the last one; undefined if there is none. */
export function undoOf(card: Card, { move }: MoveChoice): TaskMove | undefined {
  const { status, notice, reviewer } = card;
  if (move === "schedule" && (status === "ready" || status === "todo")) return { move: "unblock" };
  if (move === "block" && status === "ready") return { move: "unblock" };
  if (move === "request-review" && status === "ready")
    return { move: "request-changes", reason: "The request was undone." };
  if ((move === "complete" || move === "archive") && status === "ready") return { move: "reopen" };
  if (move === "unblock" && status === "blocked" && notice !== null)
    return { move: "block", reason: notice.text };
  if (move === "request-changes" && reviewer !== null) return { move: "request-review", reviewer };
  return undefined;
}
