import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { type App, boardsPlace, openAppBoard } from "../../../app.ts";
import { DEFAULT_BOARD, parseBoardSlug } from "../../../board/board-slug.ts";
import { switchBoard } from "../../../board/current-board.ts";
import { dropReserved, reserveBoard } from "../../../board/reserve-board.ts";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { atBoard, type Desk, type JsonOption, personOf } from "./desk.ts";
import { readText } from "./parse.ts";

interface ExportOptions extends JsonOption {
  readonly output?: string;
  readonly portable?: boolean;
}

interface ImportOptions extends JsonOption {
  readonly as?: string;
  readonly switch?: boolean;
}

/** The verbs that carry a whole board somewhere else. */
export function addTransfer(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("export", "Print the whole board as lines of JSON; files of tasks are not in it.")
      .option("-o, --output <file>", "write to this new file instead")
      .option("--portable", "for others: without claims, processes, subscriptions and paths of this host")
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

async function exportBoard(desk: Desk, { output, portable, json }: ExportOptions): Promise<void> {
  await atBoard(desk, async ({ store, signal, context: { terminal } }) => {
    const lines = await (portable ? store.exportPortable(signal) : store.export(signal));
    if (output === undefined) return terminal.print(lines.join("\n"));
    try {
      await writeFile(output, `${lines.join("\n")}\n`, { flag: "wx", mode: 0o600 });
    } catch (error) {
      const why = errnoOf(error) === "EEXIST" ? "it exists already" : messageOf(error);
      throw new AppError("file-unwritable", `${output}: ${why}.`, { cause: error });
    }
    const rows = lines.length - 1;
    if (json) terminal.printJson({ slug: store.slug, path: output, rows });
    else terminal.note(`Wrote ${rows} rows of the board ${store.slug} to ${output}.`);
  });
}

async function importBoard({ context, start }: Desk, file: string, options: ImportOptions): Promise<void> {
  const { signal, terminal } = context;
  const lines = (await readText(file)).split("\n").filter((line) => line.trim() !== "");
  const app = await start();
  const names = { named: options.as, proposed: slugIn(lines[0]) ?? "imported" };
  const slug = await reserve(app, names, signal);
  try {
    const operator = personOf(context);
    await using board = await openAppBoard(app, { slug, operator, create: true }, signal);
    const rows = await board.store.import({ kind: "operator", name: operator }, lines, signal);
    if (options.switch) await switchBoard(boardsPlace(app).root, slug);
    const { name } = await board.store.board(signal);
    if (options.json) terminal.printJson({ slug, name, rows });
    else terminal.note(`Imported ${rows} rows into the board ${slug}.`);
  } catch (error) {
    if (slug !== DEFAULT_BOARD) await dropReserved(boardsPlace(app), slug);
    throw error;
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
