import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  assistant,
  call,
  converse,
  NEW_SESSION,
  NO_USAGE,
  recordAll,
  requestSent,
  toolEnd,
  turnEnd,
  turnStart,
  user,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { systemClock } from "../lib/clock.ts";
import { openDatabase } from "../lib/database.ts";
import { ownIdentity } from "../lib/process-identity.ts";
import { loadSqlite } from "../lib/sqlite.ts";
import type { AssistantMessage } from "../providers/message.ts";
import { LOAD_SQL } from "./load-session.ts";
import { LIST_SQL } from "./session-list.ts";
import { sessionMigrations } from "./session-migrations.ts";
import { openSessionStore, type SessionStoreOptions } from "./session-store.ts";
import { USAGE_SQL } from "./session-usage.ts";

const never = new AbortController().signal;
const open = (path: string, options: SessionStoreOptions = {}) => openSessionStore(path, options, never);

test("M5: a session exists from its first message on, and not before", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const draft = store.createSession(NEW_SESSION);
  expect(draft.id).toMatch(/^\d{8}_\d{6}_[0-9a-f]{6}$/);
  await using turn = await store.acquireTurn(draft, await ownIdentity(never), never);
  expect(() => store.loadSession(draft.id)).toThrow("There is no session");
  expect(store.list.list({ limit: 10 })).toEqual([]);
  await turn.record(turnStart("t1", "hello"), never);
  const loaded = store.loadSession(draft.id);
  expect(loaded.session).toMatchObject({ ...NEW_SESSION, id: draft.id });
  expect(loaded.messages).toEqual([{ role: "system", text: "You help." }, user("hello")]);
  expect(loaded.openTurn).toMatchObject({ turnId: "t1", pendingCalls: [] });
});

test("a file that was removed or replaced takes no more events, instead of swallowing them", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  for (const isReplaced of [false, true]) {
    using store = await open(path);
    const draft = store.createSession(NEW_SESSION);
    await using turn = await store.acquireTurn(draft, await ownIdentity(never), never);
    await turn.record(turnStart("t1", "hello"), never);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);
    if (isReplaced) (await open(path))[Symbol.dispose]();
    await expect(turn.record(assistant("hi"), never)).rejects.toMatchObject({ code: "session-gone" });
  }
});

test("a file that was moved away takes the events of a turn with it", async () => {
  await using folder = await tempFolder();
  const [path, moved] = [folder.file("s.sqlite"), folder.file("moved.sqlite")];
  let id = "";
  {
    using store = await open(path);
    const draft = store.createSession(NEW_SESSION);
    id = draft.id;
    await using turn = await store.acquireTurn(draft, await ownIdentity(never), never);
    await turn.record(turnStart("t1", "hello"), never);
    for (const suffix of ["", "-wal", "-shm"]) renameSync(path + suffix, moved + suffix);
    await turn.record(assistant("hi"), never);
  }
  using store = await open(moved);
  expect(store.loadSession(id).messages).toHaveLength(3); // with the words of the system
});

test("history comes back as it was: vendor data, raw tool input, halves of surrogate pairs, zero bytes", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  const hostile = 'a\u0000b\ud83d "quote" \u2028 \u{1f600} \udc00';
  const vendor = { b: 1, a: { "10": [null, 1.5e300], "2": "x" }, signature: hostile };
  const parts = [
    { type: "reasoning", text: hostile, vendor },
    { type: "text", text: "" },
    { type: "tool-call", callId: "c1", tool: "terminal", input: '{"not json": \ud800', vendor },
  ] as const;
  const image = { role: "user", parts: [{ type: "image", mediaType: "image/png", data: "AAAA" }] } as const;
  let id: string;
  {
    using store = await open(path);
    const draft = store.createSession({
      ...NEW_SESSION,
      systemPrompt: hostile,
      toolsJson: '[{"z":1,"a":2}]',
    });
    id = draft.id;
    await recordAll(store, draft, [
      { type: "turn-start", turnId: "t1", message: image },
      assistant("", [], { message: { role: "assistant", parts } }),
      { type: "tools-start", calls: [parts[2]] },
      toolEnd("c1", hostile, "failed"),
      { type: "steer", message: { ...user("rather so"), kind: "steer" } },
      assistant("done"),
      turnEnd("t1"),
    ]);
  }
  using store = await open(path);
  const { session, messages } = store.loadSession(id);
  expect(session.toolsJson).toBe('[{"z":1,"a":2}]');
  expect(JSON.stringify(messages)).toBe(
    JSON.stringify([
      { role: "system", text: hostile },
      image,
      { role: "assistant", parts },
      { role: "tool", callId: "c1", tool: "terminal", text: hostile, failed: true },
      { ...user("rather so"), kind: "steer" },
      { role: "assistant", parts: [{ type: "text", text: "done" }] },
    ]),
  );
});

test("results stand in the order of their calls, in whichever order they came", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const draft = store.createSession(NEW_SESSION);
  const calls = [call("z"), call("a"), call("m")];
  await recordAll(store, draft, [
    turnStart("t1", "go"),
    assistant("", calls),
    { type: "tools-start", calls },
    toolEnd("m", "3"),
    toolEnd("z", "1"),
  ]);
  const { messages, openTurn } = store.loadSession(draft.id);
  expect(messages.slice(3)).toMatchObject([{ callId: "z" }, { callId: "m" }]);
  expect(openTurn?.pendingCalls).toEqual([{ call: call("a"), started: true }]);
});

test("A5: a message after a crash is stored first; planned and started calls wait for their results until somebody gives them", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const draft = store.createSession(NEW_SESSION);
  await recordAll(store, draft, [
    turnStart("t1", "go"),
    assistant("", [call("c1"), call("c2")]),
    { type: "tools-start", calls: [call("c1")] },
  ]);
  expect(store.loadSession(draft.id).openTurn?.pendingCalls).toEqual([
    { call: call("c1"), started: true },
    { call: call("c2"), started: false },
  ]);
  const crash = (turnId: string, answer?: AssistantMessage) =>
    ({ turnId, outcome: "failed", reason: "crash", answer }) as const;
  await recordAll(store, draft.id, [
    { type: "turn-start", turnId: "t2", message: user("stop"), interrupted: crash("t1") },
    toolEnd("c1", "nobody saw", "unknown"),
  ]);
  expect(store.loadSession(draft.id).openTurn).toMatchObject({
    turnId: "t2",
    pendingCalls: [{ call: call("c2"), started: false }],
  });
  const answer = { role: "assistant", parts: [{ type: "text", text: "[No answer]" }] } as const;
  await recordAll(store, draft.id, [
    { type: "turn-start", turnId: "t3", message: user("really"), interrupted: crash("t2", answer) },
    toolEnd("c2", "not run", "not-run"),
    assistant("sorry"),
    turnEnd("t3"),
  ]);
  const { messages, openTurn } = store.loadSession(draft.id);
  expect(
    messages.slice(1).map((message) => (message.role === "tool" ? message.callId : message.role)),
  ).toEqual([...["user", "assistant", "c1", "c2", "user", "assistant", "user", "assistant"]]);
  expect(openTurn).toBeUndefined();
});

test("an event that does not fit is refused and changes nothing", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const draft = store.createSession(NEW_SESSION);
  await using turn = await store.acquireTurn(draft, await ownIdentity(never), never);
  const refuse = async (event: Parameters<typeof turn.record>[0], why: RegExp) => {
    const before = JSON.stringify(store.loadSession(draft.id).messages);
    await expect(turn.record(event, never)).rejects.toMatchObject({
      code: "session-event-refused",
      message: expect.stringMatching(why),
    });
    expect(JSON.stringify(store.loadSession(draft.id).messages)).toBe(before);
  };
  await turn.record(turnStart("t1", "go"), never);
  await refuse(turnStart("t2", "again"), /t1 is still open/);
  const interrupted = { turnId: "t0", outcome: "failed", reason: "crash", answer: undefined } as const;
  await refuse({ type: "turn-start", turnId: "t2", message: user("again"), interrupted }, /t1 is still open/);
  await turn.record(assistant("", [call("c1"), call("c2")]), never);
  await refuse(assistant("too early"), /c1 has no result/);
  await refuse(turnEnd("t1"), /c1 has no result/);
  await refuse(toolEnd("c3", "?"), /no call c3/);
  await refuse({ type: "tools-start", calls: [call("c2"), call("c3")] }, /no call c3/);
  await turn.record({ type: "tools-start", calls: [call("c1"), call("c2")] }, never);
  await turn.record(toolEnd("c1", "once"), never);
  await refuse(toolEnd("c1", "twice"), /no call c1/);
  await turn.record(toolEnd("c2", "ok"), never);
  await refuse(turnEnd("t2"), /t1 is the open one/);
  await refuse(assistant("", [call("c4"), call("c1")]), /c1 is there already/);
  await turn.record(assistant("done"), never);
  await turn.record(turnEnd("t1"), never);
  await refuse(assistant("after the end"), /no turn is open/);
  await refuse({ type: "turn-start", turnId: "t2", message: user("again"), interrupted }, /no turn is open/);
});

test("events that nobody needs again are ignored", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  await using turn = await store.acquireTurn("nowhere", await ownIdentity(never), never);
  await turn.record({ type: "text-delta", text: "x" }, never);
  await expect(turn.record(turnEnd("t1"), never)).rejects.toMatchObject({ code: "session-not-found" });
});

test("the prefix of the last request is known in any process, and only what was added is stored", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  const long = Array.from({ length: 50 }, (_, index) => `hash-${index}`);
  let id: string;
  {
    using store = await open(path);
    const draft = store.createSession(NEW_SESSION);
    id = draft.id;
    await recordAll(store, draft, [turnStart("t1", "go"), requestSent(long.slice(0, 48))]);
    using other = await open(path);
    await recordAll(other, id, [requestSent(long), assistant("a"), turnEnd("t1")]);
    await recordAll(store, id, [turnStart("t2", "go"), requestSent([...long.slice(0, 3), "broken"])]);
    expect(other.loadSession(id).prefix).toEqual([...long.slice(0, 3), "broken"]);
  }
  using store = await open(path);
  expect(store.loadSession(id).prefix).toEqual([...long.slice(0, 3), "broken"]);
  using database = await openDatabase(
    path,
    { migrations: sessionMigrations, synchronous: "NORMAL", clock: systemClock },
    never,
  );
  const rows = database.prepare("select prefix_kept as kept, prefix_added as added from request").all();
  expect(rows.slice(1)).toEqual([
    { kept: 48, added: '["hash-48","hash-49"]' },
    { kept: 3, added: '["broken"]' },
  ]);
});

test("M2: usage and cost are summed for a session and for a day, failed attempts and unknown prices included", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using store = await open(folder.file("s.sqlite"), { clock });
  const first = store.createSession(NEW_SESSION);
  const day = clock.now();
  const usage = { ...NO_USAGE, inputTokens: 100, outputTokens: 10, cacheReadTokens: 60 };
  await recordAll(store, first, [
    turnStart("t1", "go"),
    requestSent(["a"]),
    requestSent(["a"]),
    assistant("x", [], { usage, costUsd: 0.25 }),
    turnEnd("t1"),
  ]);
  await clock.advance(86_400_000);
  await recordAll(store, first.id, [
    turnStart("t2", "go"),
    requestSent(["a", "b"]),
    assistant("y", [], { usage }),
    turnEnd("t2"),
  ]);
  await recordAll(store, store.createSession(NEW_SESSION), [
    turnStart("t1", "go"),
    assistant("z", [], { usage, costUsd: 0.5 }),
  ]);
  expect(store.usage.ofSession(first.id)).toEqual({
    requests: 3,
    inputTokens: 200,
    cacheReadTokens: 120,
    cacheWriteTokens: 0,
    outputTokens: 20,
    reasoningTokens: 0,
    costUsd: 0.25,
    unpriced: 1,
  });
  expect(store.usage.between(day, day + 86_400_000)).toMatchObject({ requests: 2, costUsd: 0.25 });
  expect(store.usage.between(day + 86_400_000, day + 2 * 86_400_000)).toMatchObject({
    requests: 2,
    costUsd: 0.5,
    unpriced: 1,
  });
  expect(store.usage.ofSession("nowhere")).toMatchObject({ requests: 0, costUsd: 0 });
});

test("M5: no query of a session reads the whole store", async () => {
  await using folder = await tempFolder();
  using database = await openDatabase(
    folder.file("s.sqlite"),
    { migrations: sessionMigrations, synchronous: "NORMAL", clock: systemClock },
    never,
  );
  const queries = { ...LOAD_SQL, ...USAGE_SQL, prefix: LIST_SQL.prefix, title: LIST_SQL.title };
  for (const [name, sql] of Object.entries(queries)) {
    const parameters = sql.match(/\?/g)?.map(() => 1) ?? [{ prefix: "a", title: "a", limit: 1 }];
    const plan = database.prepare<{ detail: string }>(`explain query plan ${sql}`).all(...parameters);
    const sorts = name === "messages" ? plan.filter(({ detail }) => detail.includes("ORDER BY")) : [];
    expect({ name, sorts }).toEqual({ name, sorts: [] });
    expect({ name, scans: plan.filter(({ detail }) => /\bSCAN (?!CONSTANT)/.test(detail)) }).toEqual({
      name,
      scans: [],
    });
  }
  // The list walks along the index of activity and stops at its limit.
  const list = database.prepare<{ detail: string }>(`explain query plan ${LIST_SQL.list}`);
  const plan = list.all({ sources: null, without: "[]", cwd: null, limit: 1 }).map(({ detail }) => detail);
  expect(plan.join("\n")).toContain("USING INDEX session_by_activity");
  expect(plan.join("\n")).not.toContain("ORDER BY");
});

test("a deleted session takes its messages, their index and its subagents along, and says so", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const kept = await converse(store, "the zebra stays", "yes");
  const parent = await converse(store, "the zebra goes", "yes");
  const child = await converse(store, "zebra below", "yes", { source: "subagent", parent });
  const branch = await converse(store, "zebra beside", "yes", { parent });
  const own = await ownIdentity(never);
  expect(await store.deleteSession(parent, own, never)).toEqual({ ids: [parent, child], messages: 4 });
  expect(() => store.loadSession(parent)).toThrow("no session");
  expect(store.loadSession(branch).session.parent).toBeUndefined();
  const found = await store.search({ text: "zebra", limit: 10, order: "newest" }, never);
  expect(found.map(({ session }) => session.id)).toEqual([branch, kept]);
  expect(await store.checkIntegrity()).toEqual([]);
  await expect(store.deleteSession(parent, own, never)).rejects.toMatchObject({ code: "session-not-found" });
});

test("a session in the middle of a turn is not deleted", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const id = await converse(store, "hello", "hi");
  const own = await ownIdentity(never);
  {
    await using _turn = await store.acquireTurn(id, own, never);
    await expect(store.deleteSession(id, own, never)).rejects.toMatchObject({ code: "session-busy" });
  }
  expect(await store.deleteSession(id, own, never)).toMatchObject({ ids: [id] });
});

test("a damaged, foreign or newer file is refused with its own code and left as it is", async () => {
  await using folder = await tempFolder();
  const damaged = folder.file("damaged.sqlite");
  writeFileSync(damaged, "this is no database, but it is longer than a header of one".repeat(40), {
    mode: 0o600,
  });
  await expect(open(damaged)).rejects.toMatchObject({ code: "database-damaged" });
  const newer = folder.file("newer.sqlite");
  const more = [...sessionMigrations, { name: "later", sql: "create table later (x)" }];
  (await openDatabase(newer, { migrations: more, synchronous: "NORMAL", clock: systemClock }, never))[
    Symbol.dispose
  ]();
  await expect(open(newer)).rejects.toMatchObject({ code: "database-newer" });
});

test.skipIf(process.getuid?.() === 0)("a file that may not be written is refused", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  (await open(path))[Symbol.dispose]();
  chmodSync(path, 0o400);
  await expect(open(path)).rejects.toMatchObject({ code: "database-unavailable" });
});

test("a store held by another writer gives up with a known failure, and nothing is half-written", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  using store = await open(path, { busyDeadlineMs: 200 });
  const id = await converse(store, "hello", "hi");
  await using turn = await store.acquireTurn(id, await ownIdentity(never), never);
  const Sqlite = await loadSqlite();
  const raw = new Sqlite(path);
  raw.exec("begin immediate");
  await expect(turn.record(turnStart("t2", "more"), never)).rejects.toMatchObject({ code: "database-busy" });
  raw.exec("rollback");
  raw.close();
  expect(store.loadSession(id).openTurn).toBeUndefined();
  await turn.record(turnStart("t2", "more"), never);
  expect(store.loadSession(id).openTurn?.turnId).toBe("t2");
  expect(existsSync(path)).toBe(true);
});
