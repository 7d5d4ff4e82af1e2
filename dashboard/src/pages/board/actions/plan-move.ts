import type { Card, Status } from "../../../../../src/api/contract/boards.ts";
import type { TaskMove } from "../../../../../src/api/contract/tasks.ts";
import { choiceFor, type MoveChoice, type MoveQuestion, type Refusal } from "../model/moves.ts";

/** A requested move of some cards to one column. */
export interface MoveIntent {
  readonly to: Status;
  readonly groups: readonly { readonly choice: MoveChoice; readonly cards: readonly Card[] }[];
  readonly refused: readonly { readonly card: Card; readonly refusal: Refusal }[];
  readonly question: MoveQuestion | undefined;
  /** Whether it stops a worker. */
  readonly endsRun: boolean;
}

/** A person's answers to the questions of a move. */
export interface MoveAnswers {
  readonly text?: string;
  readonly reviewer?: string;
  readonly at?: number;
}

/** Questions in ascending importance; if a move has several, only the most important (last in this list) is asked. */
const QUESTION_ORDER: readonly MoveQuestion[] = [
  "summary",
  "confirm",
  "stop",
  "changes",
  "reason",
  "time",
  "reviewer",
];

export function planMove(cards: readonly Card[], to: Status): MoveIntent {
  const groups = new Map<string, { choice: MoveChoice; cards: Card[] }>();
  const refused: { card: Card; refusal: Refusal }[] = [];
  for (const card of cards) {
    const choice = choiceFor(card.status, to);
    if ("refusal" in choice) refused.push({ card, refusal: choice.refusal });
    else groups.set(choice.move, { choice, cards: [...(groups.get(choice.move)?.cards ?? []), card] });
  }
  const found = [...groups.values()];
  const asked = found.flatMap(({ choice }) => (choice.ask === undefined ? [] : [choice.ask]));
  return {
    to,
    groups: found,
    refused,
    question: asked.toSorted((a, b) => QUESTION_ORDER.indexOf(b) - QUESTION_ORDER.indexOf(a))[0],
    endsRun: found.some((group) => group.cards.some(({ status }) => status === "running")),
  };
}

/** The body of a move with its answers. */
export function bodyOf({ move }: MoveChoice, { text = "", reviewer = "", at = 0 }: MoveAnswers): TaskMove {
  const words = text.trim();
  switch (move) {
    case "block":
      return { move, reason: words };
    case "request-changes":
      return { move, reason: words };
    case "schedule":
      return { move, at };
    case "request-review":
      return { move, reviewer, ...(words !== "" && { summary: words }) };
    case "complete":
      return { move, ...(words !== "" && { summary: words }) };
    case "unblock":
      return { move, ...(words !== "" && { reason: words }) };
    default:
      return { move };
  }
}
