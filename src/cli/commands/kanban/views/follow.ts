import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { tasksIn } from "../../../../board/operations/views/describe-event.ts";
import type { BoardEvent, Task } from "../../../../board/task.ts";
import { parseAssignee } from "../../../../board/task-text.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { AddVerb } from "../../../define-command.ts";
import { wrapIndented } from "../../../terminal/fit-text.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, showTask } from "../kanban-context.ts";
import { parseInterval } from "../parse.ts";
import { onBoard } from "../verb.ts";
import { formatEvent } from "./event-line.ts";

const TAIL_MS = 1_000;
const WATCH_MS = 500;
/** The delay between two attempts while the database is unavailable. */
const RETRY_MS = 2_000;

interface FollowOptions extends JsonOption {
  readonly interval?: number;
}

interface WatchOptions extends FollowOptions {
  readonly assignee?: string;
  readonly tenant?: string;
  readonly kinds?: string;
}

/** The verbs that print events as they happen, until interrupted. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  const withInterval = (command: Command, seconds: number): Command =>
    command.option("--interval <seconds>", `polling interval (default: ${seconds})`, parseInterval);
  const tailed = add("tail", "Print the events of a task and follow new ones.", [
    "hermes kanban tail 12",
    "hermes kanban tail 12 --json | jq .kind",
  ]);
  withInterval(tailed, TAIL_MS / 1_000)
    .argument("<task>")
    .action(onBoard(kanbanContext, tail));
  const watched = add("watch", "Follow the events of the whole board.", [
    "hermes kanban watch",
    "hermes kanban watch --kinds completed,blocked,gave_up --json",
  ]);
  withInterval(watched, WATCH_MS / 1_000)
    .option("--assignee <profile>", "only tasks of this profile (none: unassigned tasks)")
    .option("--tenant <name>", "only tasks of this tenant")
    .option("--kinds <a,b>", "only these kinds of events, such as completed,blocked")
    .action(onBoard(kanbanContext, watch));
}

async function tail(
  open: OpenBoardContext,
  text: string,
  { interval = TAIL_MS, json }: FollowOptions,
): Promise<void> {
  const { store, signal } = open;
  // The id is read first, so that an event between the two reads is not lost.
  const { latestEventId } = await store.stats(signal);
  const { task, events } = await showTask(open, text);
  const { id } = task;
  for (const event of events) await printEvent(open, event, { json, withTask: false });
  const from = Math.max(latestEventId, events.at(-1)?.id ?? 0);
  for await (const event of eventsFrom(open, from, interval)) {
    if (event.task_id === id) await printEvent(open, event, { json, withTask: false });
    if (event.kind === "purged" && event.payload["task_id"] === id) {
      await printEvent(open, event, { json, withTask: false });
      return;
    }
  }
}

async function watch(
  open: OpenBoardContext,
  { interval = WATCH_MS, json, kinds, assignee, tenant }: WatchOptions,
): Promise<void> {
  const wanted = kinds === undefined ? undefined : new Set(kinds.split(",").map((kind) => kind.trim()));
  const isWanted = (task: Task): boolean =>
    (assignee === undefined || task.assignee === parseAssignee(assignee)) &&
    (tenant === undefined || task.tenant === tenant);
  const { latestEventId } = await open.store.stats(open.signal);
  open.context.terminal.note(`Watching the board ${open.store.slug}; press Ctrl-C to stop.`);
  for await (const event of eventsFrom(open, latestEventId, interval)) {
    if (wanted !== undefined && !wanted.has(event.kind)) continue;
    if (assignee !== undefined || tenant !== undefined) {
      const task = await findTask(open, event.task_id);
      if (task === undefined || !isWanted(task)) continue;
    }
    await printEvent(open, event, { json, withTask: true });
  }
}

/** Wrapped lines are indented to the text after the time. */
const CLOCK_WIDTH = "00:00:00  ".length;

/** Errors that a restart of the server causes. A reader loses no events, because it reads them by id. */
const LOSSES: readonly string[] = ["database-unavailable", "database-busy"];

/** Yields every event after an id, once and in order, without end. */
async function* eventsFrom(
  open: OpenBoardContext,
  after: number,
  intervalMs: number,
): AsyncGenerator<BoardEvent> {
  const { store, signal } = open;
  let cursor = after;
  for (;;) {
    const events = await withRetries(open, () => store.events(cursor, undefined, signal));
    yield* events;
    cursor = events.at(-1)?.id ?? cursor;
    if (events.length === 0) await delay(intervalMs, undefined, { signal });
  }
}

/** Repeats `read` while the database is unavailable, so that following a board survives a restart of its server. */
async function withRetries<Result>(
  { signal, context: { terminal } }: OpenBoardContext,
  read: () => Promise<Result>,
): Promise<Result> {
  for (let isLost = false; ; isLost = true) {
    try {
      const result = await read();
      if (isLost) terminal.note("hermes: the board is available again.");
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || !LOSSES.includes(error.code) || signal.aborted) throw error;
      if (!isLost) terminal.note(`hermes: ${error.message} Retrying until it is available.`);
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** Undefined for events of the board itself and of deleted tasks. */
async function findTask(open: OpenBoardContext, id: string | null): Promise<Task | undefined> {
  if (id === null) return undefined;
  try {
    return (await withRetries(open, () => open.store.show(id, open.signal))).task;
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return undefined;
    throw error;
  }
}

async function printEvent(
  open: OpenBoardContext,
  event: BoardEvent,
  { json, withTask }: { readonly json: boolean | undefined; readonly withTask: boolean },
): Promise<void> {
  const { store, signal, context } = open;
  const { terminal } = context;
  if (json) return terminal.print(JSON.stringify(event));
  const names = await withRetries(open, () => store.findTaskNames(tasksIn(event), signal));
  const line = formatEvent(event, names, { withTask });
  if (line !== undefined) terminal.print(wrapIndented(line, terminal.columns, CLOCK_WIDTH));
}
