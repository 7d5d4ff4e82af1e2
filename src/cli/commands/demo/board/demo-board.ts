import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { type BoardStore, openBoardStore } from "../../../../board/board-store.ts";
import type { BoardLocation } from "../../../../board/open-board.ts";
import { endProcesses } from "../../../../board/supervisor/end-processes.ts";
import { terminateRun } from "../../../../board/supervisor/find-run.ts";
import { killBoardNow } from "../../../../board/supervisor/kill-board-now.ts";
import { runProcesses } from "../../../../board/supervisor/process-table.ts";
import { boardMark, SUPERVISOR_MARK } from "../../../../board/worker/run-mark.ts";
import type { Demo, DemoOptions, DemoProcess } from "../open-demo.ts";
import { bodyOf, createScript, type DemoTask } from "./demo-tasks.ts";

const CLEANUP_MS = 20_000;
/** High, so that other tasks of this machine do not delay the demo. */
const MAX_IN_PROGRESS = 64;

/** The board of the demo with its tasks and profiles. Disposing it ends all its processes. */
export interface DemoBoard extends AsyncDisposable {
  readonly store: BoardStore;
  /** Ids of the tasks in the order of the graph. */
  readonly ids: readonly string[];
  startDaemon(signal: AbortSignal): DemoProcess;
}

export async function openDemoBoard(
  demo: Demo,
  graph: readonly DemoTask[],
  options: DemoOptions,
  signal: AbortSignal,
): Promise<DemoBoard> {
  const location: BoardLocation = { root: demo.home, databaseUrl: "", slug: "default" };
  await fillHome(demo.home, graph, options);
  const store = await openBoardStore(location, {}, signal);
  const ids = await createTasks(store, graph, demo.project, signal);
  // Before the listener of the demo, which removes the folder.
  const onExit = (): void => killBoardNow(store.identity);
  process.prependOnceListener("exit", onExit);
  let daemon: DemoProcess | undefined;
  return {
    store,
    ids,
    startDaemon(within) {
      daemon = demo.start(["kanban", "daemon"], within);
      return daemon;
    },
    async [Symbol.asyncDispose]() {
      daemon?.kill(); // first, because it starts the other processes
      await daemon?.ended;
      await endBoard(store);
      await store[Symbol.asyncDispose]();
      process.off("exit", onExit);
    },
  };
}

/** Writes the profile of the daemon and one profile with a scripted model per assignee. */
async function fillHome(home: string, graph: readonly DemoTask[], options: DemoOptions): Promise<void> {
  // The user's login files may be slow or print text, and the demo does not need them.
  const terminal = { backend: "local", shell_init_files: ["/dev/null"] };
  const scriptOf = (name: string): string => join(home, "profiles", name, "script.json");
  const modelOf = (name: string) => ({ provider: "scripted", default: scriptOf(name) });
  const names = [...new Set(graph.map(({ assignee }) => assignee))];
  await writeFile(
    join(home, "config.yaml"),
    stringify({ model: modelOf(names[0] ?? ""), terminal, kanban: { max_in_progress: MAX_IN_PROGRESS } }),
  );
  for (const name of names) {
    const folder = join(home, "profiles", name);
    const script = scriptOf(name);
    const model = modelOf(name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(script, JSON.stringify(createScript(graph, name, options)));
    await writeFile(join(folder, "config.yaml"), stringify({ model, terminal }));
  }
}

async function createTasks(
  store: BoardStore,
  graph: readonly DemoTask[],
  workspacePath: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const person = store.as({ kind: "operator", name: "you" });
  const ids: string[] = [];
  for (const [index, { title, assignee, after }] of graph.entries()) {
    const parents = after.flatMap((number) => ids[number - 1] ?? []);
    const location = { workspaceKind: "dir", workspacePath } as const;
    const task = { title, body: bodyOf(index + 1), assignee, parents, ...location };
    ids.push((await person.create(task, signal)).task.id);
  }
  return ids;
}

/** Ends all supervisors and workers. On Linux their environment identifies them, elsewhere the records of the board. */
async function endBoard(store: BoardStore): Promise<void> {
  const mark = boardMark(store.identity);
  await endProcesses({ variable: SUPERVISOR_MARK, mark }, 0);
  await endProcesses(runProcesses(mark), 0);
  if (process.platform === "linux") return;
  const signal = AbortSignal.timeout(CLEANUP_MS);
  for (const { current_run_id: id } of (await store.list({}, signal)).tasks) {
    const run = id === null ? undefined : await store.findRun(id, signal);
    if (run !== undefined) await terminateRun(store.identity, run, signal);
  }
}
