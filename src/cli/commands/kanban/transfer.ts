import { writeFileSync } from "node:fs";
import { open, readFile, rm } from "node:fs/promises";
import type { Command } from "commander";
import { type App, type AppBoard, boardsPlace, openAppBoard, sharedAttachmentLimit } from "../../../app.ts";
import { DEFAULT_BOARD, parseBoardSlug } from "../../../board/board-slug.ts";
import { switchBoard } from "../../../board/current-board.ts";
import { dropReserved, reserveBoard } from "../../../board/reserve-board.ts";
import { boardFolders } from "../../../board/workspaces/board-folders.ts";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { requirePerson } from "../../require-person.ts";
import { attachmentPlace } from "./attachment-place.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, personOf } from "./desk.ts";
import { readLines } from "./read-lines.ts";
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

/** The verbs that carry a whole board somewhere else. */
export function addTransfer(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("export", "Print the whole board as lines of JSON, with its attachments (25 MiB each at most).")
      .option("-o, --output <file>", "write to this new file instead")
      .option("--portable", "for others: without claims, processes, subscriptions and paths of this host")
      .option("--no-files", "leave the content of attachments out")
      .action((options: ExportOptions) => exportBoard(desk, options)),
    ["hermes kanban export > board.jsonl", "hermes kanban --board ops export -o ops.jsonl"],
  );
  withExamples(
    add("import", "Make a new board of an export: all of it or nothing.")
      .argument("<file>", "the file, or - for standard input")
      .option("--as <slug>", "the slug of the new board (default: that of the export, or one like it)")
      .option("--switch", "make it the board that later commands mean")
      .action((file: string, options: ImportOptions) => importBoard(desk, file, options)),
    ["hermes kanban import board.jsonl --as copy", "hermes kanban import - --as default < board.jsonl"],
  );
}

async function exportBoard(desk: Desk, { output, json, ...options }: ExportOptions): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, context } = open;
    const { terminal } = context;
    // A pipe is written to at once and makes us wait, so that what is printed does not gather in memory.
    if (output === undefined) return exportLines(open, options, (line) => terminal.print(line));
    const rows = await writeNew(output, (write) => exportLines(open, options, write));
    if (json) context.terminal.printJson({ slug: store.slug, path: output, rows });
    else context.terminal.note(`Wrote ${rows} rows of the board ${store.slug} to ${output}.`);
  });
}

async function exportLines(
  open: OpenDesk,
  { portable = false, files }: Pick<ExportOptions, "portable" | "files">,
  write: (line: string) => void,
): Promise<void> {
  const { store, signal, context } = open;
  await store.export({ portable }, write, signal);
  if (!files) return;
  const source = { store, place: attachmentPlace(open) };
  const tell = ({ message }: AppError): void =>
    context.terminal.note(`hermes: warning: ${message} It is left out.`);
  for await (const line of fileLines(source, tell, signal)) write(line);
}

/** Writes lines to a new file, whole or not at all; says how many of them were rows. */
async function writeNew(
  path: string,
  produce: (write: (line: string) => void) => Promise<void>,
): Promise<number> {
  try {
    await using file = await open(path, "wx", 0o600);
    try {
      let rows = -1; // the first line is the board itself
      // At once, because nothing can be awaited while the board is read on one snapshot.
      await produce((line) => {
        writeFileSync(file.fd, `${line}\n`);
        if (!isFileLine(line)) rows++;
      });
      return rows;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  } catch (error) {
    if (error instanceof AppError || errnoOf(error) === undefined) throw error;
    const why = errnoOf(error) === "EEXIST" ? "it exists already" : messageOf(error);
    throw new AppError("file-unwritable", `${path}: ${why}.`, { cause: error });
  }
}

async function importBoard(desk: Desk, file: string, options: ImportOptions): Promise<void> {
  requirePerson(desk);
  const { context, start } = desk;
  const { signal, terminal } = context;
  const lines = readLines(file, terminal, signal);
  const rows: string[] = [];
  let next = await lines.next();
  for (; next.done !== true && !isFileLine(next.value); next = await lines.next()) rows.push(next.value);
  const app = await start();
  const names = { named: options.as, proposed: slugIn(rows[0]) ?? "imported" };
  const slug = await reserve(app, names, signal);
  try {
    const operator = personOf(context);
    await using board = await openAppBoard(app, { slug, operator, create: true }, signal);
    const folder = boardFolders(boardsPlace(app).root, slug).attachments;
    await using files = new ImportedFiles(rows, folder);
    for (; next.done !== true; next = await lines.next()) await files.add(next.value);
    const damaged = await files.finish();
    const caller = { kind: "operator", name: operator } as const;
    const count = await board.store.import(caller, withPathsIn(folder, rows), signal);
    files.keep();
    await shareImported(app, board, signal);
    if (options.switch) await switchBoard(boardsPlace(app).root, slug);
    const { name } = await board.store.board(signal);
    for (const message of damaged) terminal.note(`hermes: warning: ${message} The export came without it.`);
    if (options.json) terminal.printJson({ slug, name, rows: count, damaged });
    else terminal.note(`Imported ${count} rows into the board ${slug}.`);
  } catch (error) {
    if (slug !== DEFAULT_BOARD) await dropReserved(boardsPlace(app), slug);
    throw error;
  }
}

/** Moves the files of an import to where every host can read them, if the board has several. */
async function shareImported(app: App, { store, client }: AppBoard, signal: AbortSignal): Promise<void> {
  const limitBytes = sharedAttachmentLimit(app);
  if (limitBytes === undefined) return;
  for (const { id, stored_path: path } of await store.attachments(signal)) {
    const bytes = await readFile(path).catch((error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
      return undefined; // an export without files has none
    });
    if (bytes === undefined) continue;
    await client.shareAttachment(id, { bytes, limitBytes }, signal);
    await rm(path);
  }
}

/** The slug in the first line of an export; whether the rest is one, the store finds out. */
function slugIn(line = ""): string | undefined {
  try {
    const { board } = JSON.parse(line) as { board?: { slug?: unknown } };
    return typeof board?.slug === "string" ? parseBoardSlug(board.slug) : undefined;
  } catch {
    return undefined;
  }
}

/** A slug that was free and is ours from now on. Only the default board may be there already. */
async function reserve(
  app: App,
  { named, proposed }: { readonly named: string | undefined; readonly proposed: string },
  signal: AbortSignal,
): Promise<string> {
  const take = (slug: string): Promise<boolean> => reserveBoard(boardsPlace(app), slug, signal);
  if (named !== undefined) {
    const slug = parseBoardSlug(named);
    if (slug === DEFAULT_BOARD || (await take(slug))) return slug;
    throw new AppError("board-not-empty", `There is already a board ${slug}.`, {
      hint: "Choose another slug with --as.",
    });
  }
  if (proposed !== DEFAULT_BOARD && (await take(proposed))) return proposed;
  for (let number = 2; ; number++) {
    const slug = `${proposed.slice(0, 58)}-${number}`;
    if (await take(slug)) return slug;
  }
}
