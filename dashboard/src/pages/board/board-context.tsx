import { createContext, useContext, useSyncExternalStore } from "react";
import type { BoardAnswer, Status } from "../../../../src/api/contract/boards.ts";
import type { BoardStore, BoardSummary, CardView, ColumnView } from "../../data/board-store.ts";
import type { BoardActions } from "./actions/board-actions.ts";
import type { DragState } from "./drag/drag-state.ts";
import type { CardMarks } from "./model/card-marks.ts";

/** A menu of one or several cards, opened beside an element. */
export interface CardMenuRequest {
  readonly kind: "actions" | "move" | "assign";
  readonly ids: readonly string[];
  readonly anchor: HTMLElement;
}

/** What the components of the board share. */
export interface BoardTools {
  readonly slug: string;
  readonly board: BoardAnswer | undefined;
  readonly store: BoardStore;
  readonly marks: CardMarks;
  readonly drag: DragState;
  readonly actions: BoardActions;
  /** The columns that are shown, in their order. */
  readonly statuses: readonly Status[];
  /** Whether this sign-in may change the board. */
  readonly mayWork: boolean;
  /** The task in the drawer. */
  readonly openId: string | undefined;
  hrefOf(id: string): string;
  openTask(id: string, focus?: "title"): void;
  openMenu(request: CardMenuRequest): void;
  /** Makes a move, after asking what it needs. */
  requestMove(ids: readonly string[], to: Status): void;
  loadMore(status: Status): void;
}

const Context = createContext<BoardTools | undefined>(undefined);
export const BoardToolsProvider = Context;

export function useBoard(): BoardTools {
  const tools = useContext(Context);
  if (tools === undefined) throw new Error("used outside of the board");
  return tools;
}

export function useCard(id: string): CardView | undefined {
  const { store } = useBoard();
  return useSyncExternalStore(
    (listener) => store.subscribe(`card:${id}`, listener),
    () => store.card(id),
  );
}

export function useColumn(status: Status): ColumnView {
  const { store } = useBoard();
  return useSyncExternalStore(
    (listener) => store.subscribe(`column:${status}`, listener),
    () => store.column(status),
  );
}

export function useSummary(store: BoardStore): BoardSummary {
  return useSyncExternalStore(
    (listener) => store.subscribe("summary", listener),
    () => store.summary(),
  );
}

export function useIsSelected(id: string): boolean {
  const { marks } = useBoard();
  return useSyncExternalStore(
    (listener) => marks.subscribe(id, listener),
    () => marks.isSelected(id),
  );
}

export function useSelected(marks: CardMarks): readonly string[] {
  return useSyncExternalStore(
    (listener) => marks.subscribe("*", listener),
    () => marks.selected(),
  );
}
