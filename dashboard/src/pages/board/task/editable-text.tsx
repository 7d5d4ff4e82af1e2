import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { ChangedTask, ShownTask, TaskEdit } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { TextArea, TextField } from "../../../components/controls/field.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { Problem } from "../../../data/problem.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { taskPath, taskQuery } from "../board-queries.ts";
import type { Drafts } from "../model/drafts.ts";
import styles from "./editable-text.module.css";

const { task: text } = words;

interface EditableTextProps {
  /** The property of the task that is edited; also the name of its draft. */
  readonly field: "title" | "body";
  readonly label: string;
  readonly value: string;
  readonly shown: ShownTask;
  readonly drafts: Drafts;
  readonly isReadOnly: boolean;
  readonly isEditing: boolean;
  onEditing(isEditing: boolean): void;
  toEdit(text: string): TaskEdit;
  /** The text while it is not edited. */
  children(actions: { edit(): void }): ReactNode;
}

/** The typed text, and the text that editing started from. */
interface Draft {
  readonly text: string;
  readonly base: string;
}

/**
 * A text that is edited in place. The draft survives events, a lost connection and closing the drawer; if the text changes
 * elsewhere in the meantime, both versions are shown.
 */
export function EditableText(props: EditableTextProps) {
  const { field, value, shown, drafts, isReadOnly, isEditing, onEditing, children } = props;
  const { slug } = useBoard();
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [draft, setDraft] = useState<Draft | undefined>(() => parseDraft(drafts.get(field)));
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();

  const keep = (next: Draft | undefined): void => {
    setDraft(next);
    drafts.set(field, next === undefined || next.text === next.base ? undefined : JSON.stringify(next));
  };
  const begin = (): void => {
    if (draft === undefined) setDraft({ text: value, base: value });
    onEditing(true);
  };
  const end = (): void => {
    keep(undefined);
    setProblem(undefined);
    onEditing(false);
  };
  const current = draft ?? { text: value, base: value };

  /** Saves unless this text was changed elsewhere; other changes to the task do not matter. */
  async function save(base: string, updatedAt = shown.task.updatedAt): Promise<void> {
    setBusy(true);
    setProblem(undefined);
    const path = taskPath(slug, shown.task.id);
    try {
      const edit = props.toEdit(current.text);
      await api.send<ChangedTask>("PATCH", path, edit, { ifMatch: String(updatedAt) });
      await queries.invalidateQueries({ queryKey: ["task", slug, shown.task.id] });
      end();
      toasts.say(text.saved);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 412)) {
        setProblem(sentenceOf(error));
        return;
      }
      const fresh = await queries.fetchQuery({ ...taskQuery(api, slug, shown.task.id), staleTime: 0 });
      const theirs = (field === "title" ? fresh.task.title : fresh.task.body) ?? "";
      if (theirs === base) await save(base, fresh.task.updatedAt);
    } finally {
      setBusy(false);
    }
  }

  if (isReadOnly || (!isEditing && draft === undefined)) return children({ edit: begin });
  const isConflict = value !== current.base && value !== current.text;
  const change = (event: { target: { value: string } }): void =>
    keep({ base: current.base, text: event.target.value });
  const submit = (): void => void save(isConflict ? value : current.base);
  const control = {
    label: props.label,
    bare: true,
    autoFocus: isEditing,
    value: current.text,
    problem,
    onChange: change,
  };
  return (
    <div className={styles.edit}>
      {field === "title" ? (
        <TextField
          {...control}
          maxLength={500}
          onKeyDown={(event) => {
            if (event.key === "Enter") submit();
            else if (event.key === "Escape") end();
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
      ) : (
        <TextArea {...control} rows={8} onSubmitKey={submit} />
      )}
      {isConflict && (
        <div className={styles.conflict} role="alert">
          <b>{text.conflict.title}</b>
          <span className={styles.version}>
            <small>{text.conflict.theirs}</small>
            <span>{value}</span>
          </span>
          <span className={styles.version}>
            <small>{text.conflict.yours}</small>
            <span>{current.text}</span>
          </span>
        </div>
      )}
      <div className={styles.row}>
        {!isEditing && <span className="faint">{text.draft}</span>}
        <span className={styles.push} />
        {isConflict ? (
          <Button small onClick={end}>
            {text.conflict.takeTheirs}
          </Button>
        ) : (
          <Button small onClick={end}>
            {text.cancel}
          </Button>
        )}
        <Button small kind="main" busy={isBusy} onClick={submit}>
          {isConflict ? text.conflict.keepYours : text.save}
        </Button>
      </div>
    </div>
  );
}

function parseDraft(kept: string | undefined): Draft | undefined {
  try {
    return kept === undefined ? undefined : (JSON.parse(kept) as Draft);
  } catch {
    return undefined;
  }
}
