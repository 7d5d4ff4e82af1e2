import { type App, type AppBoard, openAppBoard } from "../../../app.ts";
import { closest } from "../../../lib/did-you-mean.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { escapeControls } from "../../escape-controls.ts";
import { findBoards } from "./board-folders.ts";

/** Where a person works: the context of the command and the board that `--board` names. */
export interface Desk {
  readonly context: CommandContext;
  readonly board: string | undefined;
  /** The profile and its settings, read once: what is wrong with them is told once. */
  start(): Promise<App>;
}

export interface JsonOption {
  readonly json?: boolean;
}

/** An open board and what a command needs beside it. */
export interface OpenDesk extends AppBoard {
  readonly app: App;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

/** Opens the board that is meant and closes it after `work`. `author` stands in for the person's own name. */
export async function atBoard<Result>(
  { context, board, start }: Desk,
  work: (desk: OpenDesk) => Promise<Result>,
  author?: string,
): Promise<Result> {
  const { signal } = context;
  const app = await start();
  const choice = { slug: board, operator: author ?? personOf(context) };
  await using open = await openAppBoard(app, choice, signal).catch(async (error: unknown) => {
    throw await withNearBoard(error, app, board ?? app.resolved.variable("HERMES_KANBAN_BOARD") ?? "");
  });
  const desk = { ...open, app, context, signal };
  try {
    return await work(desk);
  } catch (error) {
    throw await withNumbers(desk, error);
  }
}

/** The name under which a person's doings are recorded. */
export function personOf({ variables }: CommandContext): string {
  return variables["USER"] || variables["LOGNAME"] || "operator";
}

async function withNearBoard(error: unknown, app: App, wanted: string): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "board-not-found") return error;
  const near = closest(wanted, await findBoards(app));
  const hint = near
    ? `Did you mean ${near}?`
    : `Make it with \`hermes kanban boards create ${wanted.trim().toLowerCase()}\`, or see \`hermes kanban boards list\`.`;
  return new AppError(error.code, error.message, { hint, cause: error });
}

const SUGGESTED_FROM = 1_000; // of the newest; a suggestion is worth no more reading than that

/**
 * Runs `action` with the ids of the tasks that a person named, each by its number or by at least four digits of its id;
 * when one is not found, the failure names the one that was probably meant. Every verb gets its ids here.
 */
export async function withTasks<Result>(
  open: OpenDesk,
  texts: readonly string[],
  action: (...ids: string[]) => Promise<Result>,
): Promise<Result> {
  const { store, signal } = open;
  const ids = await Promise.all(texts.map((text) => wholeId(open, text)));
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

const IDS = /t_[0-9a-f]{12}/g;
const COMMANDS = /`[^`]*`/g;

/** The same failure in the words of people, who call a task by its number. Where an id was asked for, it stays. */
async function withNumbers({ store, signal }: OpenDesk, error: unknown): Promise<unknown> {
  if (!(error instanceof AppError) || signal.aborted) return error;
  if (error.code === "task-not-found" || error.code === "task-ambiguous") return error;
  const { code, message, hint, cause } = error;
  const ids = `${message} ${hint}`.match(IDS) ?? [];
  if (ids.length === 0) return error;
  const names = await store.nameTasks(ids, signal);
  const numbered = (text: string, before: string): string =>
    text.replaceAll(IDS, (id) => (names.has(id) ? `${before}${names.get(id)?.seq}` : id));
  // In a shell the rest of a line after # is no part of the command.
  const spoken = (text: string): string =>
    numbered(
      text.replaceAll(COMMANDS, (command) => numbered(command, "")),
      "#",
    );
  return new AppError(code, spoken(message), { hint: spoken(hint), cause });
}

const WHOLE = /^t_[0-9a-f]{12}$/;

/** The id of the one task that is meant; a text that means none stays as it is, for the store to refuse. */
async function wholeId({ store, signal }: OpenDesk, text: string): Promise<string> {
  if (WHOLE.test(text)) return text;
  const [found, ...others] = await store.findTasks(text, signal);
  if (found === undefined) return text;
  if (others.length === 0) return found.id;
  const candidates = [found, ...others].map(({ id, status, title }) => `  ${id}  ${status}  ${title}`);
  throw new AppError("task-ambiguous", `${text} is the beginning of several tasks.`, {
    hint: `Give more of the id:\n${escapeControls(candidates.join("\n"))}`,
  });
}

function nearTask(wanted: string, known: readonly string[]): string | undefined {
  const text = wanted.trim().toLowerCase();
  const beginnings = text.length < 3 ? [] : known.filter((id) => id.startsWith(text));
  if (beginnings.length > 1) return undefined;
  return beginnings[0] ?? closest(text, known);
}
