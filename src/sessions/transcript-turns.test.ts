import { expect, test } from "vitest";
import {
  assistant,
  call,
  converse,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { openDatabase } from "../lib/sqlite/database.ts";
import { systemClock } from "../lib/time/clock.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { FACT_SQL } from "./rows/session-facts.ts";
import { sessionMigrations } from "./session-migrations.ts";
import { openSessionStore } from "./session-store.ts";
import { TURNS_SQL } from "./transcript-turns.ts";

async function openStore() {
  const folder = await tempFolder();
  const store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  return {
    store,
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("a session is read turn by turn from its end, each page oldest first, and no turn twice", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const draft = store.createSession(NEW_SESSION);
  for (let number = 1; number <= 7; number++)
    await recordAll(store, number === 1 ? draft : draft.id, [
      turnStart(`t${number}`, `question ${number}`),
      assistant(`answer ${number}`, [], { costUsd: 0.5 }),
      turnEnd(`t${number}`),
    ]);
  const read = store.turns();
  const last = read(draft.id, { limit: 3 });
  expect(last.turns.map(({ id }) => id)).toEqual(["t5", "t6", "t7"]);
  expect(last.turns[2]).toMatchObject({
    ...{ outcome: "completed", costUsd: 0.5, isUndone: false, isCompacted: false },
    messages: [
      { role: "user", text: "question 7", calls: [] },
      { role: "assistant", text: "answer 7", calls: [] },
    ],
  });
  const middle = read(draft.id, { limit: 3, before: last.before });
  const first = read(draft.id, { limit: 3, before: middle.before });
  expect([...middle.turns, ...first.turns].map(({ id }) => id)).toEqual(["t2", "t3", "t4", "t1"]);
  expect(first.before).toBeUndefined();
  expect(read("nowhere", { limit: 3 })).toEqual({ turns: [], before: undefined });
});

test("an answer contains its calls, with their results as far as they exist", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const draft = store.createSession(NEW_SESSION);
  await recordAll(store, draft, [
    turnStart("t1", "go"),
    assistant("I look.", [call("c1", '{"command":"ls"}'), call("c2", "{")]),
    { type: "tools-start", calls: [call("c1"), call("c2")] },
    toolEnd("c1", "a.txt", "failed"),
  ]);
  const [turn] = store.turns()(draft.id, { limit: 5 }).turns;
  expect(turn).toMatchObject({ endedAt: undefined, outcome: undefined });
  expect(turn?.messages[1]?.calls).toMatchObject([
    {
      callId: "c1",
      input: '{"command":"ls"}',
      state: "ended",
      outcome: "failed",
      result: "a.txt",
      durationMs: 1,
    },
    { callId: "c2", input: "{", state: "started", outcome: undefined, result: undefined },
  ]);
  const runs = store.facts();
  expect(runs.findLastCall(draft.id)).toMatchObject({ tool: "terminal", input: "{", outcome: undefined });
  expect(runs.findOutput(draft.id, "c1")).toBe("a.txt");
  expect(runs.findOutput(draft.id, "c2")).toBeUndefined();
  expect(runs.findOpenTurn(draft.id)?.id).toBe("t1");
  expect(runs.findLastCall("nowhere")).toBeUndefined();
});

test("a list continues after its last session, even among sessions of the same time, and names all sources", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const ids: string[] = [];
  for (let number = 0; number < 6; number++)
    ids.push(await converse(store, `q${number}`, "a", number === 0 ? { source: "telegram" } : {}));
  const seen: string[] = [];
  for (let after: { id: string; activeAt: number } | undefined; ; ) {
    const page = store.list.list({ limit: 2, after });
    seen.push(...page.map(({ id }) => id));
    after = page.at(-1);
    if (after === undefined) break;
  }
  expect(seen).toEqual(ids.toReversed());
  expect(store.list.sources()).toEqual(["cli", "telegram"]);
  const last = store.list.find(ids[5] ?? "");
  expect(store.list.list({ limit: 9, since: (last?.activeAt ?? 0) + 1 })).toEqual([]);
});

test("the turns that got messages since a given message are found, with their sessions", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const one = await converse(store, "one", "a");
  const changes = store.changes();
  const before = changes.lastMessage();
  expect(changes.turnsAfter(before)).toEqual([]);
  await recordAll(store, one, [turnStart("t2", "more"), assistant("b"), turnEnd("t2")]);
  expect(changes.turnsAfter(before)).toEqual([{ sessionId: one, turnId: "t2" }]);
});

test("no page of a transcript reads the whole store", async () => {
  await using folder = await tempFolder();
  using database = await openDatabase(
    folder.file("s.sqlite"),
    { migrations: sessionMigrations, synchronous: "NORMAL", clock: systemClock },
    neverAborted,
  );
  const values = { session: 1, before: 1, limit: 1, keys: "[]", id: "a", callId: "c" };
  for (const [name, sql] of Object.entries({ ...TURNS_SQL, ...FACT_SQL })) {
    const used = Object.fromEntries(Object.entries(values).filter(([key]) => sql.includes(`:${key}`)));
    const plan = database.prepare<{ detail: string }>(`explain query plan ${sql}`).all(used);
    const scans = plan
      .map(({ detail }) => detail)
      .filter((detail) => /\bSCAN (?!json_each|CONSTANT)/.test(detail));
    expect({ name, scans }).toEqual({ name, scans: [] });
  }
});
