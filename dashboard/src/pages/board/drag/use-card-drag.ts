import { draggable } from "@atlaskit/pragmatic-drag-and-drop/element/adapter";
import { setCustomNativeDragPreview } from "@atlaskit/pragmatic-drag-and-drop/element/set-custom-native-drag-preview";
import { type RefObject, useEffect, useState } from "react";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import styles from "./drag.module.css";

/** Makes a card draggable with the mouse. Dragging a selected card drags the whole selection. */
export function useCardDrag(id: string, element: RefObject<HTMLElement | null>): "dragged" | undefined {
  const { drag, marks, store, mayWork } = useBoard();
  const [isDragged, setDragged] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a card keeps its element
  useEffect(() => {
    const card = element.current;
    if (card === null || !mayWork) return;
    const idsInHand = (): readonly string[] => (marks.isSelected(id) ? marks.selected() : [id]);
    return draggable({
      element: card,
      getInitialData: () => ({ cards: idsInHand() }),
      onGenerateDragPreview: ({ nativeSetDragImage, location }) => {
        const count = idsInHand().length;
        const { clientX, clientY } = location.initial.input;
        const { left, top } = card.getBoundingClientRect();
        setCustomNativeDragPreview({
          nativeSetDragImage,
          getOffset: () => ({ x: clientX - left, y: clientY - top }),
          render: ({ container }) => {
            container.append(ghostOf(card, count));
          },
        });
      },
      onDragStart: () => {
        const ids = idsInHand();
        const from = ids.flatMap((one) => store.card(one)?.status ?? []);
        drag.set({ ids, from: [...new Set(from)] });
        setDragged(true);
      },
      onDrop: () => {
        drag.set(undefined);
        setDragged(false);
      },
    });
  }, [id, mayWork, drag, marks, store]);
  return isDragged ? "dragged" : undefined;
}

/** The image at the pointer: a copy of the card, with the number of dragged cards. */
function ghostOf(card: HTMLElement, count: number): HTMLElement {
  const { width, height } = card.getBoundingClientRect();
  const ghost = document.createElement("div");
  ghost.className = styles.ghost ?? "";
  ghost.style.width = `${width}px`;
  ghost.style.height = `${height}px`;
  const copy = card.cloneNode(true) as HTMLElement;
  copy.removeAttribute("data-card");
  copy.style.height = `${height}px`;
  ghost.append(copy);
  if (count > 1) {
    const badge = document.createElement("b");
    badge.textContent = words.board.tasks(count);
    ghost.append(badge);
  }
  return ghost;
}
