import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { boardPath, boardSchemaName } from "../src/board/board-slug.ts";
import { openBoardStore } from "../src/board/board-store.ts";
import { only } from "../src/board/database/steps.ts";
import type { BoardLocation } from "../src/board/open-board.ts";
import { loadSqlite } from "../src/lib/sqlite/sqlite.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { type Measurement, median, medians, milliseconds } from "./bench.ts";

const TURNS = 20;
const CREATES = 50; // per turn: 1,000 in total
const WARM_UP = 12; // turns, for the compiler and until the write-ahead logs no longer grow
const CAP = 8;
const CLAIMERS = 64;
const ASK_EVERY_MS = 100;
const COMPLETIONS = 40;
const READY = 20_000;
const RUNNING = "select value from counter where name = 'running'";

/** Tasks created one by one, compared with bare inserts of the same rows: each waits for the disk once. */
export async function measureCreates(root: string): Promise<Measurement> {
  const location = (slug: string): BoardLocation => ({ root, databaseUrl: "", slug, create: true });
  await using store = await openBoardStore(location("creates"), {}, neverAborted);
  await (await openBoardStore(location("inserts"), {}, neverAborted))[Symbol.asyncDispose]();
  const operator = store.as({ kind: "operator", name: "bench" });
  const Sqlite = await loadSqlite();
  const bare = new Sqlite(boardPath(root, "inserts"));
  try {
    bare.pragma("synchronous = FULL");
    const insertTask = bare.prepare(`
      insert into task (id, title, body, assignee, status, created_by, created_at, updated_at, ready_at)
      values (?, 'a task', 'what it is about', 'worker', 'ready', 'bench', 1, 1, 1)`);
    const count = bare.prepare("update counter set value = value + 1 where name = 'event'");
    const insertEvent = bare.prepare(`
      insert into event (id, task_id, kind, actor, to_status, payload, created_at)
      values ((select value from counter where name = 'event'), ?, 'created', 'bench', 'ready', ?, 1)`);
    const payload = JSON.stringify({ assignee: "worker", status: "ready", parents: [], tenant: null });
    const create = async () => {
      for (let n = 0; n < CREATES; n++)
        await operator.create(
          { title: "a task", body: "what it is about", assignee: "worker" },
          neverAborted,
        );
    };
    const insert = () => {
      for (let n = 0; n < CREATES; n++) {
        const id = `t_${randomBytes(6).toString("hex")}`;
        bare.exec("begin immediate");
        insertTask.run(id);
        count.run();
        insertEvent.run(id, payload);
        bare.exec("commit");
      }
    };
    for (let turn = 0; turn < WARM_UP; turn++) {
      await create();
      insert();
    }
    const found = await medians(TURNS, create, insert);
    return {
      name: `${TURNS * CREATES} creates ÷ bare inserts of the same rows`,
      ours: milliseconds(found.ours * TURNS),
      peer: milliseconds(found.peer * TURNS),
      ratio: found.ours / found.peer,
      budget: { max: 1.5 },
    };
  } finally {
    bare.close();
  }
}

/** How long a user waits for `complete` while many hosts try to claim the capacity that it frees. */
export async function measureCompletions(databaseUrl: string): Promise<Measurement> {
  const slug = `bench-${randomBytes(6).toString("hex")}`;
  const location: BoardLocation = { root: "/nowhere", databaseUrl, slug, create: true };
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  const schema = boardSchemaName(slug);
  try {
    await using store = await openBoardStore(location, { connections: 1 }, neverAborted);
    await using others = await openBoardStore(location, { connections: CLAIMERS }, neverAborted);
    await admin.query(`
      insert into "${schema}".task (id, title, assignee, status, created_by, created_at, updated_at)
      select 't_' || i, 'n', 'worker', 'ready', 'bench', 0, 0 from generate_series(1, ${READY}) i;
      analyze "${schema}".task`);
    const operator = store.as({ kind: "operator", name: "bench" });
    const running: string[] = [];
    const caps = { board: CAP, host: CAP, perProfile: CAP };
    let last = 0;
    /** Reads the free capacity before it claims, as a dispatcher does. */
    const claim = async (from: typeof store, count: number): Promise<void> => {
      const { value } = await from.forDispatcher.read(() => only<{ value: number }>(RUNNING), neverAborted);
      if (value >= CAP) return;
      const wanted = Array.from({ length: count }, () => `t_${++last}`);
      const request = { from: "ready", leaseMs: 3_600_000, hostId: "bench", taskIds: wanted, caps } as const;
      const { claimed } = await from.as({ kind: "system", name: "bench" }).claim(request, neverAborted);
      running.push(...claimed.map(({ task }) => task.id));
    };
    /** Returns the median of completions, each after the freed capacity was claimed again. */
    const complete = async (refill: () => Promise<void>): Promise<number> => {
      const times: number[] = [];
      while (times.length < COMPLETIONS) {
        const id = running.shift();
        if (id !== undefined) {
          const started = performance.now();
          await operator.complete(id, { summary: "done" }, neverAborted);
          times.push(performance.now() - started);
        }
        await refill();
      }
      return median(times);
    };
    await claim(store, CAP);
    const alone = await complete(() => claim(store, 1));
    const stop = new AbortController();
    const claimers = Array.from({ length: CLAIMERS }, async () => {
      for (; !stop.signal.aborted; await sleep(ASK_EVERY_MS)) await claim(others, 1);
    });
    const contended = await complete(() => sleep(ASK_EVERY_MS));
    stop.abort();
    await Promise.all(claimers);
    return {
      name: `complete while ${CLAIMERS} hosts try to claim every ${ASK_EVERY_MS} ms ÷ alone, PostgreSQL`,
      ours: milliseconds(contended),
      peer: milliseconds(alone),
      ratio: contended / alone,
      budget: { max: 3 },
    };
  } finally {
    await admin.query(`drop schema if exists "${schema}" cascade`);
    await admin.end();
  }
}
