import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { attachmentFolders } from "../../../../app/board.ts";
import { attachFile, removeAttachment, requireSize } from "../../../../board/attachments/attachment-files.ts";
import type { Attachment } from "../../../../board/task.ts";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import type { AddVerb } from "../../../define-command.ts";
import { parseCount } from "../../../parse-option.ts";
import { cutText, textWidth } from "../../../terminal/fit-text.ts";
import { formatBytes } from "../../../terminal/format-bytes.ts";
import { renderTable } from "../../../terminal/table.ts";
import type { Terminal } from "../../../terminal/terminal.ts";
import {
  type JsonOption,
  type KanbanContext,
  type OpenBoardContext,
  showTask,
  withTasks,
} from "../kanban-context.ts";
import { onBoard, reportTask } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";

interface AttachOptions extends JsonOption {
  readonly name?: string;
  readonly contentType?: string;
}

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("attach", "Attach a copy of a file to a task.", [
    "hermes kanban attach 12 ./screenshot.png --content-type image/png",
  ])
    .argument("<task>")
    .argument("<file>")
    .option("--name <name>", "name of the attachment (default: the file's name)")
    .option("--content-type <type>", "media type, such as image/png")
    .action(onBoard(kanbanContext, attach));
  add("attachments", "List the files of a task.", ["hermes kanban attachments 12"])
    .argument("<task>")
    .action(onBoard(kanbanContext, listAttachments));
  add("attach-rm", "Remove a file from a task.", ["hermes kanban attach-rm 12 3"])
    .argument("<task>")
    .argument("<number>", "attachment number, as shown by `attachments`", parseCount)
    .action(onBoard(kanbanContext, detach));
}

async function attach(
  open: OpenBoardContext,
  text: string,
  path: string,
  { name = basename(path), contentType, ...options }: AttachOptions,
): Promise<void> {
  const { client, store, signal } = open;
  const bytes = await readSmall(path);
  await withTasks(open, [text], async (id) => {
    // Checked before the file is stored: a missing task must not leave a folder behind.
    await store.show(id, signal);
    const file = { name, bytes, contentType };
    const attachment = await attachFile({ client, folders: attachmentFolders(open) }, id, file, signal);
    const { task } = await store.show(id, signal);
    const sentence = `Attached ${attachment.filename} (${formatBytes(attachment.size)}) to ${escapedName(task)}.`;
    reportTask(open, { ...task, attachment }, sentence, options);
  });
}

/** Checks the size before reading, so that a file that is too large is not loaded into memory. */
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
      isAddress ? `${path} is a URL, not a file.` : `Cannot read ${path}: ${messageOf(error)}`,
      {
        cause: error,
        ...(isAddress && {
          hint: "Download the file first (`curl -LO URL`) and attach it, or put the URL into a comment.",
        }),
      },
    );
  }
}

async function listAttachments(open: OpenBoardContext, text: string, { json }: JsonOption): Promise<void> {
  const { terminal } = open.context;
  const { task, attachments } = await showTask(open, text);
  if (json) return terminal.printJson(attachments);
  if (attachments.length === 0) return terminal.print(`${escapedName(task)} has no files.`);
  const header = ["NUMBER", "NAME", "SIZE", "BY", "SINCE", "WHERE"];
  const rows = attachments.map(cellsOf);
  terminal.print(
    renderTable(
      header,
      rows.map((row) => withNameCut(row, terminal)),
      terminal,
    ),
  );
}

const NAME_COLUMN = 1;
const GAP = 2;
const SHORTEST_NAME = 20;

/** Cuts the name so that the row without the path fits the terminal. */
function withNameCut(row: readonly string[], { columns }: Terminal): readonly string[] {
  if (columns === undefined) return row;
  const others = row.slice(0, -1).filter((_, column) => column !== NAME_COLUMN);
  const taken = others.reduce((sum, cell) => sum + textWidth(cell) + GAP, 0);
  return row.with(NAME_COLUMN, cutText(row[NAME_COLUMN] ?? "", Math.max(SHORTEST_NAME, columns - taken)));
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
  return [String(id), filename, formatBytes(size), uploaded_by, formatTime(created_at), where];
}

async function detach(
  open: OpenBoardContext,
  text: string,
  number: number,
  options: JsonOption,
): Promise<void> {
  const { client, signal } = open;
  const { task, attachments } = await showTask(open, text);
  const { id } = task;
  const isOurs = attachments.some((attachment) => attachment.id === number);
  if (!isOurs || !(await removeAttachment({ client, folders: attachmentFolders(open) }, number, signal))) {
    throw new AppError("attachment-missing", `${id} has no file ${number}.`, {
      hint: `See \`hermes kanban attachments ${id}\`.`,
    });
  }
  reportTask(
    open,
    { ...task, removed: number },
    `Removed file ${number} from ${escapedName(task)}.`,
    options,
  );
}
