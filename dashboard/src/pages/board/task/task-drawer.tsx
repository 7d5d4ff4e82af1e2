import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import type { BoardChange } from "../../../../../src/api/contract/boards.ts";
import type { ShownTask } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Tabs } from "../../../components/controls/tabs.tsx";
import { FailureNote } from "../../../components/layout/note.tsx";
import { useAppData } from "../../../data/app-data.tsx";
import { Problem } from "../../../data/problem.ts";
import { useKeys } from "../../../shell/keys/keys.tsx";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { taskQuery } from "../board-queries.ts";
import { TABS, type TaskTab } from "../model/board-search.ts";
import { createDrafts, type Drafts } from "../model/drafts.ts";
import { Composer } from "./composer.tsx";
import { DiffTab, useDiff } from "./diff-tab.tsx";
import { EventsTab } from "./events-tab.tsx";
import { LogTab } from "./log-tab.tsx";
import { RunsTab } from "./runs-tab.tsx";
import styles from "./task-drawer.module.css";
import { TaskHead } from "./task-head.tsx";
import { TaskTab as TaskPanel } from "./task-tab.tsx";

const { task: text } = words;

interface TaskDrawerProps {
  readonly id: string;
  readonly tab: TaskTab;
  /** Opens with the title in editing. */
  readonly editTitle: boolean;
  onTab(tab: TaskTab): void;
  onClose(): void;
}

/** One task, beside the board or, on small screens, instead of it. */
export function TaskDrawer({ id, tab, editTitle, onTab, onClose }: TaskDrawerProps) {
  const { api } = useAppData();
  const { slug } = useBoard();
  const task = useQuery(taskQuery(api, slug, id));
  const drafts = useMemo(() => createDrafts(localStorage, `${slug}/${id}`), [slug, id]);
  const panel = useRef<HTMLElement>(null);
  useTaskChanges(slug, id, task.data);
  useEffect(() => panel.current?.focus(), []);
  useKeys({
    ...Object.fromEntries(TABS.map((name, index) => [String(index + 1), () => onTab(name)])),
  });
  return (
    <aside ref={panel} className={styles.drawer} aria-label={labelOf(task.data, id)} tabIndex={-1}>
      {task.data !== undefined ? (
        <Shown
          shown={task.data}
          drafts={drafts}
          tab={tab}
          editTitle={editTitle}
          onTab={onTab}
          onClose={onClose}
        />
      ) : task.error !== null ? (
        <div className={styles.failed}>
          <Button kind="quiet" icon="close" aria-label={text.close} onClick={onClose} />
          {task.error instanceof Problem && task.error.status === 404 ? (
            <p>{text.notFound}</p>
          ) : (
            <FailureNote error={task.error} retry={() => void task.refetch()} busy={task.isFetching} />
          )}
        </div>
      ) : (
        <Bones onClose={onClose} />
      )}
    </aside>
  );
}

const labelOf = (shown: ShownTask | undefined, id: string): string =>
  shown === undefined ? id : text.label(shown.task.seq);

interface ShownProps {
  readonly shown: ShownTask;
  readonly drafts: Drafts;
  readonly tab: TaskTab;
  readonly editTitle: boolean;
  onTab(tab: TaskTab): void;
  onClose(): void;
}

function Shown({ shown, drafts, tab, editTitle, onTab, onClose }: ShownProps) {
  const { slug } = useBoard();
  const run = shown.runs.at(-1);
  const diff = useDiff(slug, shown, tab === "diff");
  const { tabs } = text;
  const changed = diff.data !== undefined && diff.data.missing === null ? diff.data : undefined;
  return (
    <>
      <TaskHead shown={shown} drafts={drafts} editTitle={editTitle} onClose={onClose} />
      <Tabs
        label={tabs.label}
        chosen={tab}
        onChoose={onTab}
        className={styles.body}
        tabs={[
          { name: "task", label: tabs.task },
          { name: "log", label: tabs.log },
          {
            name: "diff",
            label: tabs.diff,
            ...(changed !== undefined && { fact: text.diff.lines(changed.added, changed.removed) }),
          },
          { name: "runs", label: tabs.runs, ...(run !== undefined && { fact: shown.runs.length }) },
          { name: "events", label: tabs.events },
        ]}
      >
        {tab === "task" && <TaskPanel shown={shown} drafts={drafts} onTab={onTab} />}
        {tab === "log" && <LogTab shown={shown} />}
        {tab === "diff" && <DiffTab diff={diff} />}
        {tab === "runs" && <RunsTab shown={shown} />}
        {tab === "events" && <EventsTab shown={shown} />}
      </Tabs>
      <Composer shown={shown} drafts={drafts} />
    </>
  );
}

/** Reads the task again when an event says that it changed. */
function useTaskChanges(slug: string, id: string, shown: ShownTask | undefined): void {
  const { live } = useAppData();
  const queries = useQueryClient();
  const at = shown?.at;
  const isKnown = at !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the position of the first answer; later ones only repeat less
  useEffect(() => {
    if (at === undefined) return;
    const key = ["task", slug, id];
    const again = (): void => {
      void queries.invalidateQueries({ queryKey: key });
      void queries.invalidateQueries({ queryKey: ["why", slug, id] });
    };
    const stop = live.follow(`board:${slug}`, at, ({ name, data }) => {
      if (name !== "board-change") return;
      const { cards, gone, isLarge, events } = data as BoardChange;
      const isMine = cards.some((card) => card.id === id) || events.some(({ task }) => task?.id === id);
      if (isMine || isLarge || gone.includes(id)) again();
    });
    const stopEvents = live.onEvent(({ name }) => {
      if (name === "reset") again();
    });
    return () => {
      stop();
      stopEvents();
    };
  }, [live, queries, slug, id, isKnown]);
}

function Bones({ onClose }: { onClose(): void }) {
  return (
    <div className={styles.bones} role="status" aria-label={words.shell.loading}>
      <Button
        kind="quiet"
        icon="close"
        aria-label={text.close}
        onClick={onClose}
        className={styles.bonesClose}
      />
      <span className="bone" style={{ width: "30%" }} />
      <span className="bone" style={{ width: "80%", height: 16 }} />
      <span className="bone" style={{ width: "55%" }} />
      <span className="bone" style={{ width: "92%", marginTop: 40 }} />
      <span className="bone" style={{ width: "86%" }} />
      <span className="bone" style={{ width: "61%" }} />
    </div>
  );
}
