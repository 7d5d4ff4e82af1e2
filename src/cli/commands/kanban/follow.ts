import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import type { BoardEvent, Task } from "../../../board/task.ts";
import { parseAssignee } from "../../../board/task-text.ts";
import { AppError } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { wrapIndented } from "../../fit-text.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, withTasks } from "./desk.ts";
import { eventLine, tasksIn } from "./event-line.ts";
import { parseInterval } from "./parse.ts";

const TAIL_MS = 1_000;
const WATCH_MS = 500;
/** How long a database that restarts is asked again. */
const AGAIN_MS = 2_000;

interface FollowOptions extends JsonOption {
  readonly interval?: number;
}

interface WatchOptions extends FollowOptions {
  readonly assignee?: string;
  readonly tenant?: string;
  readonly kinds?: string;
}

/** The verbs that print events while they happen, until they are interrupted. */
export function addFollow(desk: Desk, add: (name: string, description: string) => Command): void {
  const every = (command: Command, seconds: number): Command =>
    command.option("--interval <seconds>", `how often to look (default: ${seconds})`, parseInterval);
  withExamples(
    every(add("tail", "Tell what happened to a task, and go on as it happens."), TAIL_MS / 1_000)
      .argument("<task>")
      .action((id: string, options: FollowOptions) => tail(desk, id, options)),
    ["hermes kanban tail 12", "hermes kanban tail 12 --json | jq .kind"],
  );
  withExamples(
    every(add("watch", "Tell what happens on the whole board."), WATCH_MS / 1_000)
      .option("--assignee <profile>", "only of tasks of this profile; none for those of nobody")
      .option("--tenant <name>", "only of tasks of this tenant")
      .option("--kinds <a,b>", "only of these kinds, such as completed,blocked")
      .action((options: WatchOptions) => watch(desk, options)),
    ["hermes kanban watch", "hermes kanban watch --kinds completed,blocked,gave_up --json"],
  );
}

async function tail(desk: Desk, text: string, { interval = TAIL_MS, json }: FollowOptions): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, signal } = open;
    // In this order: what happens between the two is in what is shown.
    const { latestEventId } = await store.stats(signal);
    const { task, events } = await withTasks(open, [text], (one) => store.show(one, signal));
    const { id } = task;
    for (const event of events) await tell(open, event, { json, withTask: false });
    const from = Math.max(latestEventId, events.at(-1)?.id ?? 0);
    for await (const event of eventsFrom(open, from, interval)) {
      if (event.task_id === id) await tell(open, event, { json, withTask: false });
      if (event.kind === "purged" && event.payload["task_id"] === id) {
        await tell(open, event, { json, withTask: false });
        return;
      }
    }
  });
}

async function watch(
  desk: Desk,
  { interval = WATCH_MS, json, kinds, assignee, tenant }: WatchOptions,
): Promise<void> {
  const wanted = kinds === undefined ? undefined : new Set(kinds.split(",").map((kind) => kind.trim()));
  const isWanted = (task: Task): boolean =>
    (assignee === undefined || task.assignee === parseAssignee(assignee)) &&
    (tenant === undefined || task.tenant === tenant);
  await atBoard(desk, async (open) => {
    const { latestEventId } = await open.store.stats(open.signal);
    open.context.terminal.note(`Watching the board ${open.store.slug}; Ctrl-C ends it.`);
    for await (const event of eventsFrom(open, latestEventId, interval)) {
      if (wanted !== undefined && !wanted.has(event.kind)) continue;
      if (assignee !== undefined || tenant !== undefined) {
        const task = await findTask(open, event.task_id);
        if (task === undefined || !isWanted(task)) continue;
      }
      await tell(open, event, { json, withTask: true });
    }
  });
}

/** What follows on a next line stands below the words, not below the time. */
const CLOCK_WIDTH = "00:00:00  ".length;

/** What ends with a restart of the server; a reader loses nothing by it, because it asks by number. */
const LOSSES: readonly string[] = ["database-unavailable", "database-busy"];

/** Every event after a number, once and in order, for as long as someone asks. */
async function* eventsFrom(open: OpenDesk, after: number, intervalMs: number): AsyncGenerator<BoardEvent> {
  const { store, signal } = open;
  let cursor = after;
  for (;;) {
    const events = await patiently(open, () => store.events(cursor, undefined, signal));
    yield* events;
    cursor = events.at(-1)?.id ?? cursor;
    if (events.length === 0) await delay(intervalMs, undefined, { signal });
  }
}

/** What `read` gives, asked again while the database is away: who follows a board outlives a restart of its server. */
async function patiently<Result>(
  { signal, context: { terminal } }: OpenDesk,
  read: () => Promise<Result>,
): Promise<Result> {
  for (let isLost = false; ; isLost = true) {
    try {
      const result = await read();
      if (isLost) terminal.note("hermes: the board is back.");
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || !LOSSES.includes(error.code) || signal.aborted) throw error;
      if (!isLost) terminal.note(`hermes: ${error.message} Trying again until it is back.`);
      await delay(AGAIN_MS, undefined, { signal });
    }
  }
}

/** Undefined for events of the board itself and of tasks that were deleted since. */
async function findTask(open: OpenDesk, id: string | null): Promise<Task | undefined> {
  if (id === null) return undefined;
  try {
    return (await patiently(open, () => open.store.show(id, open.signal))).task;
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return undefined;
    throw error;
  }
}

async function tell(
  open: OpenDesk,
  event: BoardEvent,
  { json, withTask }: { readonly json: boolean | undefined; readonly withTask: boolean },
): Promise<void> {
  const { store, signal, context } = open;
  const { terminal } = context;
  if (json) return terminal.print(JSON.stringify(event));
  const names = await patiently(open, () => store.nameTasks(tasksIn(event), signal));
  const line = eventLine(event, names, { withTask });
  if (line !== undefined) terminal.print(wrapIndented(line, terminal.columns, CLOCK_WIDTH));
}
