import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BoardEvent, Task } from "../../../../board/task.ts";
import { systemClock } from "../../../../lib/clock.ts";
import { readTextFile } from "../../../../lib/files.ts";
import type { CommandContext } from "../../../context.ts";
import { type Actor, openStage, type Stage } from "../stage.ts";
import { ownName, renderSteps, unexpected } from "../words.ts";
import { type BoardScreen, createBoardScreen, type ScreenRow } from "./board-screen.ts";
import { type DemoBoard, openDemoBoard } from "./demo-board.ts";
import { CASES, createGraph, type DemoTask, KILLED, PROGRESS } from "./graph.ts";

const KILLED_AFTER_CASES = 8;
const LOOK_EVERY_MS = 50;
const GIVES_UP_MS = 300_000; // of a machine that has much else to do
/** What the board takes, with two lines of what happens above it. */
const SMALLEST = { columns: 80, rows: 14 };

interface Show {
  readonly stage: Stage;
  readonly board: DemoBoard;
  readonly graph: readonly DemoTask[];
  readonly screen: BoardScreen;
  readonly daemon: Actor;
  /** Kinds of events of the killed task that have been shown. */
  readonly told: Set<string>;
  pause(ms: number): Promise<void>;
  /** Seconds since the daemon was started, as they stand before a line. */
  time(): string;
}

/** The demonstration of the board; resolves only when each task was done, and done once. */
export async function runBoardDemo(
  context: CommandContext,
  options: { readonly isFast: boolean },
): Promise<void> {
  const { terminal } = context;
  const { bold } = terminal.colours;
  const limit = new AbortController();
  setTimeout(() => limit.abort(unexpected("it took too long")), GIVES_UP_MS).unref();
  const failed = new AbortController(); // one half of the show must not wait for the other
  const signal = AbortSignal.any([context.signal, limit.signal, failed.signal]);
  const graph = createGraph(options);

  terminal.print(`${bold("Hermes demo")}: three agents work off a board, and one of them is killed.\n`);
  terminal.print("  model     scripted: it follows a file instead of thinking. No key, no network.");
  terminal.print("  the rest  is real: board, dispatcher, supervisors, workers, their files.");
  await using stage = await openStage(context);
  await using board = await openDemoBoard(stage, graph, options, signal);
  const pause = (ms: number): Promise<void> => systemClock.sleep(options.isFast ? 0 : ms, signal);
  await pause(1_000);

  terminal.print(`\n${bold("$ hermes kanban daemon")}`);
  const startedAt = performance.now();
  const show: Show = {
    stage,
    board,
    graph,
    screen: createBoardScreen(terminal, canRedraw(context)),
    daemon: board.startDaemon(signal),
    told: new Set(),
    pause,
    time: () => `${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`,
  };
  const half = async (action: Promise<void>): Promise<void> => {
    try {
      await action;
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  // Whichever fails first has the reason; the other only hears of it.
  await Promise.all([half(showChanges(show, signal)), half(killOne(show, context, signal))]);
  show.screen.end();
  await showResult(show, context, signal);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  terminal.print(
    `\nThat took ${seconds} s, and leaves nothing behind. ${bold("Next, with a real model:")}\n`,
  );
  terminal.print(nextSteps(ownName()));
}

/** Lines that stand there can be written over, and all of them are on the screen. */
function canRedraw({ terminal, variables }: CommandContext): boolean {
  const { columns = 0 } = terminal;
  const rows = process.stdout.rows ?? 0;
  return columns >= SMALLEST.columns && rows >= SMALLEST.rows && variables["TERM"] !== "dumb";
}

/** Shows the board as it changes, until all of it is done. */
async function showChanges(show: Show, signal: AbortSignal): Promise<void> {
  const { board, screen, daemon } = show;
  let isOver = false;
  const ended = daemon.ended.then((end) => {
    isOver = true;
    return end;
  });
  for (let cursor = 0; ; ) {
    const { tasks } = await board.store.list({}, signal);
    // Asked after the tasks: when all are done, the last event is among these.
    const events = await board.store.events(cursor, undefined, signal);
    cursor = events.at(-1)?.id ?? cursor;
    for (const event of events) tell(show, event);
    screen.update(await rowsOf(show, tasks));
    if (tasks.every(({ status }) => status === "done")) return;
    const lost = tasks.find(({ status }) => status === "blocked");
    if (lost !== undefined)
      throw unexpected(`"${lost.title}" was given up`, lost.last_failure_error ?? undefined);
    if (isOver) throw unexpected("the daemon has ended", (await ended).stderr);
    await systemClock.sleep(LOOK_EVERY_MS, signal);
  }
}

function tell({ board, graph, screen, told, time }: Show, event: BoardEvent): void {
  const index = board.ids.indexOf(event.task_id ?? "");
  const task = graph[index];
  const { summary, pid } = event.payload;
  const words: Readonly<Record<string, string>> = {
    spawned: `begins (run ${event.run_id}, process ${pid})`,
    completed: `done: ${summary}`,
    crashed: `run ${event.run_id} crashed; to be tried again`,
  };
  const said = words[event.kind];
  if (task === undefined || said === undefined) return;
  screen.say(`${time()}  ${index + 1} ${task.title.padEnd(21)} ${task.assignee.padEnd(7)} ${said}`);
  if (index + 1 === KILLED) told.add(event.kind);
}

async function rowsOf(show: Show, tasks: readonly Task[]): Promise<readonly ScreenRow[]> {
  const { board, graph, stage } = show;
  const statuses = new Map(tasks.map((task) => [task.id, task]));
  const isDone = (number: number): boolean => statuses.get(board.ids[number - 1] ?? "")?.status === "done";
  const cases = (await casesDone(stage)).length;
  return graph.map(({ title, assignee: who, after, file }, index): ScreenRow => {
    const number = index + 1;
    const row = { number, title, who };
    const task = statuses.get(board.ids[index] ?? "");
    const progress = number === KILLED && cases > 0 ? `, case ${cases} of ${CASES}` : "";
    if (task?.status === "done") return { ...row, state: "done", about: file };
    if (task?.status === "running")
      return { ...row, state: "running", about: `run ${task.current_run_id}${progress}` };
    const open = after.filter((one) => !isDone(one));
    if (open.length > 0) return { ...row, state: "waiting", about: `for ${open.join(", ")}` };
    const isAgain = (task?.consecutive_failures ?? 0) > 0;
    return { ...row, state: "ready", about: isAgain ? `after a pause${progress}` : "" };
  });
}

/** Kills the worker of the long check half way, and lets its task go on without the usual pause. */
async function killOne(show: Show, { terminal }: CommandContext, signal: AbortSignal): Promise<void> {
  const { stage, board, screen, told, pause, time } = show;
  const { bold, red } = terminal.colours;
  const id = board.ids[KILLED - 1] ?? "";
  while ((await casesDone(stage)).length < KILLED_AFTER_CASES) await systemClock.sleep(10, signal);
  const pid = (await board.store.show(id, signal)).runs.at(-1)?.worker_pid;
  if (pid === null || pid === undefined) throw unexpected(`the worker of task ${KILLED} is not known`);
  process.kill(pid, "SIGKILL");
  const { length: done } = await casesDone(stage);
  screen.say(
    `${time()}  ${red(`kill -9 ${pid}`)}: the worker of task ${KILLED}, at case ${done} of ${CASES}`,
  );
  while (!told.has("crashed")) await systemClock.sleep(LOOK_EVERY_MS, signal);
  await pause(1_500);
  screen.say(`${time()}  It would wait some 10 s before it tries again. Not today:`);
  screen.say(`          ${bold(`$ hermes kanban unguard ${id}`)}`);
  const { exitCode, stderr } = await runActor(stage.start(["kanban", "unguard", id], signal));
  if (exitCode !== 0) throw unexpected("the task could not be released", stderr);
}

async function runActor(actor: Actor): Promise<Awaited<Actor["ended"]>> {
  for await (const _ of actor.lines); // read, or it would wait for its reader
  return actor.ended;
}

async function casesDone({ project }: Stage): Promise<readonly string[]> {
  const text = (await readTextFile(join(project, PROGRESS))) ?? "";
  return text.split("\n").filter((line) => line !== "");
}

/** What the board says is one thing; this looks for itself. */
async function showResult(
  { stage, board, graph }: Show,
  { terminal }: CommandContext,
  signal: AbortSignal,
): Promise<void> {
  const shown = await Promise.all(board.ids.map((id) => board.store.show(id, signal)));
  const runs = shown.flatMap((one) => one.runs);
  for (const [index, { runs: own }] of shown.entries()) {
    const completed = own.filter(({ outcome }) => outcome === "completed");
    if (completed.length !== 1) throw unexpected(`task ${index + 1} was completed ${completed.length} times`);
  }
  const files = await readdir(stage.project);
  const missing = graph.filter(({ file }) => !files.includes(file)).map(({ file }) => file);
  if (missing.length > 0) throw unexpected(`${missing.join(", ")} is missing`);
  const cases = await casesDone(stage);
  if (cases.length !== CASES || new Set(cases).size !== CASES)
    throw unexpected(`${PROGRESS} has ${cases.length} lines instead of ${CASES}`);
  terminal.print(`\n${terminal.colours.bold("Seen from outside:")}`);
  terminal.print(
    `    ${runs.length} runs for ${graph.length} tasks: one was killed, and each task is done once.`,
  );
  terminal.print(`    ${CASES} of ${CASES} cases were checked, each of them once.`);
  terminal.print(`    ${files.toSorted().join(" ")}`);
}

function nextSteps(name: string): string {
  return renderSteps([
    [`${name} config set ANTHROPIC_API_KEY`, "asks for the key and stores it"],
    [`${name} profile create coder`, "somebody to do the work"],
    [`${name} kanban create "Fix it" --assignee coder`, "the work"],
    [`${name} kanban daemon`, "works it off, until Ctrl-C"],
    [`${name} kanban`, "the board"],
    [`${name} kanban why TASK`, "why a task does not run"],
  ]);
}
