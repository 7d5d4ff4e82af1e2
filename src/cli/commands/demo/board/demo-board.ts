import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { type BoardPlace, type BoardStore, openBoardStore } from "../../../../board/board-store.ts";
import { endProcesses } from "../../../../board/worker/end-processes.ts";
import { terminateRun } from "../../../../board/worker/find-run.ts";
import { killBoardNow } from "../../../../board/worker/kill-now.ts";
import { runProcesses } from "../../../../board/worker/process-table.ts";
import { boardMark, SUPERVISOR_MARK } from "../../../../board/worker/run-mark.ts";
import type { Actor, Stage } from "../stage.ts";
import { bodyOf, createScript, type DemoTask } from "./graph.ts";

const CLEANUP_MS = 20_000;
/** More than any machine allows by itself: what else it does must not keep the demonstration waiting. */
const ROOM = 64;

/** A board on the stage with its tasks, and the profiles that can work on them. No process of it outlives it. */
export interface DemoBoard extends AsyncDisposable {
  readonly store: BoardStore;
  /** Ids of the tasks in the order of the graph. */
  readonly ids: readonly string[];
  startDaemon(signal: AbortSignal): Actor;
}

export async function openDemoBoard(
  stage: Stage,
  graph: readonly DemoTask[],
  options: { readonly isFast: boolean },
  signal: AbortSignal,
): Promise<DemoBoard> {
  const place: BoardPlace = { root: stage.home, databaseUrl: "", slug: "default" };
  await fillHome(stage.home, graph, options);
  const store = await openBoardStore(place, {}, signal);
  const ids = await createTasks(store, graph, stage.project, signal);
  // Before the stage's own listener: its folder goes last.
  const onExit = (): void => killBoardNow(store.identity);
  process.prependOnceListener("exit", onExit);
  let daemon: Actor | undefined;
  return {
    store,
    ids,
    startDaemon(within) {
      daemon = stage.start(["kanban", "daemon"], within);
      return daemon;
    },
    async [Symbol.asyncDispose]() {
      daemon?.kill(); // first who starts others
      await daemon?.ended;
      await endBoard(store);
      await store[Symbol.asyncDispose]();
      process.off("exit", onExit);
    },
  };
}

/** The daemon's profile, and those with a scripted model each. */
async function fillHome(
  home: string,
  graph: readonly DemoTask[],
  options: { readonly isFast: boolean },
): Promise<void> {
  // The person's login files may be slow and print, and nothing here needs them.
  const terminal = { backend: "local", shell_init_files: ["/dev/null"] };
  await writeFile(join(home, "config.yaml"), stringify({ terminal, kanban: { max_in_progress: ROOM } }));
  for (const name of new Set(graph.map(({ assignee }) => assignee))) {
    const folder = join(home, "profiles", name);
    const script = join(folder, "script.json");
    const model = { provider: "scripted", default: script };
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
    const place = { workspaceKind: "dir", workspacePath } as const;
    const task = { title, body: bodyOf(index + 1), assignee, parents, ...place };
    ids.push((await person.create(task, signal)).task.id);
  }
  return ids;
}

/** Ends every supervisor and worker: by their marks, and where nobody can read those by the board's own record. */
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
