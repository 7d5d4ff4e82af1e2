import { useRef, useState } from "react";
import type { ShownTask, TaskEdit } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { Menu } from "../../../components/controls/menu.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { Elapsed, When } from "../../../components/text/time.tsx";
import { useKeys } from "../../../shell/keys/keys.tsx";
import { money } from "../../../words/format.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { STATUS_ICONS } from "../columns/status-icons.ts";
import type { Drafts } from "../model/drafts.ts";
import { EditableText } from "./editable-text.tsx";
import styles from "./task-head.module.css";
import { taskItems } from "./task-items.ts";

const { task: text, board } = words;

interface TaskHeadProps {
  readonly shown: ShownTask;
  readonly drafts: Drafts;
  readonly editTitle: boolean;
  onClose(): void;
}

/** The title, the status and the actions of the task. */
export function TaskHead({ shown, drafts, editTitle, onClose }: TaskHeadProps) {
  const tools = useBoard();
  const toasts = useToasts();
  const { task, card } = shown;
  const [isEditing, setEditing] = useState(editTitle);
  const { ids } = tools.store.column(task.status);
  const place = ids.indexOf(task.id);
  const go = (by: number): void => {
    const next = ids[place + by];
    if (place >= 0 && next !== undefined) tools.openTask(next);
  };
  useKeys({ J: () => go(1), K: () => go(-1), e: () => setEditing(true) });
  const isReadOnly = task.status === "done" || task.status === "archived" || !tools.mayWork;
  const head = useRef<HTMLElement>(null);
  return (
    <header ref={head} className={styles.head}>
      <div className={styles.tools}>
        <span className="mono">{board.number(task.seq)}</span>
        <span className="mono clip" title={task.id}>
          {task.id}
        </span>
        <span className={styles.push} />
        <Button
          kind="quiet"
          icon="up"
          aria-label={text.previous}
          disabled={place <= 0}
          onClick={() => go(-1)}
        />
        <Button
          kind="quiet"
          icon="down"
          aria-label={text.next}
          disabled={place < 0 || place >= ids.length - 1}
          onClick={() => go(1)}
        />
        {tools.mayWork && (
          <Menu
            kind="quiet"
            icon="more"
            name={text.more}
            aria-label={text.more}
            items={taskItems(shown, tools, toasts, head)}
          />
        )}
        <Button kind="quiet" icon="close" aria-label={text.close} onClick={onClose} />
      </div>
      <EditableText
        field="title"
        label={text.titleField}
        value={task.title}
        shown={shown}
        drafts={drafts}
        isReadOnly={isReadOnly}
        isEditing={isEditing}
        onEditing={setEditing}
        toEdit={(title): TaskEdit => ({ title })}
      >
        {({ edit }) => (
          <h2 className={styles.title}>
            {isReadOnly ? (
              task.title
            ) : (
              <button type="button" onClick={edit} title={board.edit}>
                {task.title}
              </button>
            )}
          </h2>
        )}
      </EditableText>
      <div className={styles.state}>
        <StatusBadge shown={shown} />
        {card.run !== null && card.run.host !== null && card.run.profile !== null ? (
          <span>{text.on(card.run.profile, card.run.host)}</span>
        ) : (
          task.assignee !== null && <span>{task.assignee}</span>
        )}
        {task.reviewer !== null && task.status === "review" && <span>{text.reviewBy(task.reviewer)}</span>}
        <span>{text.priority(task.priority)}</span>
        {shown.workspace.branch !== null && (
          <span>
            worktree <span className="mono">{shown.workspace.branch}</span>
          </span>
        )}
        {card.costUsd > 0 && <span className={styles.push}>{money(card.costUsd)}</span>}
      </div>
    </header>
  );
}

/** A status is an icon, a word and at most one colour. */
function StatusBadge({ shown: { task, card } }: { readonly shown: ShownTask }) {
  const kind =
    task.status === "blocked" ? (card.notice?.kind === "failure" ? "failed" : "asks") : task.status;
  return (
    <span className={styles.badge} data-kind={kind}>
      {task.status === "running" ? (
        <span className={`dot ${styles.dot}`} />
      ) : (
        <Icon name={kind === "failed" ? "failed" : STATUS_ICONS[task.status]} />
      )}
      {board.status[task.status]}
      {card.run !== null && <Elapsed since={card.run.startedAt} />}
      {task.status === "scheduled" && task.scheduledAt !== null && <When at={task.scheduledAt} />}
    </span>
  );
}
