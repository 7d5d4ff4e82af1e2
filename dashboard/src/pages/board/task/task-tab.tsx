import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { TaskName } from "../../../../../src/api/contract/boards.ts";
import type { ShownTask, TaskEdit } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { CopyLine } from "../../../components/text/copy-line.tsx";
import { Markdown } from "../../../components/text/markdown.tsx";
import { Ago } from "../../../components/text/time.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { exactTime } from "../../../words/format.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { taskPath, whyQuery } from "../board-queries.ts";
import { STATUS_ICONS } from "../columns/status-icons.ts";
import { TaskFinder } from "../dialogs/task-finder.tsx";
import type { TaskTab as TabName } from "../model/board-search.ts";
import type { Drafts } from "../model/drafts.ts";
import { EditableText } from "./editable-text.tsx";
import { Facts } from "./facts.tsx";
import { Files } from "./files.tsx";
import { LogView } from "./log-view.tsx";
import { RunRows } from "./runs-tab.tsx";
import { TaskSection } from "./task-section.tsx";
import styles from "./task-tab.module.css";

const { task: text, board } = words;

interface TaskTabProps {
  readonly shown: ShownTask;
  readonly drafts: Drafts;
  onTab(tab: TabName): void;
}

/** The description of the task, why it waits, and its comments. */
export function TaskTab({ shown, drafts, onTab }: TaskTabProps) {
  const { slug, mayWork } = useBoard();
  const { task } = shown;
  const run = shown.runs.at(-1);
  const [isEditing, setEditing] = useState(false);
  const isReadOnly = task.status === "done" || task.status === "archived" || !mayWork;
  return (
    <>
      <Notice shown={shown} />
      <EditableText
        field="body"
        label={text.bodyField}
        value={task.body ?? ""}
        shown={shown}
        drafts={drafts}
        isReadOnly={isReadOnly}
        isEditing={isEditing}
        onEditing={setEditing}
        toEdit={(body): TaskEdit => ({ body: body === "" ? null : body })}
      >
        {({ edit }) => (
          <section className={styles.bodyText} aria-label={text.bodyField}>
            {task.body === null || task.body.trim() === "" ? (
              <p className="faint">{text.noBody}</p>
            ) : (
              <Markdown text={task.body} />
            )}
            {!isReadOnly && (
              <Button small kind="quiet" className={styles.editBody} onClick={edit}>
                {text.editBody}
              </Button>
            )}
          </section>
        )}
      </EditableText>
      {task.result !== null && task.result !== "" && (
        <TaskSection title={text.result}>
          <Markdown text={task.result} />
        </TaskSection>
      )}
      <BeforeAndAfter shown={shown} />
      {shown.card.notice === null && <Why shown={shown} />}
      {run?.endedAt === null && run.hasLog && (
        <LogView slug={slug} taskId={task.id} runId={run.id} isRunning isShort />
      )}
      <TaskSection
        title={text.comments}
        fact={shown.comments.length > 0 ? String(shown.comments.length) : undefined}
      >
        <Comments shown={shown} />
      </TaskSection>
      <Files shown={shown} />
      {shown.runs.length > 0 && (
        <TaskSection title={text.runs.label}>
          <RunRows shown={shown} onChoose={() => onTab("log")} />
        </TaskSection>
      )}
      <Facts shown={shown} />
    </>
  );
}

/** The question or the failure, above everything else. */
function Notice({ shown: { card, task } }: { readonly shown: ShownTask }) {
  if (card.notice === null) return null;
  const { composer } = text;
  const title = {
    question: composer.asks(task.implementer ?? task.assignee ?? ""),
    failure: composer.failed,
    block: composer.blocked,
  }[card.notice.kind];
  return (
    <section className={styles.notice} data-kind={card.notice.kind} aria-label={title}>
      <b>{title}</b>
      <p>{card.notice.text}</p>
    </section>
  );
}

/** Why it is not running, as `hermes kanban why` says. */
function Why({ shown }: { readonly shown: ShownTask }) {
  const { slug } = useBoard();
  const api = useApi();
  const { status } = shown.task;
  const isWaiting = status !== "done" && status !== "archived" && status !== "running";
  const why = useQuery({ ...whyQuery(api, slug, shown.task.id), enabled: isWaiting, staleTime: 0 });
  if (!isWaiting || why.data === undefined) return null;
  return (
    <TaskSection title={text.why}>
      <p className={styles.why}>{why.data.text}</p>
      {why.data.release !== "" &&
        (why.data.release.startsWith("hermes ") ? (
          <CopyLine text={why.data.release} />
        ) : (
          <p className="soft">{why.data.release}</p>
        ))}
    </TaskSection>
  );
}

/** The tasks before and after this one. */
function BeforeAndAfter({ shown }: { readonly shown: ShownTask }) {
  const { slug, mayWork } = useBoard();
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [isAdding, setAdding] = useState(false);
  const { task, parents, children } = shown;
  const change = async (method: "PUT" | "DELETE", parent: string): Promise<void> => {
    try {
      await api.send(method, `${taskPath(slug, task.id)}/links/${parent}`, method === "PUT" ? {} : undefined);
      await queries.invalidateQueries({ queryKey: ["task", slug, task.id] });
      setAdding(false);
    } catch (error) {
      toasts.refuse(sentenceOf(error));
    }
  };
  const mayLink = mayWork && task.status !== "archived";
  if (parents.length + children.length === 0 && !mayLink) return null;
  return (
    <TaskSection
      title={text.beforeAndAfter}
      action={
        mayLink && (
          <Button small kind="quiet" icon="plus" className={styles.add} onClick={() => setAdding(!isAdding)}>
            {text.addParent}
          </Button>
        )
      }
    >
      {parents.length + children.length > 0 && (
        <div className={styles.graph}>
          {parents.map((parent) => (
            <Node
              key={parent.id}
              task={parent}
              onRemove={mayLink ? () => void change("DELETE", parent.id) : undefined}
            />
          ))}
          {parents.length > 0 && <Icon name="right" className="faint" />}
          <span className={`${styles.node} ${styles.me}`}>{text.thisTask}</span>
          {children.length > 0 && <Icon name="right" className="faint" />}
          {children.map((child) => (
            <Node key={child.id} task={child} />
          ))}
        </div>
      )}
      {isAdding && (
        <TaskFinder
          slug={slug}
          label={board.create.parents}
          without={[task.id, ...parents.map(({ id }) => id)]}
          optionLabel={board.create.addParent}
          onFound={({ id }) => void change("PUT", id)}
        />
      )}
    </TaskSection>
  );
}

function Node({ task, onRemove }: { readonly task: TaskName; readonly onRemove?: (() => void) | undefined }) {
  const { hrefOf, openTask } = useBoard();
  return (
    <span className={styles.node} data-status={task.status}>
      <Icon name={STATUS_ICONS[task.status]} />
      <a
        href={hrefOf(task.id)}
        className="clip"
        title={`${board.number(task.seq)} ${task.title}`}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey) return;
          event.preventDefault();
          openTask(task.id);
        }}
      >
        {task.title}
      </a>
      {onRemove && (
        <Button
          kind="quiet"
          small
          icon="close"
          className={styles.remove}
          aria-label={text.removeParent(task.seq)}
          onClick={onRemove}
        />
      )}
    </span>
  );
}

function Comments({ shown: { comments } }: { readonly shown: ShownTask }) {
  if (comments.length === 0) return <p className="faint">{text.commentCount(0)}</p>;
  return (
    <ol className={styles.comments}>
      {comments.map(({ id, author, body, createdAt, readAt }) => (
        <li key={id}>
          <div className={styles.by}>
            <b className={styles.author}>{author}</b>
            <Ago at={createdAt} />
            {readAt !== null && (
              <span className={styles.read} title={text.readAt(exactTime(readAt))}>
                <Icon name="check" /> {text.read}
              </span>
            )}
          </div>
          <Markdown text={body} />
        </li>
      ))}
    </ol>
  );
}
