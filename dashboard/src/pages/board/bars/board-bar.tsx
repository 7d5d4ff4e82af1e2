import type { BoardAnswer, BoardsAnswer } from "../../../../../src/api/contract/boards.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { Menu, type MenuEntry } from "../../../components/controls/menu.tsx";
import type { BoardStore } from "../../../data/board-store.ts";
import { words } from "../../../words/words.ts";
import { useSummary } from "../board-context.tsx";
import type { BoardDialogKind } from "../dialogs/board-dialogs.tsx";
import styles from "./bars.module.css";

const { board: text } = words;

interface BoardBarProps {
  readonly slug: string;
  readonly store: BoardStore;
  readonly board: BoardAnswer | undefined;
  readonly boards: BoardsAnswer | undefined;
  readonly mayWork: boolean;
  readonly isFiltered: boolean;
  readonly isPausing: boolean;
  onPause(paused: boolean): void;
  onGo(slug: string): void;
  onDialog(kind: BoardDialogKind): void;
  onNewTask(): void;
}

/** The name of the board, its menus and its actions. */
export function BoardBar(props: BoardBarProps) {
  const { slug, store, board, boards, mayWork, isFiltered } = props;
  const summary = useSummary(store);
  const isPaused = summary.isLoaded ? summary.paused : (board?.paused ?? false);
  const all = Object.entries(board?.stats.counts ?? {}).reduce(
    (sum, [status, count]) => (status === "archived" ? sum : sum + count),
    0,
  );
  const others: MenuEntry[] = (boards?.boards ?? []).map((one) => ({
    label: one.name,
    checked: one.slug === slug,
    run: () => props.onGo(one.slug),
  }));
  const items: MenuEntry[] = [
    ...others,
    ...(others.length > 0 && mayWork ? ["line" as const] : []),
    ...(mayWork
      ? [
          { label: `${text.newBoard}…`, icon: "plus", run: () => props.onDialog("new") } as const,
          { label: `${text.renameBoard}…`, run: () => props.onDialog("rename") },
          {
            label: `${text.archiveBoard}…`,
            icon: "archived",
            danger: true,
            run: () => props.onDialog("archive"),
          } as const,
        ]
      : []),
  ];
  return (
    <div className={styles.bar}>
      <h1 className={styles.crumb}>
        <Menu kind="quiet" name={text.switchBoard} items={items} className={styles.name}>
          {board?.name ?? slug}
          <Icon name="down" className="faint" />
        </Menu>
      </h1>
      <span className={`${styles.total} faint`}>
        {summary.isLoaded &&
          (isFiltered ? text.of(summary.total, Math.max(all, summary.total)) : text.tasks(summary.total))}
      </span>
      <span className={styles.push} />
      {mayWork && (
        <>
          <Button
            kind="quiet"
            icon={isPaused ? "running" : "pause"}
            busy={props.isPausing}
            className={styles.pause}
            aria-label={isPaused ? text.resume : text.pause}
            onClick={() => props.onPause(!isPaused)}
          >
            <span className={styles.long}>{isPaused ? text.resume : text.pause}</span>
          </Button>
          <Button kind="main" icon="plus" onClick={props.onNewTask}>
            {text.newTask}
            <span className={styles.key} aria-hidden="true">
              <kbd>C</kbd>
            </span>
          </Button>
        </>
      )}
    </div>
  );
}
