import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Command } from "commander";
import { attachFile, removeAttachment, requireSize } from "../../../board/attachments/attachment-files.ts";
import type { Attachment } from "../../../board/task.ts";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { formatTime as moment } from "../../../lib/format-time.ts";
import { withExamples } from "../../define-command.ts";
import { showBytes } from "../../show-bytes.ts";
import { renderTable } from "../../table.ts";
import { attachmentPlace } from "./attachment-place.ts";
import { tellTask } from "./change-tasks.ts";
import { atBoard, type Desk, type JsonOption, withTasks } from "./desk.ts";
import { shownName } from "./event-line.ts";
import { parseCount } from "./parse.ts";

interface AttachOptions extends JsonOption {
  readonly name?: string;
  readonly contentType?: string;
}

/** The verbs about files that are kept with a task. */
export function addAttachments(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("attach", "Keep a copy of a file with a task.")
      .argument("<task>")
      .argument("<file>")
      .option("--name <name>", "call it so (default: as the file is called)")
      .option("--content-type <type>", "what is in it, such as image/png")
      .action((id: string, file: string, options: AttachOptions) => attach(desk, id, file, options)),
    ["hermes kanban attach 12 ./screenshot.png --content-type image/png"],
  );
  withExamples(
    add("attachments", "List the files of a task.")
      .argument("<task>")
      .action((id: string, options: JsonOption) => listAttachments(desk, id, options)),
    ["hermes kanban attachments 12"],
  );
  withExamples(
    add("attach-rm", "Take a file away from a task.")
      .argument("<task>")
      .argument("<number>", "as `attachments` shows it", parseCount)
      .action((id: string, number: number, options: JsonOption) => detach(desk, id, number, options)),
    ["hermes kanban attach-rm 12 3"],
  );
}

async function attach(
  desk: Desk,
  text: string,
  path: string,
  { name = basename(path), contentType, ...options }: AttachOptions,
): Promise<void> {
  const bytes = await readSmall(path);
  await atBoard(desk, (open) =>
    withTasks(open, [text], async (id) => {
      const { client, store, signal } = open;
      // Before its file is kept: a task that is not there must not leave a folder behind.
      await store.show(id, signal);
      const file = { name, bytes, contentType };
      const attachment = await attachFile({ client, place: attachmentPlace(open) }, id, file, signal);
      const { task } = await store.show(id, signal);
      const said = `Attached ${attachment.filename} (${showBytes(attachment.size)}) to ${shownName(task)}.`;
      tellTask(open, { ...task, attachment }, said, options);
    }),
  );
}

/** Looked at before it is read: what is too large need not be in memory first. */
async function readSmall(path: string): Promise<Uint8Array> {
  try {
    const facts = await stat(path);
    if (!facts.isFile())
      throw new AppError("file-unreadable", `Cannot read ${path}: it is not a regular file.`);
    requireSize(path, facts.size);
    return await readFile(path);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i.test(path);
    throw new AppError(
      "file-unreadable",
      isAddress ? `${path} is an address, not a file.` : `Cannot read ${path}: ${messageOf(error)}`,
      {
        cause: error,
        ...(isAddress && {
          hint: "Fetch the file first (`curl -LO ADDRESS`) and attach that, or put the address into a comment.",
        }),
      },
    );
  }
}

async function listAttachments(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { terminal } = open.context;
    const { task, attachments } = await withTasks(open, [text], (id) => open.store.show(id, open.signal));
    if (json) return terminal.printJson(attachments);
    if (attachments.length === 0) return terminal.print(`${shownName(task)} has no files.`);
    const header = ["NUMBER", "NAME", "SIZE", "BY", "SINCE", "WHERE"];
    terminal.print(renderTable(header, attachments.map(cellsOf), terminal));
  });
}

function cellsOf({
  id,
  filename,
  size,
  uploaded_by,
  created_at,
  stored_path,
  content_key,
}: Attachment): readonly string[] {
  const where = content_key === null ? stored_path : "in the database";
  return [String(id), filename, showBytes(size), uploaded_by, moment(created_at), where];
}

async function detach(desk: Desk, text: string, number: number, options: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { client, store, signal } = open;
    const { task, attachments } = await withTasks(open, [text], (id) => store.show(id, signal));
    const { id } = task;
    const isOurs = attachments.some((attachment) => attachment.id === number);
    if (!isOurs || !(await removeAttachment({ client, place: attachmentPlace(open) }, number, signal))) {
      throw new AppError("attachment-missing", `${id} has no file ${number}.`, {
        hint: `See \`hermes kanban attachments ${id}\`.`,
      });
    }
    tellTask(
      open,
      { ...task, removed: number },
      `Took file ${number} away from ${shownName(task)}.`,
      options,
    );
  });
}
