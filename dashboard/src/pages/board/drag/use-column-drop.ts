import { dropTargetForElements } from "@atlaskit/pragmatic-drag-and-drop/element/adapter";
import { type RefObject, useEffect, useState, useSyncExternalStore } from "react";
import type { Status } from "../../../../../src/api/contract/boards.ts";
import { useBoard } from "../board-context.tsx";
import type { Refusal } from "../model/moves.ts";
import { judgeDrop } from "./drag-state.ts";

export interface ColumnDrop {
  /** Whether the dragged cards can be dropped here, or why not; undefined while none are dragged. */
  readonly dropVerdict: "allowed" | Refusal | undefined;
  readonly isOver: boolean;
}

/** Makes a column a drop target. A drop is judged by the columns in which the cards are at that time. */
export function useColumnDrop(status: Status, element: RefObject<HTMLElement | null>): ColumnDrop {
  const { drag, requestMove } = useBoard();
  const [isOver, setOver] = useState(false);
  const dropVerdict = useSyncExternalStore(drag.subscribe, () => {
    const current = drag.current();
    return current === undefined ? undefined : judgeDrop(current, status);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a column keeps its element
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    return dropTargetForElements({
      element: target,
      canDrop: ({ source }) => Array.isArray(source.data["cards"]),
      onDragEnter: () => setOver(true),
      onDragLeave: () => setOver(false),
      onDrop: ({ source }) => {
        setOver(false);
        requestMove(source.data["cards"] as readonly string[], status);
      },
    });
  }, [status, drag, requestMove]);
  return { dropVerdict, isOver };
}
