import { useRef, useState } from "react";
import type { CreatedTask, NewTask } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Select, TextArea, TextField } from "../../../components/controls/field.tsx";
import { Dialog } from "../../../components/layout/dialog.tsx";
import { Note } from "../../../components/layout/note.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { randomId } from "../../../data/random-id.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { createDrafts } from "../model/drafts.ts";
import { type NewTaskForm, newTaskOf, parseForm } from "../model/new-task-form.ts";
import styles from "./dialogs.module.css";
import { type FoundTask, TaskFinder } from "./task-finder.tsx";

const { board: text } = words;
const { create } = text;
const DRAFT = "new";

/** The dialog for a new task. The typed text survives closing it. */
export function CreateTask({ onClose }: { onClose(): void }) {
  const { slug, board, openTask } = useBoard();
  const api = useApi();
  const toasts = useToasts();
  const drafts = useRef(createDrafts(localStorage, slug)).current;
  const [form, setForm] = useState<NewTaskForm>(() => parseForm(drafts.get(DRAFT)));
  const [another, setAnother] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [titleProblem, setTitleProblem] = useState<string>();
  const [timeProblem, setTimeProblem] = useState<string>();
  const key = useRef(randomId());
  const title = useRef<HTMLDivElement>(null);

  const change = (fields: Partial<NewTaskForm>): void => {
    const next = { ...form, ...fields };
    setForm(next);
    drafts.set(DRAFT, JSON.stringify(next));
  };
  const field = <Name extends keyof NewTaskForm>(name: Name) => ({
    value: form[name] as string,
    onChange: (event: { target: { value: string } }) =>
      change({ [name]: event.target.value } as Partial<NewTaskForm>),
  });

  async function submit(): Promise<void> {
    if (isBusy) return;
    setTitleProblem(form.title.trim() === "" ? text.ask.needed : undefined);
    const isLate = form.start === "at" && !(new Date(form.at).getTime() > Date.now());
    setTimeProblem(isLate ? text.ask.timeIsPast : undefined);
    if (form.title.trim() === "" || isLate) return;
    const body: NewTask = newTaskOf(form);
    setBusy(true);
    setProblem(undefined);
    try {
      const path = `boards/${encodeURIComponent(slug)}/tasks`;
      const { task, created } = await api.send<CreatedTask>("POST", path, body, {
        idempotencyKey: key.current,
      });
      drafts.set(DRAFT, undefined);
      key.current = randomId();
      const open = { label: text.open, run: () => openTask(task.id) };
      toasts.say(created ? create.created(task.seq) : create.existed(task.seq), open);
      if (!another) return onClose();
      setForm({ ...form, title: "", body: "" });
      title.current?.querySelector("input")?.focus();
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog
      wide
      title={create.title}
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <label className={styles.another}>
            <input type="checkbox" checked={another} onChange={(event) => setAnother(event.target.checked)} />
            {create.another}
          </label>
          <Button onClick={onClose}>{words.shell.cancel}</Button>
          <Button type="submit" kind="main" busy={isBusy}>
            {create.submit}
          </Button>
        </>
      }
    >
      {problem !== undefined && (
        <div role="alert">
          <Note bad>{problem}</Note>
        </div>
      )}
      <div ref={title}>
        <TextField label={create.name} problem={titleProblem} autoFocus maxLength={500} {...field("title")} />
      </div>
      <TextArea
        label={create.body}
        hint={create.bodyHint}
        rows={4}
        onSubmitKey={() => void submit()}
        {...field("body")}
      />
      <div className={styles.pair}>
        <Select label={create.assignee} {...field("assignee")}>
          <option value="">{text.nobody}</option>
          {(board?.assignees ?? []).map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
        <Select label={create.priority} {...field("priority")}>
          {["0", "1", "2", "3"].map((value) => (
            <option key={value}>{value}</option>
          ))}
        </Select>
      </div>
      <Parents slug={slug} chosen={form.parents} onChoose={(parents) => change({ parents })} />
      <div className={styles.pair}>
        <Select label={create.start} {...field("start")}>
          {(["now", "triage", "hold", "at"] as const).map((name) => (
            <option key={name} value={name}>
              {create.starts[name]}
            </option>
          ))}
        </Select>
        {form.start === "at" && (
          <TextField label={create.at} type="datetime-local" problem={timeProblem} {...field("at")} />
        )}
      </div>
      <details className={styles.more}>
        <summary>{create.more}</summary>
        <div className={styles.stack}>
          <Workspace form={form} field={field} />
          <div className={styles.pair}>
            <TextField label={create.model} {...field("model")} />
            <TextField label={create.provider} {...field("provider")} />
            <Select label={create.effort} {...field("effort")}>
              <option value="">{create.efforts.none}</option>
              <option value="low">{create.efforts.low}</option>
              <option value="medium">{create.efforts.medium}</option>
              <option value="high">{create.efforts.high}</option>
            </Select>
            <TextField label={create.tenant} list="hermes-tenants" {...field("tenant")} />
            <TextField label={create.runtime} type="number" min={1} {...field("runtime")} />
            <TextField label={create.retries} type="number" min={1} {...field("retries")} />
          </div>
          <TextField label={create.skills} hint={create.skillsHint} {...field("skills")} />
          <datalist id="hermes-tenants">
            {(board?.tenants ?? []).map((tenant) => (
              <option key={tenant} value={tenant} />
            ))}
          </datalist>
        </div>
      </details>
    </Dialog>
  );
}

type FieldOf = <Name extends keyof NewTaskForm>(
  name: Name,
) => { value: string; onChange(event: { target: { value: string } }): void };

function Workspace({ form, field }: { readonly form: NewTaskForm; readonly field: FieldOf }) {
  return (
    <>
      <Select label={create.workspace} {...field("workspace")}>
        {(["scratch", "dir", "worktree"] as const).map((name) => (
          <option key={name} value={name}>
            {create.workspaces[name]}
          </option>
        ))}
      </Select>
      {form.workspace !== "scratch" && (
        <TextField label={create.path} hint={create.pathHint} {...field("path")} />
      )}
      {form.workspace === "worktree" && <TextField label={create.branch} {...field("branch")} />}
    </>
  );
}

function Parents({
  slug,
  chosen,
  onChoose,
}: {
  readonly slug: string;
  readonly chosen: readonly FoundTask[];
  onChoose(parents: readonly FoundTask[]): void;
}) {
  return (
    <div className={styles.parents}>
      <TaskFinder
        slug={slug}
        label={create.parents}
        hint={create.parentsHint}
        without={chosen.map(({ id }) => id)}
        optionLabel={create.addParent}
        onFound={({ id, seq, title }) => onChoose([...chosen, { id, seq, title }])}
      />
      {chosen.length > 0 && (
        <ul className={styles.chosen}>
          {chosen.map(({ id, seq, title }) => (
            <li key={id}>
              <span className="mono faint">{text.number(seq)}</span>
              <span className="clip">{title}</span>
              <Button
                kind="quiet"
                small
                icon="close"
                aria-label={create.removeParent(title)}
                onClick={() => onChoose(chosen.filter((one) => one.id !== id))}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
