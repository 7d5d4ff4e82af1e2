import { chmodSync, existsSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
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
import type { AgentEventOf } from "../agent/events.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { openDatabase } from "../lib/sqlite/database.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { systemClock } from "../lib/time/clock.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import type { AssistantMessage } from "../providers/message.ts";
import { LOAD_SQL } from "./load-session.ts";
import { COMPACTION_SQL } from "./rows/compaction-rows.ts";
import { ROUTE_SQL } from "./rows/session-routes.ts";
import { USAGE_SQL } from "./rows/session-usage.ts";
import { UNTRUSTED_SQL } from "./rows/untrusted-rows.ts";
import { LIST_SQL } from "./session-list.ts";
import { sessionMigrations } from "./session-migrations.ts";
import { openSessionStore, type SessionStoreOptions } from "./session-store.ts";

const open = (path: string, options: SessionStoreOptions = {}) =>
  openSessionStore(path, options, neverAborted);

test("M5: a session is stored together with its first message", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const draft = store.createSession(NEW_SESSION);
  expect(draft.id).toMatch(/^\d{8}_\d{6}_[0-9a-f]{6}$/);
  await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
  expect(() => store.loadSession(draft.id)).toThrow("There is no session");
  expect(store.list.list({ limit: 10 })).toEqual([]);
  await turn.record(turnStart("t1", "hello"), neverAborted);
  const loaded = store.loadSession(draft.id);
  expect(loaded.session).toMatchObject({ ...NEW_SESSION, id: draft.id });
  expect(loaded.messages).toEqual([{ role: "system", text: "You help." }, user("hello")]);
  expect(loaded.openTurn).toMatchObject({ turnId: "t1", pendingCalls: [] });
});

test("after the file was removed or replaced, further events are refused instead of lost", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  for (const isReplaced of [false, true]) {
    using store = await open(path);
    const draft = store.createSession(NEW_SESSION);
    await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
    await turn.record(turnStart("t1", "hello"), neverAborted);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);
    if (isReplaced) (await open(path))[Symbol.dispose]();
    await expect(turn.record(assistant("hi"), neverAborted)).rejects.toMatchObject({ code: "session-gone" });
  }
});

test("a moved file still receives the events of the running turn", async () => {
  await using folder = await tempFolder();
  const [path, moved] = [folder.file("s.sqlite"), folder.file("moved.sqlite")];
  let id = "";
  {
    using store = await open(path);
    const draft = store.createSession(NEW_SESSION);
    id = draft.id;
    await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
    await turn.record(turnStart("t1", "hello"), neverAborted);
    for (const suffix of ["", "-wal", "-shm"]) renameSync(path + suffix, moved + suffix);
    await turn.record(assistant("hi"), neverAborted);
  }
  using store = await open(moved);
  expect(store.loadSession(id).messages).toHaveLength(3); // including the system message
});

test("history is loaded back unchanged: vendor data, raw tool input, lone surrogates, zero bytes", async () => {
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
      { type: "steer", message: { ...user("do this instead"), kind: "steer" } },
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
      { ...user("do this instead"), kind: "steer" },
      { role: "assistant", parts: [{ type: "text", text: "done" }] },
    ]),
  );
});

test("results are in the order of their calls, no matter in which order they arrive", async () => {
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

test("A5: a message after a crash is stored first; planned and started calls stay open until their results are recorded", async () => {
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

test("an event that contradicts the transcript is refused and changes nothing", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const draft = store.createSession(NEW_SESSION);
  await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
  const refuse = async (event: Parameters<typeof turn.record>[0], why: RegExp) => {
    const before = JSON.stringify(store.loadSession(draft.id).messages);
    await expect(turn.record(event, neverAborted)).rejects.toMatchObject({
      code: "session-event-refused",
      message: expect.stringMatching(why),
    });
    expect(JSON.stringify(store.loadSession(draft.id).messages)).toBe(before);
  };
  await turn.record(turnStart("t1", "go"), neverAborted);
  await refuse(turnStart("t2", "again"), /t1 is still open/);
  const interrupted = { turnId: "t0", outcome: "failed", reason: "crash", answer: undefined } as const;
  await refuse({ type: "turn-start", turnId: "t2", message: user("again"), interrupted }, /t1 is still open/);
  await turn.record(assistant("", [call("c1"), call("c2")]), neverAborted);
  await refuse(assistant("too early"), /c1 has no result/);
  await refuse(turnEnd("t1"), /c1 has no result/);
  await refuse(toolEnd("c3", "?"), /no call c3/);
  await refuse({ type: "tools-start", calls: [call("c2"), call("c3")] }, /no call c3/);
  await turn.record({ type: "tools-start", calls: [call("c1"), call("c2")] }, neverAborted);
  await turn.record(toolEnd("c1", "once"), neverAborted);
  await refuse(toolEnd("c1", "twice"), /no call c1/);
  await turn.record(toolEnd("c2", "ok"), neverAborted);
  await refuse(turnEnd("t2"), /the open turn is t1/);
  await refuse(assistant("", [call("c4"), call("c1")]), /c1 already exists/);
  await turn.record(assistant("done"), neverAborted);
  await turn.record(turnEnd("t1"), neverAborted);
  await refuse(assistant("after the end"), /no turn is open/);
  await refuse({ type: "turn-start", turnId: "t2", message: user("again"), interrupted }, /no turn is open/);
});

test("events that are not durable are ignored", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  await using turn = await store.acquireTurn("nowhere", await readOwnIdentity(neverAborted), neverAborted);
  await turn.record({ type: "text-delta", text: "x" }, neverAborted);
  await expect(turn.record(turnEnd("t1"), neverAborted)).rejects.toMatchObject({ code: "session-not-found" });
});

test("every process knows the prefix of the last request, of which only the new hashes are stored", async () => {
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
    neverAborted,
  );
  const rows = database.prepare("select prefix_kept as kept, prefix_added as added from request").all();
  expect(rows.slice(1)).toEqual([
    { kept: 48, added: '["hash-48","hash-49"]' },
    { kept: 3, added: '["broken"]' },
  ]);
});

const FAILURE = {
  kind: "empty",
  message: "m",
  hint: "h",
  status: undefined,
  retryAfterMs: undefined,
  droppedTools: [],
  sawText: false,
} as const;

test("M2: usage and cost are summed for a session and for a day, including failed attempts and unknown prices", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using store = await open(folder.file("s.sqlite"), { clock });
  const first = store.createSession(NEW_SESSION);
  const day = clock.now();
  const usage = { ...NO_USAGE, inputTokens: 100, outputTokens: 10, cacheReadTokens: 60 };
  await recordAll(store, first, [
    turnStart("t1", "go"),
    requestSent(["a"]),
    { type: "attempt-failed", failure: { ...FAILURE, usage }, retryInMs: 1, costUsd: 0.125 },
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
    inputTokens: 300,
    cacheReadTokens: 180,
    cacheWriteTokens: 0,
    outputTokens: 30,
    reasoningTokens: 0,
    costUsd: 0.375,
    unpriced: 1,
  });
  expect(store.usage.between(day, day + 86_400_000)).toMatchObject({ requests: 2, costUsd: 0.375 });
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
    neverAborted,
  );
  const { prefix, title, family } = LIST_SQL;
  const queries = {
    ...LOAD_SQL,
    untrusted: UNTRUSTED_SQL,
    ...COMPACTION_SQL,
    ...USAGE_SQL,
    ...ROUTE_SQL,
    prefix,
    title,
    family,
  };
  for (const [name, sql] of Object.entries(queries)) {
    const parameters = sql.match(/\?/g)?.map(() => 1) ?? [{ prefix: "a", limit: 1 }];
    const plan = database.prepare<{ detail: string }>(`explain query plan ${sql}`).all(...parameters);
    const sorts = name === "messages" ? plan.filter(({ detail }) => detail.includes("ORDER BY")) : [];
    expect({ name, sorts }).toEqual({ name, sorts: [] });
    expect({ name, scans: plan.filter(({ detail }) => /\bSCAN (?!CONSTANT|up|down)/.test(detail)) }).toEqual({
      name,
      scans: [],
    });
  }
  // The list query follows the index on activity and stops at its limit.
  const list = database.prepare<{ detail: string }>(`explain query plan ${LIST_SQL.list}`);
  const plan = list
    .all({
      ...{ sources: null, without: "[]", cwd: null, archived: null, limit: 1 },
      ...{ since: 0, afterTime: null, afterId: null },
    })
    .map(({ detail }) => detail);
  expect(plan.join("\n")).toContain("USING INDEX session_by_activity");
  expect(plan.join("\n")).not.toContain("ORDER BY");
});

test("deleting a session also deletes its messages, their index entries and its subagents, and reports them", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const kept = await converse(store, "the zebra stays", "yes");
  const parent = await converse(store, "the zebra goes", "yes");
  const child = await converse(store, "zebra below", "yes", { source: "subagent", parent });
  const branch = await converse(store, "zebra beside", "yes", { parent });
  const own = await readOwnIdentity(neverAborted);
  expect(await store.deleteSession(parent, own, neverAborted)).toEqual({ ids: [parent, child], messages: 4 });
  expect(() => store.loadSession(parent)).toThrow("no session");
  expect(store.loadSession(branch).session.parent).toBeUndefined();
  const found = await store.search({ text: "zebra", limit: 10, order: "newest" }, neverAborted);
  expect(found.map(({ session }) => session.id)).toEqual([branch, kept]);
  expect(await store.checkIntegrity()).toEqual([]);
  await expect(store.deleteSession(parent, own, neverAborted)).rejects.toMatchObject({
    code: "session-not-found",
  });
});

test("a session in the middle of a turn is not deleted", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const id = await converse(store, "hello", "hi");
  const own = await readOwnIdentity(neverAborted);
  {
    await using _turn = await store.acquireTurn(id, own, neverAborted);
    await expect(store.deleteSession(id, own, neverAborted)).rejects.toMatchObject({ code: "session-busy" });
  }
  expect(await store.deleteSession(id, own, neverAborted)).toMatchObject({ ids: [id] });
});

test("a damaged, foreign or newer file is refused with its own code and left unchanged", async () => {
  await using folder = await tempFolder();
  const damaged = folder.file("damaged.sqlite");
  writeFileSync(damaged, "this is not a database, but it is longer than the header of one".repeat(40), {
    mode: 0o600,
  });
  await expect(open(damaged)).rejects.toMatchObject({ code: "database-damaged" });
  const newer = folder.file("newer.sqlite");
  const more = [...sessionMigrations, { name: "later", sql: "create table later (x)" }];
  (await openDatabase(newer, { migrations: more, synchronous: "NORMAL", clock: systemClock }, neverAborted))[
    Symbol.dispose
  ]();
  await expect(open(newer)).rejects.toMatchObject({ code: "database-newer" });
});

test.skipIf(process.getuid?.() === 0)("a read-only file is refused", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  (await open(path))[Symbol.dispose]();
  chmodSync(path, 0o400);
  await expect(open(path)).rejects.toMatchObject({ code: "database-unavailable" });
});

test("a write to a store that another writer holds fails with a known error and writes nothing", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  using store = await open(path, { busyDeadlineMs: 200 });
  const id = await converse(store, "hello", "hi");
  await using turn = await store.acquireTurn(id, await readOwnIdentity(neverAborted), neverAborted);
  const Sqlite = await loadSqlite();
  const raw = new Sqlite(path);
  raw.exec("begin immediate");
  await expect(turn.record(turnStart("t2", "more"), neverAborted)).rejects.toMatchObject({
    code: "database-busy",
  });
  raw.exec("rollback");
  raw.close();
  expect(store.loadSession(id).openTurn).toBeUndefined();
  await turn.record(turnStart("t2", "more"), neverAborted);
  expect(store.loadSession(id).openTurn?.turnId).toBe("t2");
  expect(existsSync(path)).toBe(true);
});

test("an emptied file counts as damaged, not as a new store", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  (await open(path))[Symbol.dispose]();
  truncateSync(path, 0);
  await expect(open(path)).rejects.toMatchObject({ code: "database-damaged" });
});

test("D: a title that would mean something else in a command is refused", async () => {
  await using folder = await tempFolder();
  using store = await open(folder.file("s.sqlite"));
  const session = store.createSession(NEW_SESSION);
  await recordAll(store, session, [turnStart("t1", "go"), turnEnd("t1")]);
  for (const title of ["latest", " Latest "])
    await expect(store.list.rename(session.id, title, neverAborted)).rejects.toMatchObject({
      code: "session-title-invalid",
    });
});

const COMPACTION: AgentEventOf<"compaction"> = {
  type: "compaction",
  trigger: "threshold",
  method: "model",
  replacement: [user("a summary")],
  kept: 1,
  tokensBefore: 100,
  tokensAfter: 10,
  provider: "scripted",
  model: "m-1",
  usage: { ...NO_USAGE, inputTokens: 50, outputTokens: 5 },
  costUsd: 0.25,
  durationMs: 1,
};

test("A8: a compaction keeps the newest messages, needs the results of all calls, and never includes what an earlier one replaced", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const draft = store.createSession(NEW_SESSION);
  const calls = [call("c1")];
  await recordAll(store, draft, [turnStart("t1", "first"), assistant("one"), turnEnd("t1")]);
  await recordAll(store, draft.id, [turnStart("t2", "second"), assistant("", calls)]);
  await expect(recordAll(store, draft.id, [COMPACTION])).rejects.toThrow("call c1 has no result yet");
  await recordAll(store, draft.id, [toolEnd("c1", "result"), COMPACTION]);
  const { messages, compaction } = store.loadSession(draft.id);
  expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
  expect(messages[1]).toEqual(user("a summary"));
  expect(compaction).toMatchObject({ replaced: 1, anchor: undefined });
  const transcript = store.history().readTranscript(draft.id);
  expect(transcript.map(({ isCompacted }) => isCompacted)).toEqual([true, true, true, false, false]);
  expect(store.usage.ofSession(draft.id)).toMatchObject({ inputTokens: 50, costUsd: 0.25 });
  await expect(recordAll(store, draft.id, [{ ...COMPACTION, kept: 3 }])).rejects.toThrow("already compacted");
  await expect(recordAll(store, draft.id, [{ ...COMPACTION, kept: 9 }])).rejects.toThrow("has fewer");
  await recordAll(store, draft.id, [{ ...COMPACTION, kept: 0 }, assistant("two"), turnEnd("t2")]);
  expect(store.loadSession(draft.id).messages.slice(1)).toEqual([user("a summary"), assistantMessage("two")]);
  expect(await store.checkIntegrity()).toEqual([]);
});

test("A8: undoing the turn of a compaction restores the full messages, and a redo the summary", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const draft = store.createSession(NEW_SESSION);
  const own = await readOwnIdentity(neverAborted);
  await recordAll(store, draft, [turnStart("t1", "first"), assistant("one"), turnEnd("t1")]);
  await recordAll(store, draft.id, [turnStart("t2", "second"), COMPACTION, assistant("two"), turnEnd("t2")]);
  const compacted = store.loadSession(draft.id).messages;
  await store.history().undo(draft.id, 1, own, neverAborted);
  expect(store.loadSession(draft.id).messages.slice(1)).toEqual([user("first"), assistantMessage("one")]);
  await store.history().redo(draft.id, own, neverAborted);
  expect(store.loadSession(draft.id).messages).toEqual(compacted);
  await store.history().undo(draft.id, 1, own, neverAborted);
  const again = [turnStart("t3", "third"), { ...COMPACTION, kept: 2 }, assistant("three"), turnEnd("t3")];
  await recordAll(store, draft.id, again);
  expect(store.loadSession(draft.id).messages.slice(1)).toEqual([
    user("a summary"),
    assistantMessage("one"),
    user("third"),
    assistantMessage("three"),
  ]);
});

test("A8: the size that the provider counted is loaded with the session, with the number of messages that it includes", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const draft = store.createSession(NEW_SESSION);
  const usage = { ...NO_USAGE, inputTokens: 1_000, outputTokens: 20 };
  await recordAll(store, draft, [
    turnStart("t1", "first"),
    requestSent(["tools", "system", "a"]),
    assistant("", [call("c1")], { usage }),
    toolEnd("c1", "result"),
  ]);
  expect(store.loadSession(draft.id).compaction.anchor).toEqual({ tokens: 1_020, messages: 3 });
  await recordAll(store, draft.id, [COMPACTION]);
  expect(store.loadSession(draft.id)).toMatchObject({
    compaction: { anchor: undefined },
    prefix: ["tools", "system"], // the messages of the next prompt differ on purpose
  });
});

function assistantMessage(text: string) {
  return { role: "assistant", parts: [{ type: "text", text }] };
}
