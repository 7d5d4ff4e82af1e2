import { type KeyboardEvent, type RefObject, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Status } from "../../../../../src/api/contract/boards.ts";
import { useKeyMap } from "../../../shell/keys/keys.tsx";
import { useBoard, useSummary } from "../board-context.tsx";
import { actionOf, type CardGrid } from "../model/board-keys.ts";
import { railsOf } from "../model/column-layout.ts";
import { Column } from "./column.tsx";
import styles from "./columns.module.css";

interface ColumnsProps {
  /** The one column that a phone shows. */
  readonly phoneStatus: Status | undefined;
  /** A finger swiped to the next or the previous column. */
  onSwipe(by: 1 | -1): void;
}

/** How far a finger moves sideways in a swipe, in pixels. */
const SWIPE = 60;
const STORED = "hermes-columns";
type Chosen = Partial<Record<Status, "open" | "closed">>;

/** The board as columns. Keys act on the card that has the focus. */
export function Columns({ phoneStatus, onSwipe }: ColumnsProps) {
  const tools = useBoard();
  const { store, marks, actions, statuses, mayWork } = tools;
  const { counts } = useSummary(store);
  const { lettersOn } = useKeyMap();
  const root = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<Chosen>(loadChosen);
  const [peeked, setPeeked] = useState<Status>();
  const touched = useRef<{ readonly x: number; readonly y: number }>(undefined);

  const choose = (status: Status, how: "open" | "closed"): void => {
    const next = { ...chosen, [status]: how };
    setChosen(next);
    setPeeked(undefined);
    localStorage.setItem(STORED, JSON.stringify(next));
  };
  const shown = phoneStatus === undefined ? statuses : [phoneStatus];
  const room = useRoom(root);
  const rails = railsOf(statuses, { counts, chosen, peeked, room });
  const isNarrow = (status: Status): boolean => phoneStatus === undefined && rails.has(status);
  const grid = (): CardGrid =>
    shown.filter((status) => !isNarrow(status)).map((status) => store.column(status).ids);

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const card = (event.target as Element).closest<HTMLElement>("[data-card]");
    const id = card?.dataset["card"];
    if (card == null || id === undefined || event.defaultPrevented) return;
    const isOnButton = (event.target as Element).closest("button") !== null;
    if (isOnButton && (event.key === "Enter" || event.key === " ")) return;
    const action = actionOf(event, grid(), id, lettersOn);
    if (action === undefined) return;
    if (action.kind === "open" && event.key === "Enter") {
      event.preventDefault();
      tools.openTask(id);
      return;
    }
    if (!mayWork && !["focus", "open"].includes(action.kind)) return;
    event.preventDefault();
    event.stopPropagation();
    const ids = marks.isSelected(id) ? marks.selected() : [id];
    const anchor = card.querySelector<HTMLElement>("button") ?? card;
    if (action.kind === "focus") marks.focus(action.id, true);
    else if (action.kind === "open") tools.openTask(id);
    else if (action.kind === "edit") tools.openTask(id, "title");
    else if (action.kind === "select") marks.toggle(id);
    else if (action.kind === "priority") void actions.edit(ids, { priority: action.priority });
    else if (action.kind === "select-range-up") extendSelection(id, "k");
    else if (action.kind === "select-range-down") extendSelection(id, "j");
    else tools.openMenu({ kind: action.kind, ids, anchor });
  };

  /** Selects the card and the next one, for Shift with an arrow. */
  function extendSelection(id: string, key: "j" | "k"): void {
    const plain = { key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
    const next = actionOf(plain, grid(), id, true);
    if (next?.kind !== "focus") return;
    marks.select([...marks.selected(), id, next.id]);
    marks.focus(next.id, true);
  }

  const peek = useMemo(
    () => Object.fromEntries(statuses.map((status) => [status, () => setPeeked(status)])),
    [statuses],
  ) as Record<Status, () => void>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys act on the links of the cards inside
    <div
      ref={root}
      className={styles.columns}
      data-phone={phoneStatus !== undefined || undefined}
      onKeyDown={onKeyDown}
      onTouchStart={({ touches: { 0: touch } }) => {
        touched.current = touch && { x: touch.clientX, y: touch.clientY };
      }}
      onTouchEnd={({ changedTouches: { 0: touch } }) => {
        const { current: from } = touched;
        if (from === undefined || touch === undefined || phoneStatus === undefined) return;
        const x = touch.clientX - from.x;
        if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(touch.clientY - from.y))
          onSwipe(x < 0 ? 1 : -1);
      }}
    >
      {shown.map((status) => (
        <Column
          key={status}
          status={status}
          isRail={isNarrow(status)}
          isPhone={phoneStatus !== undefined}
          onPeek={peek[status]}
          onLeave={() => setPeeked((now) => (now === status ? undefined : now))}
          onOpen={() => choose(status, "open")}
          onClose={() => choose(status, "closed")}
        />
      ))}
    </div>
  );
}

/** The smallest width of a column with its gap. */
const SMALLEST = 196 + 8;

/** How many columns fit, measured before the first paint and whenever the window changes. */
function useRoom(root: RefObject<HTMLElement | null>): number | undefined {
  const [room, setRoom] = useState<number>();
  useLayoutEffect(() => {
    const element = root.current;
    if (element === null) return;
    const measure = (): void => setRoom(Math.floor((element.clientWidth - 48) / SMALLEST));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [root]);
  return room;
}

function loadChosen(): Chosen {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "{}") as Chosen;
  } catch {
    return {};
  }
}
