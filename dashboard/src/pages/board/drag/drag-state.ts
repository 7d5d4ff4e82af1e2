import type { Status } from "../../../../../src/api/contract/boards.ts";
import { choiceFor, type Refusal } from "../model/moves.ts";

/** The dragged cards, with the columns that they came from. */
export interface Drag {
  readonly ids: readonly string[];
  readonly from: readonly Status[];
}

export interface DragState {
  current(): Drag | undefined;
  set(drag: Drag | undefined): void;
  subscribe(listener: () => void): () => void;
}

export function createDragState(): DragState {
  const listeners = new Set<() => void>();
  let drag: Drag | undefined;
  return {
    current: () => drag,
    set(next) {
      drag = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Whether at least one of the dragged cards can be dropped on a column, or why none can. */
export function judgeDrop({ from }: Drag, to: Status): "allowed" | Refusal {
  let refusal: Refusal = "already-here";
  for (const status of from) {
    const choice = choiceFor(status, to);
    if (!("refusal" in choice)) return "allowed";
    refusal = choice.refusal;
  }
  return refusal;
}
