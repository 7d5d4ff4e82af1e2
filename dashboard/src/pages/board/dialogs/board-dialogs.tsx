import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { BoardAnswer } from "../../../../../src/api/contract/boards.ts";
import { Button } from "../../../components/controls/button.tsx";
import { TextField } from "../../../components/controls/field.tsx";
import { Dialog } from "../../../components/layout/dialog.tsx";
import { Note } from "../../../components/layout/note.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import type { RefusedTask } from "../actions/board-actions.ts";
import styles from "./dialogs.module.css";

const { boardDialog: text } = words.board;

export type BoardDialogKind = "new" | "rename" | "archive";

interface BoardDialogProps {
  readonly kind: BoardDialogKind;
  readonly slug: string;
  readonly name: string;
  onClose(): void;
  /** Goes to a board; without a name, to the first one. */
  onGo(slug: string | undefined): void;
}

/** Creates, renames or archives a board. */
export function BoardDialog({ kind, slug, name, onClose, onGo }: BoardDialogProps) {
  const api = useApi();
  const queries = useQueryClient();
  const [newSlug, setSlug] = useState("");
  const [newName, setName] = useState(kind === "rename" ? name : "");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const path = `boards/${encodeURIComponent(slug)}`;

  async function submit(): Promise<void> {
    setBusy(true);
    setProblem(undefined);
    try {
      if (kind === "archive") {
        await api.send("DELETE", path);
        onGo(undefined);
      } else if (kind === "rename") await api.send<BoardAnswer>("PATCH", path, { name: newName.trim() });
      else {
        const body = { slug: newSlug.trim(), ...(newName.trim() !== "" && { name: newName.trim() }) };
        const board = await api.send<BoardAnswer>("POST", "boards", body);
        onGo(board.slug);
      }
      await queries.invalidateQueries({ queryKey: ["boards"] });
      onClose();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  }

  const titles = { new: text.newTitle, rename: text.renameTitle, archive: text.archiveTitle(name) };
  const buttons = { new: text.create, rename: text.save, archive: words.board.archive };
  return (
    <Dialog
      title={titles[kind]}
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>{words.shell.cancel}</Button>
          <Button type="submit" kind={kind === "archive" ? "danger" : "main"} busy={isBusy}>
            {buttons[kind]}
          </Button>
        </>
      }
    >
      {kind === "archive" && <p className="soft">{text.archiveText}</p>}
      {kind === "new" && (
        <TextField
          label={text.slug}
          hint={text.slugHint}
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={newSlug}
          onChange={(event) => setSlug(event.target.value)}
        />
      )}
      {kind !== "archive" && (
        <TextField
          label={text.name}
          autoFocus={kind === "rename"}
          value={newName}
          onChange={(event) => setName(event.target.value)}
        />
      )}
      {problem !== undefined && (
        <div role="alert">
          <Note bad>{problem}</Note>
        </div>
      )}
    </Dialog>
  );
}

/** The refused tasks of a bulk change, each with the reason. */
export function RefusedTasks({
  tasks,
  onClose,
}: {
  readonly tasks: readonly RefusedTask[];
  onClose(): void;
}) {
  return (
    <Dialog
      title={words.board.refusedList}
      onClose={onClose}
      onSubmit={onClose}
      actions={
        <Button type="submit" kind="main">
          {words.shell.close}
        </Button>
      }
    >
      <ul className={styles.refused}>
        {tasks.map(({ id, title, why }) => (
          <li key={id}>
            <span>{title}</span>
            <small>{why}</small>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
