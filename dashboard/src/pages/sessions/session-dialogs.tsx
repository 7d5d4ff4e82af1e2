import { useState } from "react";
import type { Session } from "../../../../src/api/contract/sessions.ts";
import { Button } from "../../components/controls/button.tsx";
import { TextField } from "../../components/controls/field.tsx";
import { Dialog } from "../../components/layout/dialog.tsx";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { useSessionChanges } from "./use-session-changes.ts";

const w = words.sessions.actions;

interface SessionDialogProps {
  readonly session: Session;
  onClose(): void;
}

export function RenameDialog({ session, onClose }: SessionDialogProps) {
  const [title, setTitle] = useState(session.title ?? "");
  const { rename } = useSessionChanges(session);
  return (
    <Dialog
      title={w.renameTitle}
      onClose={onClose}
      onSubmit={() => rename.mutate(title.trim(), { onSuccess: onClose })}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind="main" type="submit" busy={rename.isPending} disabled={title.trim() === ""}>
            {w.save}
          </Button>
        </>
      }
    >
      <TextField
        label={w.titleField}
        value={title}
        autoComplete="off"
        maxLength={200}
        problem={rename.error === null ? undefined : sentenceOf(rename.error)}
        onChange={(event) => setTitle(event.target.value)}
      />
    </Dialog>
  );
}

export function RemoveDialog({ session, onClose }: SessionDialogProps) {
  const { remove } = useSessionChanges(session);
  return (
    <Dialog
      title={w.removeTitle}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button
            kind="danger"
            busy={remove.isPending}
            onClick={() => remove.mutate(undefined, { onSettled: onClose })}
          >
            {w.removeNow}
          </Button>
        </>
      }
    >
      <p className="soft">{w.removeText}</p>
    </Dialog>
  );
}
