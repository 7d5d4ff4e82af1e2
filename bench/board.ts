import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { boardPath, boardSchemaName } from "../src/board/board-slug.ts";
import { type BoardStore, openBoardStore } from "../src/board/board-store.ts";
import type { BoardLocation } from "../src/board/open-board.ts";
import { openDatabase } from "../src/lib/sqlite/database.ts";
import { loadSqlite } from "../src/lib/sqlite/sqlite.ts";
import { systemClock } from "../src/lib/time/clock.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { loadPart } from "../test/support/services.ts";
import { type Bench, type Measurement, median, medians, milliseconds } from "./bench.ts";
import { measureCompletions, measureCreates } from "./board-load.ts";
import { fetchPeer } from "./peer.ts";

const ROUNDS = 7;
const TURNS = 50; // many short alternating turns, because the speed of the disk varies
const CLAIMS = 160; // a multiple of BATCH
const WARM_UP = 12; // turns, for the compiler
const CLAIMERS = 8;
const CLAIMS_EACH = 100;
const BATCH = 16;
const READY = 200;
const LISTS = 40;
const CLAIM = { from: "ready", leaseMs: 30_000, hostId: "bench" } as const;
const CAPS = { board: 1_000_000, host: 1_000_000, perProfile: 1_000_000 };

/** What claims with their runs, events and caps cost, compared with bare updates; and whether finished tasks cost nothing. */
export const boardBench: Bench = {
  name: "board",
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
    try {
      return [
        ...(await claimsInSqlite(folder)),
        ...(await claimsInPostgres()),
        await listing(folder),
        await measureCreates(folder),
        await measureCompletions(postgresUrl()),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** The statement of a queue without runs, events and caps. */
const BARE = `
  update bare set status = 'running' where id = (
    select id from bare where status = 'ready' order by priority desc, id limit 1 {lock}) returning id`;

async function claimsInSqlite(root: string): Promise<readonly Measurement[]> {
  const location: BoardLocation = { root, databaseUrl: "", slug: "claims", create: true };
  const rows = (WARM_UP + (TURNS + 2) * 3) * CLAIMS;
  await using store = await openBoardStore(location, {}, neverAborted);
  await fillSqlite(location, { ready: rows, done: 0 });
  const schema = `create table bare (id integer primary key, status text not null, priority integer not null) strict;
    create index bare_ready on bare (status, priority desc, id)`;
  using bare = await openDatabase(
    join(root, "bare.sqlite"),
    { migrations: [{ name: "bare", sql: schema }], synchronous: "FULL", clock: systemClock },
    neverAborted,
  );
  const fill = bare.prepare(`
    insert into bare (status, priority) with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
    select 'ready', 0 from n`);
  await bare.write(() => fill.run(rows), neverAborted);
  const claim = bare.prepare(BARE.replace("{lock}", ""));
  const bareClaims = async () => {
    for (let n = 0; n < CLAIMS; n++) await bare.write(() => claim.get(), neverAborted);
  };
  const system = store.as({ kind: "system", name: "bench" });
  let last = 0;
  const ours = (batch: number, caps: typeof CAPS | undefined) => async () => {
    for (let n = 0; n < CLAIMS / batch; n++) {
      const taskIds = Array.from({ length: batch }, () => `t_ready${++last}`);
      const { claimed } = await system.claim({ ...CLAIM, taskIds, ...(caps && { caps }) }, neverAborted);
      if (claimed.length !== batch) throw new Error(`claimed ${claimed.length} of ${batch}`);
    }
  };
  for (let turn = 0; turn < WARM_UP; turn++) await ours(1, CAPS)();
  const single = await medians(TURNS, ours(1, undefined), bareClaims);
  const capped = await medians(TURNS, ours(1, CAPS), bareClaims);
  const batched = await medians(TURNS, ours(BATCH, CAPS), bareClaims);
  return [
    // Both wait for the disk once. A claim writes nine pages instead of three, with five statements instead of one.
    speed("claims in SQLite, one by one ÷ bare update", single, CLAIMS, { min: 0.4 }),
    speed("claims in SQLite, one by one, caps ÷ bare update", capped, CLAIMS, { min: 0.3 }),
    speed(`claims in SQLite, ${BATCH} at once, caps ÷ bare update`, batched, CLAIMS, { min: 0.4 }),
  ];
}

async function claimsInPostgres(): Promise<readonly Measurement[]> {
  const url = postgresUrl();
  const location: BoardLocation = {
    root: "/nowhere",
    databaseUrl: url,
    slug: `bench-${randomBytes(6).toString("hex")}`,
    create: true,
  };
  const schema = boardSchemaName(location.slug);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const stores: BoardStore[] = [];
  const clients: pg.Client[] = [];
  try {
    for (let n = 0; n < CLAIMERS; n++) {
      stores.push(await openBoardStore(location, { connections: 1 }, neverAborted));
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(`set search_path to "${schema}"`);
      clients.push(client);
    }
    const rows = (ROUNDS + 2) * CLAIMERS * CLAIMS_EACH;
    await admin.query(`set search_path to "${schema}"`);
    await admin.query(`
      create table bare (id bigint primary key, status text not null, priority bigint not null);
      create index on bare (status, priority desc, id);
      insert into bare select i, 'ready', 0 from generate_series(1, ${rows}) i;
      insert into task (id, title, assignee, status, created_by, created_at, updated_at)
      select 't_' || i, 'n', 'worker', 'ready', 'bench', 0, 0 from generate_series(1, ${rows}) i;
      analyze bare; analyze task`);
    const seen: string[] = [];
    let last = 0;
    const ours = () =>
      Promise.all(
        stores.map(async (store) => {
          const system = store.as({ kind: "system", name: "bench" });
          for (let left = CLAIMS_EACH; left > 0; ) {
            const taskIds = Array.from({ length: Math.min(BATCH, left) }, () => `t_${++last}`);
            const { claimed } = await system.claim({ ...CLAIM, taskIds, caps: CAPS }, neverAborted);
            left -= claimed.length;
            seen.push(...claimed.map(({ task }) => task.id));
          }
        }),
      );
    const text = BARE.replace("{lock}", "for update skip locked");
    const bare = () =>
      Promise.all(
        clients.map(async (client) => {
          for (let n = 0; n < CLAIMS_EACH; n++) await client.query({ name: "claim", text });
        }),
      );
    const found = await medians(ROUNDS, ours, bare);
    if (new Set(seen).size !== seen.length) throw new Error("a task was claimed twice");
    const count = CLAIMERS * CLAIMS_EACH;
    const name = `claims in PostgreSQL, ${CLAIMERS} claimers, caps, ${BATCH} at once`;
    const peer = await graphileJobs(url, count);
    return [
      speed(`${name} ÷ bare update`, found, count, { min: 0.4 }),
      // For orientation only: its jobs end within milliseconds and have neither caps nor history.
      speed(`${name} ÷ jobs of graphile-worker`, { ours: found.ours, peer }, count, { min: 0.1 }),
    ];
  } finally {
    for (const store of stores) await store[Symbol.asyncDispose]();
    for (const client of clients) await client.end();
    await admin.query(`drop schema if exists "${schema}" cascade`);
    await admin.end();
  }
}

interface Graphile {
  run(options: {
    readonly connectionString: string;
    readonly concurrency: number;
    readonly pollInterval: number;
    readonly noHandleSignals: boolean;
    readonly taskList: Readonly<Record<string, () => Promise<void>>>;
    readonly logger: unknown;
  }): Promise<{ stop(): Promise<void> }>;
  runMigrations(options: { readonly connectionString: string; readonly logger: unknown }): Promise<void>;
  Logger: new (make: () => () => void) => unknown;
}

/** Milliseconds that `count` empty jobs take there, with the same concurrency. */
async function graphileJobs(url: string, count: number): Promise<number> {
  const modules = await fetchPeer("graphile-worker", "0.16.6");
  const found = (await import(join(modules, "graphile-worker", "dist", "index.js"))) as Graphile & {
    readonly default?: Graphile;
  };
  const graphile = found.default ?? found;
  const logger = new graphile.Logger(() => () => undefined);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await graphile.runMigrations({ connectionString: url, logger });
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await admin.query("select graphile_worker.add_job('noop') from generate_series(1, $1)", [count]);
      let done = 0;
      const started = performance.now();
      const runner = await new Promise<{ stop(): Promise<void> }>((resolve, reject) => {
        let running: { stop(): Promise<void> } | undefined;
        const noop = async (): Promise<void> => {
          if (++done === count && running !== undefined) resolve(running);
        };
        const options = {
          connectionString: url,
          concurrency: CLAIMERS,
          pollInterval: 100,
          noHandleSignals: true,
        };
        graphile.run({ ...options, taskList: { noop }, logger }).then((active) => {
          running = active;
          if (done === count) resolve(active);
        }, reject);
      });
      times.push(performance.now() - started);
      await runner.stop();
    }
    return median(times);
  } finally {
    await admin.query("drop schema if exists graphile_worker cascade");
    await admin.end();
  }
}

async function listing(root: string): Promise<Measurement> {
  const locations = [1_000, 100_000].map((done): BoardLocation & { done: number } => {
    return { root, databaseUrl: "", slug: `done-${done}`, create: true, done };
  });
  const times: number[][] = [[], []];
  const stores = await Promise.all(locations.map((location) => openBoardStore(location, {}, neverAborted)));
  for (const location of locations) await fillSqlite(location, { ready: READY, done: location.done });
  for (let round = 0; round < LISTS + 2; round++) {
    for (const [index, store] of stores.entries()) {
      const started = performance.now();
      const { tasks } = await store.list({ status: "ready", limit: READY }, neverAborted);
      await store.as({ kind: "system", name: "bench" }).recompute(undefined, neverAborted);
      if (tasks.length !== READY) throw new Error(`listed ${tasks.length}`);
      if (round >= 2) times[index]?.push(performance.now() - started);
    }
  }
  for (const store of stores) await store[Symbol.asyncDispose]();
  const [few = Number.NaN, many = Number.NaN] = times.map(median);
  return {
    name: "listing ready tasks with 100,000 done tasks ÷ with 1,000",
    ours: milliseconds(many),
    peer: milliseconds(few),
    ratio: many / few,
    budget: { max: 1.2 },
  };
}

/** Bypasses the store, which would use one transaction per task. */
async function fillSqlite(location: BoardLocation, count: { ready: number; done: number }): Promise<void> {
  const Sqlite = await loadSqlite();
  const connection = new Sqlite(boardPath(location.root, location.slug));
  for (const [status, rows] of Object.entries(count)) {
    connection
      .prepare(`
        insert into task (id, title, assignee, status, created_by, created_at, updated_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
        select 't_' || ? || i, 'a task', 'worker', ?, 'bench', 0, 0 from n where ? > 0`)
      .run(rows, status, status, rows);
  }
  connection.exec("analyze");
  connection.close();
}

function speed(
  name: string,
  { ours, peer }: { ours: number; peer: number },
  count: number,
  budget: Measurement["budget"],
): Measurement {
  const rate = (ms: number): string => `${Math.round(count / (ms / 1_000))}/s`;
  return { name, ours: rate(ours), peer: rate(peer), ratio: peer / ours, budget };
}

function postgresUrl(): string {
  const found = loadPart("postgres");
  if (found.state !== "running") throw new Error(`PostgreSQL does not run: ${found.reason}`);
  return found.url;
}
