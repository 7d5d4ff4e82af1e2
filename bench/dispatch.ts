import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { boardPath } from "../src/board/board-slug.ts";
import { type BoardStore, openBoardStore } from "../src/board/board-store.ts";
import type { DispatchBoard } from "../src/board/dispatcher/dispatch-board.ts";
import type { DispatchHost } from "../src/board/dispatcher/dispatch-host.ts";
import { runPass } from "../src/board/dispatcher/run-pass.ts";
import type { BoardLocation } from "../src/board/open-board.ts";
import { loadSqlite } from "../src/lib/sqlite/sqlite.ts";
import { systemClock } from "../src/lib/time/clock.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { dispatchPolicy } from "../test/support/dispatch-policy.ts";
import { type Bench, type Measurement, medians, milliseconds } from "./bench.ts";
import { measureKanbanStart } from "./kanban-start.ts";
import { measureWorkerStart } from "./worker-start.ts";

const ROUNDS = 30;
const READY = 1_000;
const FEW = 1_000;
const MANY = 100_000;

/** What a pass of the dispatcher costs, with many finished tasks and compared with the query that it needs; and a start. */
export const dispatchBench: Bench = {
  name: "dispatch",
  async run() {
    const root = await mkdtemp(join(tmpdir(), "hermes-bench-"));
    try {
      return [
        await finishedWork(root),
        await manyReady(root),
        await listing(root),
        await measureWorkerStart(root),
        ...(await measureKanbanStart(root)),
      ];
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  },
};

const host: DispatchHost = {
  id: "bench",
  runnable: async () => ({ ok: true }),
  routeOf: async (name: string) => name,
  findBranchUser: async () => undefined,
  start: async () => ({ kind: "failed", cause: "infrastructure", error: "nothing is started here" }),
  isAlive: async () => "unknown",
  terminate: async () => "unknown",
  memoryPressure: async () => "none",
  runningElsewhere: async () => 0,
  reserveSlot: async () => ({ giveTo: async () => undefined, release: async () => undefined }),
};

/** A pass without free capacity, so that it can be repeated. */
function runPassOnce(board: DispatchBoard, dryRun = false) {
  return runPass(
    {
      board,
      host,
      policy: dispatchPolicy({}),
      owner: "bench",
      isDead: async () => false,
      clock: systemClock,
      random: Math.random,
      maxStarts: 0,
      dryRun,
    },
    neverAborted,
  );
}

async function finishedWork(root: string): Promise<Measurement> {
  await using few = await openFilled(root, "few", { ready: 20, done: FEW });
  await using many = await openFilled(root, "many", { ready: 20, done: MANY });
  const found = await medians(
    ROUNDS,
    () => runPassOnce(many.forDispatcher),
    () => runPassOnce(few.forDispatcher),
  );
  return {
    name: "a pass with 100,000 done tasks ÷ with 1,000",
    ours: milliseconds(found.ours),
    peer: milliseconds(found.peer),
    ratio: found.ours / found.peer,
    budget: { max: 1.2 },
  };
}

async function manyReady(root: string): Promise<Measurement> {
  await using few = await openFilled(root, "few-ready", { ready: 200, done: FEW });
  await using many = await openFilled(root, "many-ready", { ready: 20_000, done: FEW });
  const found = await medians(
    ROUNDS,
    () => runPassOnce(many.forDispatcher),
    () => runPassOnce(few.forDispatcher),
  );
  return {
    name: "a pass with 20,000 ready tasks and no free capacity ÷ with 200",
    ours: milliseconds(found.ours),
    peer: milliseconds(found.peer),
    ratio: found.ours / found.peer,
    budget: { max: 1.5 },
  };
}

async function listing(root: string): Promise<Measurement> {
  const slug = "ready";
  await using store = await openFilled(root, slug, { ready: READY, done: FEW });
  const Sqlite = await loadSqlite();
  const connection = new Sqlite(boardPath(root, slug), { readonly: true });
  const query = connection.prepare("select id from task where status = 'ready' order by priority desc, seq");
  try {
    const found = await medians(
      ROUNDS,
      async () => {
        const { deferred_capacity } = await runPassOnce(store.forDispatcher, true);
        if (deferred_capacity.length !== READY) throw new Error(`${deferred_capacity.length} were named`);
      },
      () => {
        if (query.all().length !== READY) throw new Error("the query did not return all tasks");
      },
    );
    return {
      name: "a dry run that lists 1,000 ready tasks ÷ one query of them",
      ours: milliseconds(found.ours),
      peer: milliseconds(found.peer),
      ratio: found.ours / found.peer,
      budget: { max: 20 },
    };
  } finally {
    connection.close();
  }
}

async function openFilled(
  root: string,
  slug: string,
  count: { readonly ready: number; readonly done: number },
): Promise<BoardStore> {
  const location: BoardLocation = { root, databaseUrl: "", slug, create: true };
  await (await openBoardStore(location, {}, neverAborted))[Symbol.asyncDispose]();
  const Sqlite = await loadSqlite();
  const connection = new Sqlite(boardPath(root, slug));
  for (const [status, rows] of Object.entries(count)) {
    connection
      .prepare(`
        insert into task (id, title, assignee, status, created_by, created_at, updated_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
        select 't_' || ? || i, 'a task', 'worker', ?, 'bench', 0, 0 from n`)
      .run(rows, status, status);
  }
  connection.exec(`
    insert into run (task_id, profile, source_status, lease_token, host_id, lease_ms, lease_until, started_at, ended_at,
                     outcome)
    select id, 'worker', 'ready', id, 'bench', 1, 0, 0, 1, 'completed' from task where status = 'done'; -- none of them runs
    analyze`);
  connection.close();
  return openBoardStore(location, {}, neverAborted);
}
