import { readdir } from "node:fs/promises";
import type { BoardEvent, Task } from "../../../../board/task.ts";
import { systemClock } from "../../../../lib/time/clock.ts";
import type { CommandContext } from "../../../context.ts";
import {
  CASES,
  type Demo,
  type DemoOptions,
  type DemoProcess,
  demoFailed,
  KILLED_AFTER_CASES,
  openDemo,
} from "../open-demo.ts";
import { type BoardScreen, createBoardScreen, type ScreenRow } from "./board-screen.ts";
import { type DemoBoard, openDemoBoard } from "./demo-board.ts";
import { createGraph, type DemoTask, KILLED_TASK } from "./demo-tasks.ts";

const POLL_MS = 50;
/** The size of the board view with two event lines above it. */
const MIN_TERMINAL_SIZE = { columns: 80, rows: 14 };

interface BoardDemo {
  readonly demo: Demo;
  readonly board: DemoBoard;
  readonly graph: readonly DemoTask[];
  readonly screen: BoardScreen;
  readonly daemon: DemoProcess;
  /** The kinds of events of the killed task that were printed. */
  readonly printedKinds: Set<string>;
  /** The seconds since the daemon was started, as the prefix of a line. */
  time(): string;
}

/** Runs the demo of the board. Throws unless each task was completed once. */
export async function runBoardDemo(context: CommandContext, options: DemoOptions): Promise<void> {
  const { terminal } = context;
  const { bold } = terminal.colours;
  const graph = createGraph(options);

  terminal.print(`${bold("Hermes demo")}: three agents work on a board, and one of them is killed.\n`);
  terminal.print("  model     scripted: it follows a file. No key, no network.");
  terminal.print("  the rest  is real: board, dispatcher, supervisors, workers, files.");
  await using demo = await openDemo(context, options);
  const failed = new AbortController(); // stops one half of the demo if the other fails
  const signal = AbortSignal.any([demo.signal, failed.signal]);
  await using board = await openDemoBoard(demo, graph, options, signal);
  await demo.pause(1_000);

  terminal.print(`\n${bold("$ hermes kanban daemon")}`);
  const startedAt = performance.now();
  const show: BoardDemo = {
    demo,
    board,
    graph,
    screen: createBoardScreen(terminal, canRedraw(context)),
    daemon: board.startDaemon(signal),
    printedKinds: new Set(),
    time: () => `${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`,
  };
  const abortOnFailure = async (action: Promise<void>): Promise<void> => {
    try {
      await action;
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  // Rejects with the first failure, which aborts the other half.
  await Promise.all([
    abortOnFailure(showChanges(show, signal)),
    abortOnFailure(killOne(show, context, signal)),
  ]);
  show.screen.end();
  await showResult(show, context, signal);
  demo.end([
    ["setup", "choose a model, then chat"],
    ["profile create coder", "create a profile"],
    ['kanban create "Fix it" --assignee coder', "create a task for it"],
    ["kanban daemon", "run tasks until Ctrl-C"],
    ["kanban", "show the board"],
    ["kanban why TASK", "explain why a task waits"],
  ]);
}

/** Whether the terminal can overwrite lines and is large enough for the board. */
function canRedraw({ terminal, variables }: CommandContext): boolean {
  const { columns = 0 } = terminal;
  const rows = process.stdout.rows ?? 0;
  return (
    columns >= MIN_TERMINAL_SIZE.columns && rows >= MIN_TERMINAL_SIZE.rows && variables["TERM"] !== "dumb"
  );
}

/** Shows the board until all tasks are done. */
async function showChanges(show: BoardDemo, signal: AbortSignal): Promise<void> {
  const { board, screen, daemon } = show;
  let isOver = false;
  const ended = daemon.ended.then((end) => {
    isOver = true;
    return end;
  });
  for (let cursor = 0; ; ) {
    const { tasks } = await board.store.list({}, signal);
    // Read after the tasks, so that the last event is included when all tasks are done.
    const events = await board.store.events(cursor, undefined, signal);
    cursor = events.at(-1)?.id ?? cursor;
    for (const event of events) printEvent(show, event);
    screen.update(await rowsOf(show, tasks));
    if (tasks.every(({ status }) => status === "done")) return;
    const lost = tasks.find(({ status }) => status === "blocked");
    if (lost !== undefined)
      throw demoFailed(`"${lost.title}" was blocked after failures`, lost.last_failure_error ?? undefined);
    if (isOver) throw demoFailed("the daemon has exited", (await ended).stderr);
    await systemClock.sleep(POLL_MS, signal);
  }
}

function printEvent({ board, graph, screen, printedKinds, time }: BoardDemo, event: BoardEvent): void {
  const index = board.ids.indexOf(event.task_id ?? "");
  const task = graph[index];
  const { summary, pid } = event.payload;
  const words: Readonly<Record<string, string>> = {
    spawned: `starts (run ${event.run_id}, process ${pid})`,
    completed: `done: ${summary}`,
    crashed: `run ${event.run_id} crashed; it will be retried`,
  };
  const text = words[event.kind];
  if (task === undefined || text === undefined) return;
  screen.say(`${time()}  ${index + 1} ${task.title.padEnd(21)} ${task.assignee.padEnd(7)} ${text}`);
  if (index + 1 === KILLED_TASK) printedKinds.add(event.kind);
}

async function rowsOf(show: BoardDemo, tasks: readonly Task[]): Promise<readonly ScreenRow[]> {
  const { board, graph, demo } = show;
  const statuses = new Map(tasks.map((task) => [task.id, task]));
  const isDone = (number: number): boolean => statuses.get(board.ids[number - 1] ?? "")?.status === "done";
  const cases = (await demo.casesDone()).length;
  return graph.map(({ title, assignee, after, file }, index): ScreenRow => {
    const number = index + 1;
    const row = { number, title, assignee };
    const task = statuses.get(board.ids[index] ?? "");
    const progress = number === KILLED_TASK && cases > 0 ? `, case ${cases} of ${CASES}` : "";
    if (task?.status === "done") return { ...row, state: "done", detail: file };
    if (task?.status === "running")
      return { ...row, state: "running", detail: `run ${task.current_run_id}${progress}` };
    const open = after.filter((one) => !isDone(one));
    if (open.length > 0) return { ...row, state: "waiting", detail: `for ${open.join(", ")}` };
    const isAgain = (task?.consecutive_failures ?? 0) > 0;
    return { ...row, state: "ready", detail: isAgain ? `after a pause${progress}` : "" };
  });
}

/** Kills the worker of the long check halfway, and restarts its task without the usual pause. */
async function killOne(show: BoardDemo, { terminal }: CommandContext, signal: AbortSignal): Promise<void> {
  const { demo, board, screen, printedKinds, time } = show;
  const { bold, red } = terminal.colours;
  const id = board.ids[KILLED_TASK - 1] ?? "";
  while ((await demo.casesDone()).length < KILLED_AFTER_CASES) await systemClock.sleep(10, signal);
  const pid = (await board.store.show(id, signal)).runs.at(-1)?.worker_pid;
  if (pid === null || pid === undefined) throw demoFailed(`the worker of task ${KILLED_TASK} is not known`);
  process.kill(pid, "SIGKILL");
  const { length: done } = await demo.casesDone();
  screen.say(
    `${time()}  ${red(`kill -9 ${pid}`)}: the worker of task ${KILLED_TASK}, at case ${done} of ${CASES}`,
  );
  while (!printedKinds.has("crashed")) await systemClock.sleep(POLL_MS, signal);
  await demo.pause(1_500);
  screen.say(`${time()}  The retry would wait about 10 s. Skip the wait:`);
  screen.say(`          ${bold(`$ hermes kanban unguard ${id}`)}`);
  const { exitCode, stderr } = await waitForEnd(demo.start(["kanban", "unguard", id], signal));
  if (exitCode !== 0) throw demoFailed("the guards of the task could not be removed", stderr);
}

async function waitForEnd(child: DemoProcess): Promise<Awaited<DemoProcess["ended"]>> {
  for await (const _ of child.lines); // drains the output, so that the process does not block
  return child.ended;
}

/** Checks the stored runs and the files, and prints a summary. */
async function showResult(
  { demo, board, graph }: BoardDemo,
  { terminal }: CommandContext,
  signal: AbortSignal,
): Promise<void> {
  const shown = await Promise.all(board.ids.map((id) => board.store.show(id, signal)));
  const runs = shown.flatMap((one) => one.runs);
  for (const [index, { runs: own }] of shown.entries()) {
    const completed = own.filter(({ outcome }) => outcome === "completed");
    if (completed.length !== 1) throw demoFailed(`task ${index + 1} was completed ${completed.length} times`);
  }
  const files = await readdir(demo.project);
  const missing = graph.filter(({ file }) => !files.includes(file)).map(({ file }) => file);
  if (missing.length > 0) throw demoFailed(`${missing.join(", ")} is missing`);
  terminal.print(`\n${terminal.colours.bold("The result:")}`);
  terminal.print(
    `    ${runs.length} runs for ${graph.length} tasks: one was killed, and each task was completed once.`,
  );
  await demo.confirmCases();
  terminal.print(`    ${files.toSorted().join(" ")}`);
}
