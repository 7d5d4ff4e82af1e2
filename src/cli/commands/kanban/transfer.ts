import { writeFileSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Command } from "commander";
import { boardsPlace, openAppBoard, sharedAttachmentLimit } from "../../../app.ts";
import { DEFAULT_BOARD, parseBoardSlug } from "../../../board/board-slug.ts";
import type { BoardStore } from "../../../board/board-store.ts";
import { switchBoard } from "../../../board/current-board.ts";
import { type StagedBoard, withStagedBoard } from "../../../board/stage-board.ts";
import { boardFolders } from "../../../board/workspaces/board-folders.ts";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { requirePerson } from "../../require-person.ts";
import { attachmentPlace } from "./attachment-place.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, personOf } from "./desk.ts";
import { readLines } from "./read-lines.ts";
import { SpooledLines } from "./spooled-lines.ts";
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
    const { store, context, signal } = open;
    const { terminal } = context;
    if (output === undefined) {
      const printed = new Gathered((text) => terminal.write(text));
      return exportLines(open, options, printed, () => terminal.drained(signal));
    }
    const rows = await writeNew(output, (file) => exportLines(open, options, file, setImmediate));
    if (json) context.terminal.printJson({ slug: store.slug, path: output, rows });
    else context.terminal.note(`Wrote ${rows} rows of the board ${store.slug} to ${output}.`);
  });
}

const PIECE = 64 * 1024;

/** Lines, which are written in larger pieces. */
class Gathered {
  rows = -1; // the first line is the board itself
  readonly #write: (text: string) => void;
  #text = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: string): void {
    this.#text += `${line}\n`;
    if (!isFileLine(line)) this.rows += 1;
    if (this.#text.length >= PIECE) this.flush();
  }

  flush(): void {
    this.#write(this.#text);
    this.#text = "";
  }
}

async function exportLines(
  open: OpenDesk,
  { portable = false, files }: Pick<ExportOptions, "portable" | "files">,
  lines: Gathered,
  drained: () => Promise<void>,
): Promise<void> {
  const { store, signal, context } = open;
  await store.export({ portable, drained }, (line) => lines.add(line), signal);
  if (files) {
    const source = { store, place: attachmentPlace(open) };
    const tell = ({ message }: AppError): void =>
      context.terminal.note(`hermes: warning: ${message} It is left out.`);
    for await (const line of fileLines(source, tell, signal)) {
      lines.add(line);
      await drained();
    }
  }
  lines.flush();
}

/** Writes lines to a new file, whole or not at all; says how many of them were rows. */
async function writeNew(path: string, produce: (lines: Gathered) => Promise<void>): Promise<number> {
  try {
    await using file = await open(path, "wx", 0o600);
    const lines = new Gathered((text) => writeFileSync(file.fd, text));
    try {
      await produce(lines);
      return lines.rows;
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
  const app = await start();
  const place = boardsPlace(app);
  const limitBytes = sharedAttachmentLimit(app);
  const isDefault = options.as !== undefined && parseBoardSlug(options.as) === DEFAULT_BOARD;
  await withStagedBoard(
    place,
    async (staged) => {
      const inPlace = boardFolders(place.root, DEFAULT_BOARD).attachments;
      const folder = isDefault && limitBytes === undefined ? inPlace : join(staged.folder, "attachments");
      await using files = new ImportedFiles(folder);
      const rows = new SpooledLines(join(staged.scratch, "rows"));
      const proposed = await receive(readLines(file, terminal, signal), rows, files);
      const damaged = await files.finish();
      const caller = { kind: "operator", name: personOf(context) } as const;
      let made = { name: "", rows: 0 };
      const fill = async (slug: string, store: BoardStore): Promise<void> => {
        const lines = withPathsIn(boardFolders(place.root, slug).attachments, rows);
        const content = limitBytes === undefined ? undefined : { limitBytes, read: files.read };
        const count = await store.import(caller, { lines, content }, signal);
        made = { name: (await store.board(signal)).name, rows: count };
      };
      const slug = isDefault ? DEFAULT_BOARD : await publish(staged, options.as, proposed, fill);
      if (isDefault) {
        await using board = await openAppBoard(app, { slug, operator: caller.name }, signal);
        await fill(slug, board.store);
      }
      if (limitBytes === undefined) files.keep();
      if (options.switch) await switchBoard(place.root, slug);
      for (const message of damaged) terminal.note(`hermes: warning: ${message} The export came without it.`);
      if (options.json) terminal.printJson({ slug, ...made, damaged });
      else terminal.note(`Imported ${made.rows} rows into the board ${slug}.`);
    },
    signal,
  );
}

/** Keeps the rows for later and the files where they belong; says which slug the export had. */
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

/** Gives a new board the slug that was named, or the first free one like the one it had. */
async function publish(
  staged: StagedBoard,
  named: string | undefined,
  proposed: string,
  fill: (slug: string, store: BoardStore) => Promise<void>,
): Promise<string> {
  const take = (slug: string) => staged.publish(slug, (store) => fill(slug, store));
  if (named !== undefined) {
    const slug = parseBoardSlug(named);
    if (await take(slug)) return slug;
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

/** The slug in the first line of an export; whether the rest is one, the store finds out. */
function slugIn(line = ""): string | undefined {
  try {
    const { board } = JSON.parse(line) as { board?: { slug?: unknown } };
    return typeof board?.slug === "string" ? parseBoardSlug(board.slug) : undefined;
  } catch {
    return undefined;
  }
}
