import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChangedTask, ShownTask, TaskEdit } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Select, TextField } from "../../../components/controls/field.tsx";
import { Dialog } from "../../../components/layout/dialog.tsx";
import { Note } from "../../../components/layout/note.tsx";
import { When } from "../../../components/text/time.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { joined } from "../../../words/format.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { taskPath } from "../board-queries.ts";
import styles from "./facts.module.css";
import { TaskSection } from "./task-section.tsx";

const { facts: text, by } = words.task;
const { board } = words;

/** The properties of the task, and a dialog to change them. */
export function Facts({ shown }: { readonly shown: ShownTask }) {
  const { mayWork } = useBoard();
  const [isEditing, setEditing] = useState(false);
  const { task } = shown;
  const model = [task.provider, task.model].filter((part) => part !== null).join(":");
  const rows: readonly (readonly [string, React.ReactNode])[] = [
    [text.assignee, task.assignee ?? board.nobody],
    [text.priority, task.priority],
    [text.model, model === "" ? text.profileModel : model],
    ...(task.reasoningEffort === null ? [] : [[text.effort, task.reasoningEffort] as const]),
    ...(task.tenant === null ? [] : [[text.tenant, task.tenant] as const]),
    ...(task.skills === null || task.skills.length === 0
      ? []
      : [[text.skills, joined(task.skills)] as const]),
    [text.workspace, shown.workspace.path ?? task.workspacePath ?? task.workspaceKind],
    [
      text.created,
      <>
        <When at={task.createdAt} /> {by(task.createdBy)}
      </>,
    ],
    ...(task.completedAt === null
      ? []
      : [[text.completed, <When key="done" at={task.completedAt} />] as const]),
  ];
  return (
    <TaskSection
      title={text.title}
      action={
        mayWork &&
        task.status !== "archived" && (
          <Button small kind="quiet" className={styles.edit} onClick={() => setEditing(true)}>
            {board.edit}…
          </Button>
        )
      }
    >
      <dl className={styles.facts}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {isEditing && <EditFacts shown={shown} onClose={() => setEditing(false)} />}
    </TaskSection>
  );
}

function EditFacts({ shown, onClose }: { readonly shown: ShownTask; onClose(): void }) {
  const { slug, board: known } = useBoard();
  const api = useApi();
  const queries = useQueryClient();
  const { task } = shown;
  const before = {
    assignee: task.assignee ?? "",
    priority: String(task.priority),
    tenant: task.tenant ?? "",
    model: task.model ?? "",
    provider: task.provider ?? "",
    reasoningEffort: task.reasoningEffort ?? "",
  };
  const [form, setForm] = useState(before);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const field = (name: keyof typeof form) => ({
    value: form[name],
    onChange: (event: { target: { value: string } }) => setForm({ ...form, [name]: event.target.value }),
  });
  const names = [...new Set([...(known?.assignees ?? []).map(({ name }) => name), form.assignee])].filter(
    Boolean,
  );

  /** Sends only changed fields, so that two people can edit different ones. */
  async function submit(): Promise<void> {
    const changed = (Object.keys(form) as (keyof typeof form)[]).filter(
      (name) => form[name] !== before[name],
    );
    if (changed.length === 0) return onClose();
    const edit = Object.fromEntries(
      changed.map((name) => [name, name === "priority" ? Number(form.priority) : form[name].trim() || null]),
    ) as TaskEdit;
    setBusy(true);
    try {
      await api.send<ChangedTask>("PATCH", taskPath(slug, task.id), edit);
      await queries.invalidateQueries({ queryKey: ["task", slug, task.id] });
      onClose();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  }

  return (
    <Dialog
      title={`${board.edit}: ${task.title}`}
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>{words.shell.cancel}</Button>
          <Button type="submit" kind="main" busy={isBusy}>
            {words.task.save}
          </Button>
        </>
      }
    >
      {problem !== undefined && (
        <div role="alert">
          <Note bad>{problem}</Note>
        </div>
      )}
      <Select label={text.assignee} disabled={task.status === "running"} {...field("assignee")}>
        <option value="">{board.nobody}</option>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Select>
      <TextField label={text.priority} type="number" {...field("priority")} />
      <TextField label={text.model} {...field("model")} />
      <TextField label={text.provider} {...field("provider")} />
      <TextField label={text.effort} {...field("reasoningEffort")} />
      <TextField label={text.tenant} {...field("tenant")} />
    </Dialog>
  );
}
