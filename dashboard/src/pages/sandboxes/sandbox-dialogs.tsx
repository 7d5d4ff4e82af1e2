import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type {
  SandboxActionAnswer,
  SandboxRow,
  SandboxUse,
  ShownSandbox,
  Snapshot,
} from "../../../../src/api/contract/machines/sandboxes.ts";
import { Button } from "../../components/controls/button.tsx";
import { TextField } from "../../components/controls/field.tsx";
import { Dialog } from "../../components/layout/dialog.tsx";
import { useApi } from "../../data/app-data.tsx";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import styles from "./sandbox-dialogs.module.css";
import { sandboxesQuery, sandboxPath, sandboxQuery, snapshotPath } from "./sandbox-queries.ts";
import { useSandboxAction } from "./use-sandbox-action.ts";

const w = words.sandboxes;

interface EndDialogProps {
  readonly profile: string;
  readonly sandbox: ShownSandbox;
  readonly action: "stop" | "remove" | "replace";
  onClose(): void;
  onDone?(): void;
}

const TEXTS = {
  stop: [w.actions.stopTitle, w.actions.stopText, w.actions.stopped, w.actions.stop],
  remove: [w.actions.removeTitle, w.actions.removeText, w.actions.removed, w.actions.remove],
  replace: [w.actions.replaceTitle, w.actions.replaceText, w.actions.replaced, w.drift.replace],
} as const;

/** Stops, removes or replaces a sandbox once the person has seen what ends with it. */
export function EndDialog({ profile, sandbox, action, onClose, onDone }: EndDialogProps) {
  const [title, text, done, label] = TEXTS[action];
  const [usesAtOpening] = useState(sandbox.uses);
  const act = useSandboxAction({
    profile,
    path: `${sandboxPath(profile, sandbox.name)}/${action}`,
    done: ({ name }) => done(name),
    onDone: () => {
      onClose();
      onDone?.();
    },
  });
  // The list does not change under the pointer; only after a refusal, because the server found something new.
  const uses = act.isError ? sandbox.uses : usesAtOpening;
  return (
    <Confirm
      title={title(sandbox.name)}
      label={label}
      isDanger={action !== "stop"}
      busy={act.isPending}
      onClose={onClose}
      onConfirm={() => act.mutate({ ends: uses.map(({ id }) => id) })}
    >
      <p className="soft">{text}</p>
      <Uses uses={uses} />
    </Confirm>
  );
}

function Uses({ uses }: { readonly uses: readonly SandboxUse[] }) {
  if (uses.length === 0) return <p className="soft">{w.actions.endsNothing}</p>;
  return (
    <div className={styles.uses}>
      <p>{w.actions.ends(uses.length)}</p>
      <ul>
        {uses.map(({ kind, id, command }) => (
          <li key={`${kind} ${id}`}>
            {kind === "folder" ? w.actions.folder(id) : w.actions[kind](command, id)}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly label: string;
  readonly isDanger: boolean;
  readonly busy: boolean;
  readonly disabled?: boolean;
  readonly children: ReactNode;
  onClose(): void;
  onConfirm(): void;
}

export function Confirm({ title, label, isDanger, busy, disabled, children, ...on }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={on.onClose}
      onSubmit={on.onConfirm}
      actions={
        <>
          <Button kind="quiet" onClick={on.onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind={isDanger ? "danger" : "main"} type="submit" busy={busy} disabled={disabled ?? false}>
            {label}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}

interface ForkDialogProps {
  readonly profile: string;
  readonly from: { readonly sandbox: string } | { readonly snapshot: Snapshot };
  onClose(): void;
  onDone(answer: SandboxActionAnswer): void;
}

export function ForkDialog({ profile, from, onClose, onDone }: ForkDialogProps) {
  const [task, setTask] = useState("");
  const [name, path] =
    "sandbox" in from
      ? [from.sandbox, sandboxPath(profile, from.sandbox)]
      : [from.snapshot.name ?? from.snapshot.id, snapshotPath(profile, from.snapshot.id)];
  const fork = useSandboxAction({
    profile,
    path: `${path}/fork`,
    done: (answer) => w.actions.forked(answer.name),
    onDone: (answer) => {
      onClose();
      onDone(answer);
    },
  });
  return (
    <Confirm
      title={w.actions.forkTitle(name)}
      label={w.actions.fork}
      isDanger={false}
      busy={fork.isPending}
      disabled={task.trim() === ""}
      onClose={onClose}
      onConfirm={() => task.trim() !== "" && fork.mutate({ task: task.trim() })}
    >
      <p className="soft">{w.actions.forkText}</p>
      <TextField
        label={w.actions.forkTask}
        value={task}
        autoComplete="off"
        maxLength={100}
        problem={fork.error === null ? undefined : sentenceOf(fork.error)}
        onChange={(event) => setTask(event.target.value)}
      />
    </Confirm>
  );
}

interface SandboxDialogProps {
  readonly profile: string;
  readonly name: string;
  onClose(): void;
}

export function SnapshotDialog({ profile, name, onClose }: SandboxDialogProps) {
  const [title, setTitle] = useState("");
  const take = useSandboxAction({
    profile,
    path: `${sandboxPath(profile, name)}/snapshot`,
    done: (answer) => w.snapshots.taken(answer.name),
    onDone: onClose,
  });
  return (
    <Confirm
      title={w.snapshots.take}
      label={w.actions.snapshot}
      isDanger={false}
      busy={take.isPending}
      onClose={onClose}
      onConfirm={() => take.mutate(title.trim() === "" ? {} : { name: title.trim() })}
    >
      <p className="soft">{w.snapshots.takeText}</p>
      <TextField
        label={w.snapshots.name}
        hint={w.snapshots.nameHint}
        value={title}
        autoComplete="off"
        maxLength={100}
        problem={take.error === null ? undefined : sentenceOf(take.error)}
        onChange={(event) => setTitle(event.target.value)}
      />
    </Confirm>
  );
}

/** Shows what ends in the sandbox whose files are replaced, which may not exist now. */
export function RestoreDialog({
  profile,
  snapshot,
  onClose,
}: Omit<SandboxDialogProps, "name"> & { readonly snapshot: Snapshot }) {
  const api = useApi();
  const { task } = snapshot;
  const rows = useQuery(sandboxesQuery(api, profile)).data?.rows ?? [];
  const target: SandboxRow | undefined = rows.find((row) => row.isOurs && row.task === task);
  const shown = useQuery({
    ...sandboxQuery(api, profile, target?.name ?? ""),
    enabled: target !== undefined,
  });
  const restore = useSandboxAction({
    profile,
    path: `${snapshotPath(profile, snapshot.id)}/restore`,
    done: ({ name }) => w.snapshots.restored(name),
    onDone: onClose,
  });
  const uses = shown.data?.uses;
  return (
    <Confirm
      title={w.snapshots.restoreTitle(snapshot.name ?? snapshot.id)}
      label={w.snapshots.restore}
      isDanger
      busy={restore.isPending}
      disabled={target !== undefined && uses === undefined}
      onClose={onClose}
      onConfirm={() => restore.mutate({ task, ends: (uses ?? []).map(({ id }) => id) })}
    >
      <p className="soft">{w.snapshots.restoreText(task)}</p>
      {uses !== undefined && <Uses uses={uses} />}
    </Confirm>
  );
}

export function StartJobDialog({ profile, name, onClose }: SandboxDialogProps) {
  const [command, setCommand] = useState("");
  const [terminal, setTerminal] = useState(false);
  const start = useSandboxAction({
    profile,
    path: `${sandboxPath(profile, name)}/jobs`,
    done: (answer) => w.jobList.started(answer.name),
    onDone: onClose,
  });
  return (
    <Confirm
      title={w.jobList.start}
      label={w.jobList.start}
      isDanger={false}
      busy={start.isPending}
      disabled={command.trim() === ""}
      onClose={onClose}
      onConfirm={() => command.trim() !== "" && start.mutate({ command, terminal })}
    >
      <TextField
        label={w.jobList.command}
        value={command}
        autoComplete="off"
        spellCheck={false}
        problem={start.error === null ? undefined : sentenceOf(start.error)}
        onChange={(event) => setCommand(event.target.value)}
      />
      <label className={styles.check}>
        <input type="checkbox" checked={terminal} onChange={(event) => setTerminal(event.target.checked)} />
        {w.jobList.terminal}
      </label>
    </Confirm>
  );
}

export function KillDialog({
  profile,
  name,
  job,
  onClose,
}: SandboxDialogProps & { readonly job: { readonly id: string; readonly command: string } }) {
  const kill = useSandboxAction({
    profile,
    path: `${sandboxPath(profile, name)}/jobs/${encodeURIComponent(job.id)}/kill`,
    done: () => w.jobList.killed,
    onDone: onClose,
  });
  return (
    <Confirm
      title={w.jobList.killTitle(job.id)}
      label={w.jobList.kill}
      isDanger
      busy={kill.isPending}
      onClose={onClose}
      onConfirm={() => kill.mutate({})}
    >
      <p className="soft">{w.jobList.killText}</p>
      <p className="mono">{job.command}</p>
    </Confirm>
  );
}
