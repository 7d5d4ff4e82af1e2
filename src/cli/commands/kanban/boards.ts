import type { Command } from "commander";
import { boardsPlace, openAppBoard } from "../../../app.ts";
import { DEFAULT_BOARD, parseBoardSlug } from "../../../board/board-slug.ts";
import { switchBoard } from "../../../board/current-board.ts";
import { listRemovedBoards } from "../../../board/list-boards.ts";
import { removeBoard } from "../../../board/remove-board.ts";
import { dropReserved, reserveBoard } from "../../../board/reserve-board.ts";
import type { Board } from "../../../board/task.ts";
import { closest } from "../../../lib/did-you-mean.ts";
import { AppError } from "../../../lib/errors.ts";
import { defineCommand, withExamples } from "../../define-command.ts";
import { requirePerson } from "../../require-person.ts";
import { renderTable } from "../../table.ts";
import { findBoards } from "./board-folders.ts";
import { addDescriptions } from "./describe-board.ts";
import { atBoard, type Desk, type JsonOption, personOf } from "./desk.ts";
import { givenOnly } from "./given-only.ts";

interface CreateOptions extends JsonOption {
  readonly name?: string;
  readonly description?: string;
  readonly icon?: string;
  readonly color?: string;
  readonly defaultWorkdir?: string;
  readonly switch?: boolean;
}

interface RemoveOptions extends JsonOption {
  readonly delete?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** `hermes kanban boards`: separate queues, each with its own tasks. */
export function addBoards(desk: Desk, _: unknown, kanban: Command): void {
  kanban.addCommand(buildBoards(desk));
}

function buildBoards(desk: Desk): Command {
  const { terminal } = desk.context;
  const boards = defineCommand("boards", "List, make, choose and remove boards.", terminal);
  boards.configureHelp({ ...boards.configureHelp(), subcommandTerm: namesOf });
  const add = (name: string, description: string): Command => {
    const command = defineCommand(name, description, terminal).option("--json", "print JSON");
    boards.addCommand(command);
    return command;
  };
  withExamples(
    add("list", "List the boards; * marks the one that commands mean.")
      .alias("ls")
      .option("--all", "also those that were removed but kept")
      .action((options: JsonOption & { all?: boolean }) => listBoards(desk, options)),
    ["hermes kanban boards list"],
  );
  withExamples(
    add("create", "Make a board; one that is there is left as it is.")
      .alias("new")
      .argument("<slug>", "up to 64 letters a-z, digits, - and _")
      .option("--name <text>", "what it is called (default: its slug in capitals)")
      .option("--description <text>", "what it is for")
      .option("--icon <text>", "such as an emoji")
      .option("--color <text>", "such as #3377ff")
      .option("--default-workdir <path>", "the folder of worktrees for tasks that name none")
      .option("--switch", "make it the board that later commands mean")
      .action((slug: string, options: CreateOptions) => createBoard(desk, slug, options)),
    ["hermes kanban boards create ops --switch", 'hermes kanban boards create shop --name "The shop"'],
  );
  addDescriptions(desk, add);
  withExamples(
    add("switch", "Make a board the one that later commands mean.")
      .alias("use")
      .argument("<slug>")
      .action((slug: string, options: JsonOption) => useBoard(desk, slug, options)),
    ["hermes kanban boards switch ops", "hermes kanban boards switch default"],
  );
  withExamples(
    add("show", "Show the board that commands mean.")
      .alias("current")
      .action((options: JsonOption) => showBoard(desk, options)),
    ["hermes kanban boards show", "hermes kanban --board ops boards show --json"],
  );
  withExamples(
    add("rm", "Take a board away; it is kept aside unless deleted.")
      .alias("remove")
      .alias("delete")
      .argument("<slug>")
      .option("--delete", "delete it for good")
      .option("-y, --yes", "do not ask before deleting")
      .option("--force", "also while tasks of it run, or when it cannot be opened")
      .action((slug: string, options: RemoveOptions) => takeAway(desk, slug, options)),
    ["hermes kanban boards rm ops", "hermes kanban boards rm ops --delete --yes"],
  );
  return withExamples(boards, ["hermes kanban boards list", "hermes kanban boards create ops --switch"]);
}

/** Without arguments, so that the list fits beside its explanations. */
function namesOf(command: Command): string {
  return [command.name(), ...command.aliases()].join("|");
}

interface BoardRow extends Partial<Board> {
  readonly slug: string;
  readonly current: boolean;
  readonly open_tasks: number | null;
  /** Why it cannot be opened. */
  readonly error?: string;
}

/** Undefined for a board that someone has removed meanwhile. */
async function rowOf(desk: Desk, slug: string, current: string): Promise<BoardRow | undefined> {
  try {
    return await atBoard({ ...desk, board: slug }, async ({ store, signal }) => {
      const { byStatus } = await store.stats(signal);
      const total = Object.values(byStatus).reduce((sum, count) => sum + count, 0);
      const open_tasks = total - byStatus.done - byStatus.archived;
      return { ...(await store.board(signal)), current: slug === current, open_tasks };
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === "board-not-found") return undefined;
    if (!error.code.startsWith("database-")) throw error;
    return { slug, current: slug === current, open_tasks: null, error: error.message };
  }
}

async function listBoards(desk: Desk, { all, json }: JsonOption & { all?: boolean }): Promise<void> {
  const { terminal, signal } = desk.context;
  const app = await desk.start();
  const current = await currentSlug(desk);
  const slugs = new Set([...(await findBoards(app, signal)), current]);
  const rows: BoardRow[] = [];
  for (const slug of slugs) {
    const row = await rowOf(desk, slug, current);
    if (row !== undefined) rows.push(row);
  }
  const removed = all ? await listRemovedBoards(boardsPlace(app), signal) : [];
  if (json) return terminal.printJson(all ? { boards: rows, removed } : rows);
  const cells = rows.map((row) => [
    `${row.current ? "*" : " "} ${row.slug}`,
    row.open_tasks === null ? "?" : String(row.open_tasks),
    row.paused ? "paused" : "",
    row.error ?? row.description ?? row.name ?? "",
  ]);
  terminal.print(renderTable(["  BOARD", "OPEN", "", "NAME"], cells, terminal));
  for (const path of removed) terminal.print(`  removed: ${path}`);
}

/** The slug of the board that commands mean; a damaged one is named by what leads to it. */
async function currentSlug(desk: Desk): Promise<string> {
  try {
    return await atBoard(desk, async ({ store }) => store.slug);
  } catch (error) {
    if (error instanceof AppError && error.code.startsWith("database-")) return desk.board ?? DEFAULT_BOARD;
    throw error;
  }
}

async function createBoard(desk: Desk, text: string, options: CreateOptions): Promise<void> {
  requirePerson(desk);
  const { terminal, signal } = desk.context;
  const slug = parseBoardSlug(text);
  const place = boardsPlace(await desk.start());
  const created = slug !== DEFAULT_BOARD && (await reserveBoard(place, slug, signal));
  try {
    const board = await makeBoard(desk, slug, created ? options : {});
    if (options.switch) await switchBoard(place.root, slug);
    if (options.json) return terminal.printJson({ ...board, created });
    terminal.note(`${created ? "Made the board" : "There is already a board"} ${slug}.`);
  } catch (error) {
    if (created) await dropReserved(place, slug);
    throw error;
  }
}

async function makeBoard({ context, start }: Desk, slug: string, options: CreateOptions): Promise<Board> {
  const { name, description, icon, color, defaultWorkdir } = options;
  const described = givenOnly({ name, description, icon, color, defaultWorkdir });
  const choice = { slug, operator: personOf(context), create: true };
  await using board = await openAppBoard(await start(), choice, context.signal);
  return await board.client.describeBoard(described, context.signal);
}

async function useBoard(desk: Desk, text: string, options: JsonOption): Promise<void> {
  requirePerson(desk);
  const { terminal, variables } = desk.context;
  const slug = parseBoardSlug(text);
  await atBoard({ ...desk, board: slug }, async ({ app, store, signal }) => {
    await switchBoard(boardsPlace(app).root, slug);
    if (options.json) terminal.printJson({ ...(await store.board(signal)), current: true });
    else terminal.note(`Later commands mean the board ${slug}.`);
  });
  const named = variables["HERMES_KANBAN_BOARD"];
  if (named) terminal.note(`  Not in this shell: HERMES_KANBAN_BOARD names ${named}.`);
}

async function showBoard(desk: Desk, { json }: JsonOption): Promise<void> {
  const { terminal } = desk.context;
  const slug = await currentSlug(desk);
  const row = await rowOf(desk, slug, slug);
  if (row === undefined) throw new AppError("board-not-found", `There is no board ${slug} any more.`);
  if (json) return terminal.printJson(row);
  const lines: [string, string][] = [
    ["board", row.slug],
    ["name", row.name ?? ""],
    ["description", row.description ?? ""],
    ["workdir", row.default_workdir ?? ""],
    ["state", row.error ?? (row.paused ? "paused" : "open for claims")],
    ["open tasks", row.open_tasks === null ? "" : String(row.open_tasks)],
  ];
  for (const [label, value] of lines) if (value !== "") terminal.print(`${label.padEnd(13)}${value}`);
}

async function takeAway(desk: Desk, text: string, options: RemoveOptions): Promise<void> {
  requirePerson(desk);
  const { terminal, signal } = desk.context;
  const slug = parseBoardSlug(text);
  const app = await desk.start();
  const known = await findBoards(app, signal);
  if (!known.includes(slug)) {
    const near = closest(slug, known);
    throw new AppError(
      "board-not-found",
      `There is no board ${slug}.`,
      near ? { hint: `Did you mean ${near}?` } : {},
    );
  }
  if (!options.force && slug !== DEFAULT_BOARD) await requireIdle(desk, slug);
  if (options.delete && !options.yes && slug !== DEFAULT_BOARD) {
    const answer = await terminal.ask(`Delete the board ${slug} with all its tasks for good? [y/N] `, signal);
    if (!/^y(es)?$/i.test(answer?.trim() ?? ""))
      throw new AppError("confirmation-missing", `Deleting the board ${slug} needs a yes.`);
  }
  const removal = { forGood: options.delete ?? false, now: Date.now() };
  const kept = await removeBoard(boardsPlace(app), slug, removal, signal);
  if (options.json) terminal.printJson({ slug, removed: true, kept_in: kept ?? null });
  else
    terminal.note(
      kept ? `Took the board ${slug} away. It is kept in ${kept}.` : `Deleted the board ${slug}.`,
    );
}

async function requireIdle(desk: Desk, slug: string): Promise<void> {
  await atBoard({ ...desk, board: slug }, async ({ store, signal }) => {
    const { running } = (await store.stats(signal)).byStatus;
    if (running === 0) return;
    throw new AppError("task-running", `${running} tasks of the board ${slug} are running.`, {
      hint: "Wait for them, release them, or add --force.",
    });
  });
}
