import { writeFileSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import {
  attachmentFolders,
  boardsLocation,
  openAppBoard,
  sharedAttachmentLimit,
} from "../../../../app/board.ts";
import { DEFAULT_BOARD, parseBoardSlug } from "../../../../board/board-slug.ts";
import type { BoardStore } from "../../../../board/board-store.ts";
import { switchBoard } from "../../../../board/registry/current-board.ts";
import { type StagedBoard, withStagedBoard } from "../../../../board/registry/stage-board.ts";
import { boardFolders } from "../../../../board/workspaces/board-folders.ts";
import { AppError, errnoOf, messageOf } from "../../../../lib/errors.ts";
import { withFileLock } from "../../../../lib/files/file-lock.ts";
import type { AddVerb } from "../../../define-command.ts";
import { byPerson } from "../../../require-person.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, userNameOf } from "../kanban-context.ts";
import { onBoard } from "../verb.ts";
import { readLines } from "./read-lines.ts";
import { LineBuffer, SpooledLines } from "./spooled-lines.ts";
import { fileLines, ImportedFiles, isFileLine, withPathsIn } from "./transfer-files.ts";

interface ExportOptions extends JsonOption {
  readonly output?: string;
  readonly portable?: boolean;
  readonly files: boolean;
}

interface ImportOptions extends JsonOption {
  readonly as?: string;
  readonly switch?: boolean;
}

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("export", "Export the board as JSON lines, with its attachments.", [
    "hermes kanban export > board.jsonl",
    "hermes kanban --board ops export -o ops.jsonl",
  ])
    .option("-o, --output <file>", "write to a new file instead of standard output")
    .option("--portable", "omit claims, processes, subscriptions and paths of this host")
    .option("--no-files", "omit the content of attachments")
    .action(onBoard(kanbanContext, exportBoard));
  add("import", "Create a board from an export, in one transaction.", [
    "hermes kanban import board.jsonl --as copy",
    "hermes kanban import - --as default < board.jsonl",
  ])
    .argument("<file>", "export file (use - for standard input)")
    .option("--as <slug>", "slug of the new board (default: the exported slug, or a similar free one)")
    .option("--switch", "make it the current board")
    .action(
      byPerson(kanbanContext.context, (file: string, options: ImportOptions) =>
        importBoard(kanbanContext, file, options),
      ),
    );
}

async function exportBoard(
  open: OpenBoardContext,
  { output, json, ...options }: ExportOptions,
): Promise<void> {
  const { store, context, signal } = open;
  const { terminal } = context;
  if (output === undefined) {
    const printed = new LineBuffer((text) => terminal.write(text));
    await exportLines(open, options, printed, () => terminal.waitForReader(signal));
    return;
  }
  const rows = await writeNew(output, (file) => exportLines(open, options, file, setImmediate));
  if (json) context.terminal.printJson({ slug: store.slug, path: output, rows });
  else context.terminal.note(`Wrote ${rows} rows of the board ${store.slug} to ${output}.`);
}

async function exportLines(
  open: OpenBoardContext,
  { portable = false, files }: Pick<ExportOptions, "portable" | "files">,
  lines: LineBuffer,
  betweenPages: () => Promise<void>,
): Promise<number> {
  const { store, signal, context } = open;
  let rows = -2; // the first line is the board itself, and the last one completes the export
  // The last line of the store completes the export, so it is held back until the files are written.
  let held: string | undefined;
  const addRow = (line: string): void => {
    if (held !== undefined) lines.add(held);
    held = line;
    rows += 1;
  };
  await store.export({ portable, betweenPages }, addRow, signal);
  if (files) {
    const source = { store, folders: attachmentFolders(open) };
    const warn = ({ message }: AppError): void =>
      context.terminal.note(`hermes: warning: ${message} The export does not contain it.`);
    for await (const line of fileLines(source, warn, signal)) {
      lines.add(line);
      await betweenPages();
    }
  }
  if (held !== undefined) lines.add(held);
  lines.flush();
  return rows;
}

/** Writes lines to a new file and removes it again on failure. Returns the result of `produce`. */
async function writeNew(path: string, produce: (lines: LineBuffer) => Promise<number>): Promise<number> {
  try {
    await using file = await open(path, "wx", 0o600);
    try {
      return await produce(new LineBuffer((text) => writeFileSync(file.fd, text)));
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  } catch (error) {
    if (error instanceof AppError || errnoOf(error) === undefined) throw error;
    if (errnoOf(error) === "EEXIST")
      throw new AppError("file-unwritable", `${path} already exists.`, {
        cause: error,
        hint: "Choose another file, or remove this one first.",
      });
    throw new AppError("file-unwritable", `${path}: ${messageOf(error)}.`, { cause: error });
  }
}

async function importBoard(
  kanbanContext: KanbanContext,
  file: string,
  options: ImportOptions,
): Promise<void> {
  const { context, start } = kanbanContext;
  const { signal, terminal } = context;
  const app = await start();
  const location = boardsLocation(app);
  const limitBytes = sharedAttachmentLimit(app);
  const isDefault = options.as !== undefined && parseBoardSlug(options.as) === DEFAULT_BOARD;
  const caller = { kind: "operator", name: userNameOf(context) } as const;
  const openDefault = () => openAppBoard(app, { slug: DEFAULT_BOARD, operator: caller.name }, signal);
  const importStaged = async (staged: StagedBoard): Promise<void> => {
    const inPlace = boardFolders(location.root, DEFAULT_BOARD).attachments;
    await using files =
      isDefault && limitBytes === undefined
        ? new ImportedFiles(inPlace, { replace: true })
        : new ImportedFiles(join(staged.folder, "attachments"));
    const rows = new SpooledLines(join(staged.scratch, "rows"));
    const proposed = await receive(readLines(file, terminal, signal), rows, files);
    const damaged = await files.finish();
    let made = { name: "", rows: 0 };
    const fill = async (slug: string, store: BoardStore): Promise<void> => {
      const lines = withPathsIn(boardFolders(location.root, slug).attachments, rows);
      const content = limitBytes === undefined ? undefined : { limitBytes, read: files.read };
      const count = await store.import(caller, { lines, content }, signal);
      made = { name: (await store.board(signal)).name, rows: count };
    };
    const slug = isDefault ? DEFAULT_BOARD : await publish(staged, options.as, proposed, fill);
    if (isDefault) {
      await using board = await openDefault();
      await fill(slug, board.store);
    }
    if (limitBytes === undefined) files.keep();
    if (options.switch) await switchBoard(location.root, slug);
    for (const message of damaged)
      terminal.note(`hermes: warning: ${message} The export does not contain it.`);
    if (options.json) terminal.printJson({ slug, ...made, damaged });
    else terminal.note(`Imported ${made.rows} rows into the board ${slug}.`);
  };
  /** The files of the default board are written in place. While it is empty, they are remains of a killed import. */
  const importIntoDefault = (staged: StagedBoard): Promise<void> => {
    const importWhenEmpty = async (): Promise<void> => {
      {
        await using board = await openDefault();
        await board.store.requireEmpty(signal);
      }
      await importStaged(staged);
    };
    return withFileLock(join(location.root, "kanban", "import.lock"), importWhenEmpty, signal);
  };
  await withStagedBoard(location, isDefault ? importIntoDefault : importStaged, signal);
}

/** Spools the rows and writes the files. Returns the slug of the exported board. */
async function receive(
  lines: AsyncIterable<string>,
  rows: SpooledLines,
  files: ImportedFiles,
): Promise<string> {
  let proposed: string | undefined;
  for await (const line of lines) {
    if (isFileLine(line)) await files.add(line);
    else {
      proposed ??= slugIn(line) ?? "imported";
      files.expect(line);
      rows.add(line);
    }
  }
  rows.finish();
  return proposed ?? "imported";
}

/** Publishes the board under the named slug, or under the first free slug like the exported one. */
async function publish(
  staged: StagedBoard,
  named: string | undefined,
  proposed: string,
  fill: (slug: string, store: BoardStore) => Promise<void>,
): Promise<string> {
  const publishAs = (slug: string) => staged.publish(slug, (store) => fill(slug, store));
  if (named !== undefined) {
    const slug = parseBoardSlug(named);
    if (await publishAs(slug)) return slug;
    throw new AppError("board-not-empty", `The board ${slug} already exists.`, {
      hint: "Choose another slug with --as.",
    });
  }
  if (proposed !== DEFAULT_BOARD && (await publishAs(proposed))) return proposed;
  for (let number = 2; ; number++) {
    const slug = `${proposed.slice(0, 58)}-${number}`;
    if (await publishAs(slug)) return slug;
  }
}

/** The slug in the first line of an export; the store validates the rest. */
function slugIn(line = ""): string | undefined {
  try {
    const { board } = JSON.parse(line) as { board?: { slug?: unknown } };
    return typeof board?.slug === "string" ? parseBoardSlug(board.slug) : undefined;
  } catch {
    return undefined;
  }
}
