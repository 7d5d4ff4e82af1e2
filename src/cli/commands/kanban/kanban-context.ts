import type { App } from "../../../app/app.ts";
import { type AppBoard, findBoards, openAppBoard } from "../../../app/board.ts";
import { findTaskId } from "../../../board/find-task-id.ts";
import type { TaskDetails } from "../../../board/operations/views/load-task-details.ts";
import { AppError } from "../../../lib/errors.ts";
import { findClosest } from "../../../lib/text/did-you-mean.ts";
import type { CommandContext } from "../../context.ts";

/** The context of a kanban command and the board named by `--board`. */
export interface KanbanContext {
  readonly context: CommandContext;
  readonly board: string | undefined;
  /** Loads the profile and its settings once, so that their problems are reported once. */
  start(): Promise<App>;
}

export type { JsonOption } from "../../context.ts";

/** An open board with the app and context of the command. */
export interface OpenBoardContext extends AppBoard {
  readonly app: App;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

/** Opens the chosen board and closes it after `work`. `author` replaces the user's own name. */
export async function withBoard<Result>(
  { context, board, start }: KanbanContext,
  work: (boardContext: OpenBoardContext) => Promise<Result>,
  author?: string,
): Promise<Result> {
  const { signal } = context;
  const app = await start();
  const choice = { slug: board, operator: author ?? userNameOf(context) };
  await using open = await openAppBoard(app, choice, signal).catch(async (error: unknown) => {
    throw await withNearBoard(error, app, board ?? app.resolved.variable("HERMES_KANBAN_BOARD") ?? "");
  });
  const boardContext = { ...open, app, context, signal };
  try {
    return await work(boardContext);
  } catch (error) {
    throw await withNumbers(boardContext, error);
  }
}

/** The name under which the user's actions are recorded. */
export function userNameOf({ variables }: CommandContext): string {
  return variables["USER"] || variables["LOGNAME"] || "operator";
}

async function withNearBoard(error: unknown, app: App, wanted: string): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "board-not-found") return error;
  const near = findClosest(wanted, await findBoards(app));
  const hint = near
    ? `Did you mean ${near}?`
    : `Create it with \`hermes kanban boards create ${wanted.trim().toLowerCase()}\`, or see \`hermes kanban boards list\`.`;
  return new AppError(error.code, error.message, { hint, cause: error });
}

const SUGGESTED_FROM = 1_000; // only the newest tasks are searched for a suggestion

/**
 * Runs `action` with the ids of the named tasks. A task is named by its number or by at least four digits of its id.
 * If a task is not found, the error suggests a similar id. All verbs resolve their tasks here.
 */
export async function withTasks<Result>(
  open: OpenBoardContext,
  texts: readonly string[],
  action: (...ids: string[]) => Promise<Result>,
): Promise<Result> {
  const { store, signal } = open;
  const ids = await Promise.all(
    texts.map(async (text) => (await findTaskId(store, text, signal)) ?? text), // the store refuses unknown text
  );
  try {
    return await action(...ids);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "task-not-found") throw await withNumbers(open, error);
    const query = { includeArchived: true, order: "created-desc", limit: SUGGESTED_FROM } as const;
    const { tasks } = await store.list(query, signal);
    const known = tasks.map(({ id }) => id);
    const missing = ids.filter((id) => !known.includes(id));
    const near = missing.flatMap((id) => nearTask(id, known) ?? []);
    if (near.length === 0) throw error;
    throw new AppError(error.code, error.message, {
      hint: `Did you mean ${near.join(", ")}?`,
      cause: error,
    });
  }
}

/** Loads the named task with its comments, runs, events and links. */
export function showTask(open: OpenBoardContext, text: string): Promise<TaskDetails> {
  return withTasks(open, [text], (id) => open.store.show(id, open.signal));
}

const IDS = /t_[0-9a-f]{12}/g;
const COMMANDS = /`[^`]*`/g;

/** Replaces task ids with numbers in an error. Errors about an unknown or ambiguous id keep the id. */
async function withNumbers({ store, signal }: OpenBoardContext, error: unknown): Promise<unknown> {
  if (!(error instanceof AppError) || signal.aborted) return error;
  if (error.code === "task-not-found" || error.code === "task-ambiguous") return error;
  const { code, message, hint, cause } = error;
  const ids = `${message} ${hint}`.match(IDS) ?? [];
  if (ids.length === 0) return error;
  const names = await store.findTaskNames(ids, signal);
  const replaceIds = (text: string, before: string): string =>
    text.replaceAll(IDS, (id) => (names.has(id) ? `${before}${names.get(id)?.seq}` : id));
  // Commands get the bare number, because a shell treats # as a comment.
  const withNumber = (text: string): string =>
    replaceIds(
      text.replaceAll(COMMANDS, (command) => replaceIds(command, "")),
      "#",
    );
  return new AppError(code, withNumber(message), { hint: withNumber(hint), cause });
}

function nearTask(wanted: string, known: readonly string[]): string | undefined {
  const text = wanted.trim().toLowerCase();
  const matches = text.length < 3 ? [] : known.filter((id) => id.startsWith(text));
  if (matches.length > 1) return undefined;
  return matches[0] ?? findClosest(text, known);
}
