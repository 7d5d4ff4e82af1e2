import type { BoardCard } from "../../../../board/operations/views/cards/card.ts";
import type { Card } from "../../../contract/boards.ts";
import type { DashboardBoard } from "../../data/board-data.ts";

/** Cards with the last calls of their agents. */
export async function toCards(
  board: Pick<DashboardBoard, "lastCalls">,
  cards: readonly BoardCard[],
  signal: AbortSignal,
): Promise<Card[]> {
  const runs = cards.flatMap(({ run }) => run ?? []);
  const calls = runs.length === 0 ? new Map() : await board.lastCalls(runs, signal);
  return cards.map(({ run, ...card }) => {
    if (run === null) return { ...card, run };
    const { hostId: _, sessionId: __, ...shown } = run;
    return { ...card, run: { ...shown, call: calls.get(run.id) ?? null } };
  });
}

/** The card of one task. */
export async function toCard(board: DashboardBoard, taskId: string, signal: AbortSignal): Promise<Card> {
  const cards = await board.store.findCards([taskId], await board.settings(), signal);
  const [card] = await toCards(board, cards, signal);
  if (card === undefined) throw new Error(`${taskId} was deleted while it was changed`);
  return card;
}
