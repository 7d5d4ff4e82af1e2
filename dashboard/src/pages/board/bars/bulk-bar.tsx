import { useRef } from "react";
import { Button } from "../../../components/controls/button.tsx";
import { Menu } from "../../../components/controls/menu.tsx";
import { words } from "../../../words/words.ts";
import { useBoard, useSelected } from "../board-context.tsx";
import { moveItems } from "../menus/card-menu.tsx";
import styles from "./bars.module.css";

const { board: text } = words;

/** The actions for all selected cards. */
export function BulkBar() {
  const { marks, store, actions, statuses, board, requestMove } = useBoard();
  const selected = useSelected(marks);
  const bar = useRef<HTMLDivElement>(null);
  const ids = selected.filter((id) => store.card(id) !== undefined);
  const cards = ids.flatMap((id) => store.card(id) ?? []);
  if (ids.length === 0) return null;
  const isHeld = cards.every(({ hold }) => hold);
  const clear = (): void => marks.select([]);
  return (
    <div ref={bar} className={styles.bulk} role="toolbar" aria-label={text.bulk.label}>
      <b>{text.bulk.count(ids.length)}</b>
      <Menu
        small
        name={text.moveMany(ids.length)}
        items={moveItems(cards, statuses, (to) => requestMove(ids, to))}
      >
        {text.move}
      </Menu>
      <Menu
        small
        name={text.assign}
        items={[...(board?.assignees ?? []).map(({ name }) => name), null].map((assignee) => ({
          label: assignee ?? text.nobody,
          run: () => void actions.edit(ids, { assignee }),
        }))}
      >
        {text.assign}
      </Menu>
      <Menu
        small
        name={text.setPriority}
        items={[0, 1, 2, 3].map((priority) => ({
          label: text.priority(priority),
          run: () => void actions.edit(ids, { priority }),
        }))}
      >
        {text.setPriority}
      </Menu>
      <Button small onClick={() => void actions.hold(ids, !isHeld)}>
        {isHeld ? text.release : text.hold}
      </Button>
      <Button small kind="danger" onClick={() => requestMove(ids, "archived")}>
        {text.archive}
      </Button>
      <Button small kind="quiet" icon="close" aria-label={text.bulk.clear} onClick={clear} />
    </div>
  );
}
