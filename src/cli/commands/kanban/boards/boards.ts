import type { Command } from "commander";
import { boardsLocation, findBoards, openAppBoard, requireRepository } from "../../../../app/board.ts";
import { DEFAULT_BOARD, parseBoardSlug } from "../../../../board/board-slug.ts";
import type { BoardStore } from "../../../../board/board-store.ts";
import type { BoardDescription } from "../../../../board/operations/boards/describe-board.ts";
import { switchBoard } from "../../../../board/registry/current-board.ts";
import { listExistingBoards, listRemovedBoards } from "../../../../board/registry/list-boards.ts";
import { removeBoard } from "../../../../board/registry/remove-board.ts";
import { withStagedBoard } from "../../../../board/registry/stage-board.ts";
import type { Board } from "../../../../board/task.ts";
import { AppError } from "../../../../lib/errors.ts";
import { findClosest } from "../../../../lib/text/did-you-mean.ts";
import { formatCount } from "../../../../lib/text/format-count.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import { defineCommand, verbsOf, withExamples } from "../../../define-command.ts";
import { byPerson } from "../../../require-person.ts";
import { requireYes } from "../../../terminal/require-yes.ts";
import { printFields, renderTable } from "../../../terminal/table.ts";
import { type JsonOption, type KanbanContext, userNameOf, withBoard } from "../kanban-context.ts";

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

export function addVerbs(kanbanContext: KanbanContext, _: unknown, kanban: Command): void {
  const { context } = kanbanContext;
  const { terminal } = context;
  const boards = defineCommand("boards", "Create, list, switch and remove boards.", terminal);
  boards.configureHelp({ ...boards.configureHelp(), subcommandTerm: namesOf });
  const add = verbsOf(boards, terminal, { json: true });
  add("list", "List boards; * marks the current board.", ["hermes kanban boards list"])
    .alias("ls")
    .option("--all", "include removed boards that were kept")
    .action((options: JsonOption & { all?: boolean }) => listBoards(kanbanContext, options));
  add("create", "Create a board; an existing board is left unchanged.", [
    "hermes kanban boards create ops --switch",
    'hermes kanban boards create shop --name "The shop"',
  ])
    .alias("new")
    .argument("<slug>", "up to 64 letters a-z, digits, - and _")
    .option("--name <text>", "display name (default: made from the slug, as in My Team)")
    .option("--description <text>", "description")
    .option("--icon <text>", "icon, such as an emoji")
    .option("--color <text>", "colour, such as #3377ff")
    .option("--default-workdir <path>", "repository for worktree tasks without a path")
    .option("--switch", "make it the current board")
    .action(
      byPerson(context, (slug: string, options: CreateOptions) => createBoard(kanbanContext, slug, options)),
    );
  add("rename", "Change the display name of a board; its slug stays.", [
    "hermes kanban boards rename ops Operations of the shop",
  ])
    .argument("<slug>")
    .argument("<name...>")
    .action((slug: string, words: readonly string[], options: JsonOption) =>
      describe(kanbanContext, slug, { name: words.join(" ") }, options),
    );
  add("set-default-workdir", "Set the repository for worktree tasks without a path.", [
    "hermes kanban boards set-default-workdir ops /srv/shop",
    "hermes kanban boards set-default-workdir ops",
  ])
    .argument("<slug>")
    .argument("[path]", "absolute path; omit it to unset")
    .action((slug: string, path: string | undefined, options: JsonOption) =>
      describe(kanbanContext, slug, { defaultWorkdir: path ?? null }, options),
    );
  add("switch", "Make a board the default for later commands.", [
    "hermes kanban boards switch ops",
    "hermes kanban boards switch default",
  ])
    .alias("use")
    .argument("<slug>")
    .action(byPerson(context, (slug: string, options: JsonOption) => useBoard(kanbanContext, slug, options)));
  add("show", "Show the current board.", [
    "hermes kanban boards show",
    "hermes kanban --board ops boards show --json",
  ])
    .alias("current")
    .action((options: JsonOption) => showBoard(kanbanContext, options));
  add("rm", "Remove a board; its data is kept unless you add --delete.", [
    "hermes kanban boards rm ops",
    "hermes kanban boards rm ops --delete --yes",
  ])
    .alias("remove")
    .alias("delete")
    .argument("<slug>")
    .option("--delete", "delete its data permanently")
    .option("-y, --yes", "skip the confirmation")
    .option("--force", "remove it even if its tasks are running or it cannot be opened")
    .action(
      byPerson(context, (slug: string, options: RemoveOptions) => remove(kanbanContext, slug, options)),
    );
  withExamples(boards, ["hermes kanban boards list", "hermes kanban boards create ops --switch"]);
  kanban.addCommand(boards);
}

/** The name and aliases of a verb without its arguments; this leaves room for the descriptions. */
function namesOf(command: Command): string {
  return [command.name(), ...command.aliases()].join("|");
}

interface BoardRow extends Partial<Board> {
  readonly slug: string;
  readonly current: boolean;
  readonly open_tasks: number | null;
  /** The reason why the board cannot be opened. */
  readonly error?: string;
}

/** Undefined if the board was removed in the meantime. */
async function rowOf(
  kanbanContext: KanbanContext,
  slug: string,
  current: string,
): Promise<BoardRow | undefined> {
  try {
    return await withBoard({ ...kanbanContext, board: slug }, async ({ store, signal }) => {
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

async function listBoards(
  kanbanContext: KanbanContext,
  { all, json }: JsonOption & { all?: boolean },
): Promise<void> {
  const { terminal, signal } = kanbanContext.context;
  const app = await kanbanContext.start();
  const current = await currentSlug(kanbanContext);
  const slugs = new Set([...(await findBoards(app, signal)), current]);
  const rows: BoardRow[] = [];
  for (const slug of slugs) {
    const row = await rowOf(kanbanContext, slug, current);
    if (row !== undefined) rows.push(row);
  }
  const removed = all ? await listRemovedBoards(boardsLocation(app), signal) : [];
  if (json) return terminal.printJson(all ? { boards: rows, removed } : rows);
  const cells = rows.map((row) => [
    `${row.current ? "*" : " "} ${row.slug}`,
    String(row.open_tasks ?? "?"),
    row.paused ? "paused" : "",
    row.error ?? row.description ?? row.name ?? "",
  ]);
  terminal.print(renderTable(["  BOARD", "OPEN", "", "NAME"], cells, terminal));
  for (const path of removed) terminal.print(`  removed: ${path}`);
}

/** The slug of the current board. For a board that cannot be opened, the requested slug. */
async function currentSlug(kanbanContext: KanbanContext): Promise<string> {
  try {
    return await withBoard(kanbanContext, async ({ store }) => store.slug);
  } catch (error) {
    if (error instanceof AppError && error.code.startsWith("database-"))
      return kanbanContext.board ?? DEFAULT_BOARD;
    throw error;
  }
}

async function createBoard(
  kanbanContext: KanbanContext,
  text: string,
  options: CreateOptions,
): Promise<void> {
  const { terminal, signal } = kanbanContext.context;
  const slug = parseBoardSlug(text);
  const app = await kanbanContext.start();
  const location = boardsLocation(app);
  const operator = userNameOf(kanbanContext.context);
  const { name, description, icon, color, defaultWorkdir } = options;
  if (defaultWorkdir !== undefined) await requireRepository(app, { defaultWorkdir }, signal);
  const described = withoutUndefined({ name, description, icon, color, defaultWorkdir });
  const describe = async (store: BoardStore): Promise<void> => {
    await store.as({ kind: "operator", name: operator }).describeBoard(described, signal);
  };
  const isPublished =
    slug !== DEFAULT_BOARD &&
    (await withStagedBoard(location, (staged) => staged.publish(slug, describe), signal));
  // A board that has lost its file cannot be published, because its folder exists.
  const hasLostFile = !isPublished && !(await listExistingBoards(location, signal)).includes(slug);
  await using board = await openAppBoard(app, { slug, operator, create: true }, signal);
  if (hasLostFile) await describe(board.store);
  const created = isPublished || hasLostFile;
  if (options.switch) await switchBoard(location.root, slug);
  if (options.json) return terminal.printJson({ ...(await board.store.board(signal)), created });
  terminal.note(`${created ? `Created the board ${slug}.` : `The board ${slug} already exists.`}`);
}

async function useBoard(kanbanContext: KanbanContext, text: string, options: JsonOption): Promise<void> {
  const { terminal, variables } = kanbanContext.context;
  const slug = parseBoardSlug(text);
  await withBoard({ ...kanbanContext, board: slug }, async ({ app, store, signal }) => {
    await switchBoard(boardsLocation(app).root, slug);
    if (options.json) terminal.printJson({ ...(await store.board(signal)), current: true });
    else terminal.note(`Switched to the board ${slug}.`);
  });
  const named = variables["HERMES_KANBAN_BOARD"];
  if (named) terminal.note(`  This shell still uses ${named}, because HERMES_KANBAN_BOARD is set.`);
}

async function showBoard(kanbanContext: KanbanContext, { json }: JsonOption): Promise<void> {
  const { terminal } = kanbanContext.context;
  const slug = await currentSlug(kanbanContext);
  const row = await rowOf(kanbanContext, slug, slug);
  if (row === undefined) throw new AppError("board-not-found", `The board ${slug} no longer exists.`);
  if (json) return terminal.printJson(row);
  printFields(terminal, [
    ["board", row.slug],
    ["name", row.name ?? ""],
    ["description", row.description ?? ""],
    ["workdir", row.default_workdir ?? ""],
    ["state", row.error ?? (row.paused ? "paused" : "open for claims")],
    ["open tasks", String(row.open_tasks ?? "")],
  ]);
}

async function remove(kanbanContext: KanbanContext, text: string, options: RemoveOptions): Promise<void> {
  const { terminal, signal } = kanbanContext.context;
  const slug = parseBoardSlug(text);
  const app = await kanbanContext.start();
  const known = await findBoards(app, signal);
  if (!known.includes(slug)) {
    const near = findClosest(slug, known);
    throw new AppError(
      "board-not-found",
      `There is no board ${slug}.`,
      near ? { hint: `Did you mean ${near}?` } : {},
    );
  }
  if (!options.force && slug !== DEFAULT_BOARD) await requireIdle(kanbanContext, slug);
  if (options.delete && !options.yes && slug !== DEFAULT_BOARD) {
    const question = `Delete the board ${slug} and all its tasks permanently?`;
    await requireYes(kanbanContext.context, question, `Deleting the board ${slug}`);
  }
  const removal = { permanently: options.delete ?? false, now: Date.now() };
  const kept = await removeBoard(boardsLocation(app), slug, removal, signal);
  if (options.json) terminal.printJson({ slug, removed: true, kept_in: kept ?? null });
  else
    terminal.note(
      kept ? `Removed the board ${slug}. Its data is kept in ${kept}.` : `Deleted the board ${slug}.`,
    );
}

async function requireIdle(kanbanContext: KanbanContext, slug: string): Promise<void> {
  await withBoard({ ...kanbanContext, board: slug }, async ({ store, signal }) => {
    const { running } = (await store.stats(signal)).byStatus;
    if (running === 0) return;
    throw new AppError(
      "task-running",
      `${formatCount(running, "task")} of the board ${slug} ${running === 1 ? "is" : "are"} running.`,
      {
        hint: "Wait for them, release them, or add --force.",
      },
    );
  });
}

async function describe(
  kanbanContext: KanbanContext,
  text: string,
  description: BoardDescription,
  { json }: JsonOption,
): Promise<void> {
  const slug = parseBoardSlug(text);
  await withBoard(
    { ...kanbanContext, board: slug },
    async ({ app, client, signal, context: { terminal } }) => {
      const { defaultWorkdir = null } = description;
      if (defaultWorkdir !== null) await requireRepository(app, { defaultWorkdir }, signal);
      const board = await client.describeBoard(description, signal);
      if (json) return terminal.printJson(board);
      const workdir = board.default_workdir ?? "none";
      terminal.note(
        `The board ${slug} is named ${JSON.stringify(board.name)}; its default repository is ${workdir}.`,
      );
    },
  );
}
