import { type Move, type Status, TRANSITIONS } from "../../../../board/transitions.ts";
import type { MoveRule } from "../../../contract/boards.ts";
import type { TaskMove } from "../../../contract/tasks.ts";

/** The moves with which a person changes the status of a task. */
export type StatusMove = Exclude<TaskMove["move"], "hold" | "release-hold" | "unguard">;

interface Rule {
  readonly transition: Move;
  /** Only these statuses, where the transition would allow more. */
  readonly from?: readonly Status[];
  readonly to?: readonly Status[];
  readonly needs?: MoveRule["needs"];
  readonly confirm?: boolean;
}

/** When a card is dropped into a column, a page takes the first move that fits. */
const RULES: Readonly<Record<StatusMove, Rule>> = {
  reclaim: { transition: "reclaim", confirm: true },
  approve: { transition: "complete", from: ["review"], confirm: true },
  complete: { transition: "complete", from: ["running", "ready", "blocked"], confirm: true },
  unblock: { transition: "unblock" },
  promote: { transition: "promote" },
  specify: { transition: "specify" },
  reopen: { transition: "reopen", from: ["review", "done", "archived"] },
  "request-changes": { transition: "request-changes", from: ["review"], needs: ["reason"] },
  "request-review": { transition: "request-review", needs: ["reviewer"] },
  block: { transition: "block", to: ["blocked"], needs: ["reason"] },
  schedule: { transition: "schedule", needs: ["at"] },
  retry: { transition: "unblock", from: ["blocked", "triage"] },
  archive: { transition: "archive", confirm: true },
};

/** What a person may do to a task in each status, derived from the table of transitions. */
export const MOVE_RULES: readonly MoveRule[] = Object.entries(RULES).map(
  ([move, { transition, from, to, needs = [], confirm = false }]) => ({
    move,
    from: [...(from ?? TRANSITIONS[transition].from)],
    to: [...(to ?? TRANSITIONS[transition].to)],
    rule: TRANSITIONS[transition].rule,
    needs: [...needs],
    confirm,
  }),
);

/** When a move is refused, as a sentence; null for moves that change no status. */
export function ruleOf(move: TaskMove["move"]): string | null {
  return MOVE_RULES.find((rule) => rule.move === move)?.rule ?? null;
}

/** The moves that are possible from this status. */
export function movesFrom(status: Status): string[] {
  return MOVE_RULES.filter(({ from }) => from.includes(status)).map(({ move }) => move);
}
