import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { ShownTask, TaskFile } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { Dialog } from "../../../components/layout/dialog.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { size } from "../../../words/format.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { taskPath } from "../board-queries.ts";
import { plainLine } from "../model/log-buffer.ts";
import styles from "./files.module.css";
import { TaskSection } from "./task-section.tsx";

const { task: text } = words;
/** The server's limit; larger files are refused before they are sent. */
const MAX_BYTES = 25 * 1024 * 1024;

/** The files of a task: a link downloads one, a button or a drop attaches one. */
export function Files({ shown: { task, files } }: { readonly shown: ShownTask }) {
  const { slug, mayWork } = useBoard();
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const input = useRef<HTMLInputElement>(null);
  const [uploading, setUploading] = useState<string>();
  const [removing, setRemoving] = useState<TaskFile>();
  const [isOver, setOver] = useState(false);
  const path = `${taskPath(slug, task.id)}/files`;
  const mayChange = mayWork && task.status !== "archived";

  async function attach(list: Iterable<File>): Promise<void> {
    for (const file of list) {
      if (file.size > MAX_BYTES) {
        toasts.refuse(text.tooLarge(file.name, size(MAX_BYTES)));
        continue;
      }
      setUploading(file.name);
      try {
        await api.send("POST", `${path}?name=${encodeURIComponent(file.name)}`, undefined, { file });
      } catch (error) {
        toasts.refuse(sentenceOf(error));
      }
    }
    setUploading(undefined);
    await queries.invalidateQueries({ queryKey: ["task", slug, task.id] });
  }

  async function remove(file: TaskFile): Promise<void> {
    setRemoving(undefined);
    try {
      await api.send("DELETE", `${path}/${file.id}`);
      await queries.invalidateQueries({ queryKey: ["task", slug, task.id] });
    } catch (error) {
      toasts.refuse(sentenceOf(error));
    }
  }

  if (files.length === 0 && !mayChange) return null;
  return (
    <TaskSection
      title={text.files}
      fact={files.length > 0 ? String(files.length) : undefined}
      action={
        mayChange && (
          <Button
            small
            kind="quiet"
            icon="plus"
            className={styles.add}
            busy={uploading !== undefined}
            onClick={() => input.current?.click()}
          >
            {text.addFile}
          </Button>
        )
      }
    >
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={text.addFile}
        onChange={(event) => {
          void attach([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button beside it does the same */}
      <div
        className={styles.drop}
        data-over={isOver || undefined}
        onDragOver={(event) => {
          if (!mayChange || !event.dataTransfer.types.includes("Files")) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void attach([...event.dataTransfer.files]);
        }}
      >
        <ul className={styles.files}>
          {files.map((file) => (
            <li key={file.id}>
              <Icon name="file" />
              <a
                href={api.url(`${path}/${file.id}`).href}
                download={file.name}
                className="clip"
                title={file.name}
              >
                {plainLine(file.name)}
              </a>
              <span className="faint">{size(file.size)}</span>
              {mayChange && (
                <Button
                  kind="quiet"
                  small
                  icon="close"
                  aria-label={text.removeFile(file.name)}
                  onClick={() => setRemoving(file)}
                />
              )}
            </li>
          ))}
        </ul>
        {uploading !== undefined && <p className="faint">{text.uploading(uploading)}</p>}
        {files.length === 0 && uploading === undefined && <p className="faint">{text.dropFile}</p>}
      </div>
      {removing !== undefined && (
        <Dialog
          title={text.removeFileTitle(removing.name)}
          onClose={() => setRemoving(undefined)}
          onSubmit={() => void remove(removing)}
          actions={
            <>
              <Button onClick={() => setRemoving(undefined)}>{words.shell.cancel}</Button>
              <Button type="submit" kind="danger">
                {text.remove}
              </Button>
            </>
          }
        >
          <p className="soft">{text.removeFileText}</p>
        </Dialog>
      )}
    </TaskSection>
  );
}
