import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOwnIdentity } from "../src/lib/process/process-identity.ts";
import { type Database, openDatabase } from "../src/lib/sqlite/database.ts";
import { systemClock } from "../src/lib/time/clock.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { sessionMigrations } from "../src/sessions/session-migrations.ts";
import { openSessionStore, type SessionStore } from "../src/sessions/session-store.ts";
import { fillSessions } from "../test/support/fill-sessions.ts";
import {
  assistant,
  call,
  NEW_SESSION,
  toolEnd,
  turnEnd,
  turnStart,
} from "../test/support/session-fixtures.ts";
import { type Bench, type Measurement, medians, milliseconds } from "./bench.ts";

const MESSAGES = 1_000_000;
const SMALL = 100; // messages: about one session
const ROUNDS = 15;
const TURNS = 200;
const EVENTS_PER_TURN = 6;
const EVENT_MS = 0.25; // the goal is "well under a millisecond", whatever a plain row costs
const LIMIT = 10;
const SEARCHES = [
  { name: "a frequent word", text: "word3", table: "message_words", raw: '"word3"' },
  { name: "two words", text: "word40 word7", table: "message_words", raw: '"word40" AND "word7"' },
  { name: "a prefix", text: "word12*", table: "message_words", raw: '"word12"*' },
  { name: "Japanese", text: "全文検索", table: "message_words", raw: '"全 文 検 索"' },
  { name: "a part of words", text: "ord2999", table: "message_trigrams", raw: '"ord2999"' },
] as const;

/** What recording an event and searching a million messages cost, compared with bare SQLite. */
export const sessionsBench: Bench = {
  name: "sessions",
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
    try {
      const path = join(folder, "sessions.sqlite");
      await fillSessions(path, MESSAGES, neverAborted);
      using store = await openSessionStore(path, {}, neverAborted);
      await store.search({ text: "word1", limit: 1, order: "newest" }, neverAborted); // builds the index
      using database = await openRaw(path);
      const searches: Measurement[] = [];
      for (const search of SEARCHES) searches.push(await measureSearch(store, database, search));
      return [
        ...searches,
        await measureOpening(path, join(folder, "small.sqlite")),
        await measureRecording(store, await openRaw(join(folder, "raw.sqlite"))),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function openRaw(path: string): Promise<Database> {
  return openDatabase(
    path,
    { migrations: sessionMigrations, synchronous: "NORMAL", clock: systemClock },
    neverAborted,
  );
}

async function measureSearch(
  store: SessionStore,
  database: Database,
  { name, text, table, raw }: (typeof SEARCHES)[number],
): Promise<Measurement> {
  const bare = database.prepare(
    `select rowid from ${table} where ${table} match ? order by rank limit ${LIMIT}`,
  );
  const found = await medians(
    ROUNDS,
    () => store.search({ text, limit: LIMIT, order: "best" }, neverAborted),
    () => bare.all(`text : (${raw})`),
  );
  return {
    name: `search for ${name} ÷ bare FTS5`,
    ours: milliseconds(found.ours),
    peer: milliseconds(found.peer),
    ratio: found.ours / found.peer,
    budget: { max: Math.max(1.5, 1 + 3 / found.peer) }, // or 3 ms more, which reading the results takes
  };
}

/** Opens the store and one of its sessions in a process that has opened neither before. */
async function measureOpening(path: string, smallPath: string): Promise<Measurement> {
  await fillSessions(smallPath, SMALL, neverAborted);
  const open = async (file: string): Promise<void> => {
    using store = await openSessionStore(file, {}, neverAborted);
    const [newest] = store.list.list({ limit: 1 });
    store.loadSession(newest?.id ?? "");
  };
  const found = await medians(
    ROUNDS * 2,
    () => open(path),
    () => open(smallPath),
  );
  return {
    name: "opening a session ÷ in a store without other sessions",
    ours: milliseconds(found.ours),
    peer: milliseconds(found.peer),
    ratio: found.ours / found.peer,
    budget: { max: 1.5 },
  };
}

/** An event, which is up to five rows and a check of the lease, compared with one plain row in its own transaction. */
async function measureRecording(store: SessionStore, raw: Database): Promise<Measurement> {
  using database = raw;
  const identity = await readOwnIdentity(neverAborted);
  await using turn = await store.acquireTurn(store.createSession(NEW_SESSION), identity, neverAborted);
  await database.write(
    () => database.prepare("create table plain (body text not null) strict").run(),
    neverAborted,
  );
  const insert = database.prepare("insert into plain values (?)");
  const text = "x".repeat(500);
  let number = 0;
  const { ours, peer } = await medians(
    5,
    async () => {
      for (const last = number + TURNS; number < last; number++) {
        const [id, calls] = [`t${number}`, [call(`c${number}`)]];
        await turn.record(turnStart(id, text), neverAborted);
        await turn.record(assistant(text, calls), neverAborted);
        await turn.record({ type: "tools-start", calls }, neverAborted);
        await turn.record(toolEnd(`c${number}`, text), neverAborted);
        await turn.record(assistant(text), neverAborted);
        await turn.record(turnEnd(id), neverAborted);
      }
    },
    async () => {
      for (let event = 0; event < TURNS * EVENTS_PER_TURN; event++)
        await database.write(() => insert.run(text), neverAborted);
    },
  );
  const micro = (ms: number): string => `${((ms * 1_000) / TURNS / EVENTS_PER_TURN).toFixed(0)} µs`;
  return {
    name: "recording an event ÷ one row in its own transaction",
    ours: micro(ours),
    peer: micro(peer),
    ratio: ours / peer,
    budget: { max: EVENT_MS / (peer / TURNS / EVENTS_PER_TURN) },
  };
}
