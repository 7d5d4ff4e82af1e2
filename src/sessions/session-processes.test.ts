import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startChild, startChildren } from "../../test/support/child.ts";
import { scale } from "../../test/support/scale.ts";
import { assistant, converse, turnEnd, turnStart } from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import type { Message } from "../providers/message.ts";
import { toolCallsOf } from "../providers/message.ts";
import { openSessionStore, type SessionStoreOptions } from "./session-store.ts";

const CHILD = new URL("../../test/support/sessions-child.ts", import.meta.url);
const open = (path: string, options: SessionStoreOptions = {}) =>
  openSessionStore(path, options, neverAborted);

/** Throws unless each call has at most one result, right after its message and in order. */
function requireValid(messages: readonly Message[], pending: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    if (message?.role === "tool") throw new Error(`a result without its call: ${message.callId}`);
    if (message?.role !== "assistant") continue;
    for (const { callId } of toolCallsOf(message)) {
      if (seen.has(callId)) throw new Error(`${callId} was called twice`);
      seen.add(callId);
      const next = messages[at + 1];
      if (next?.role === "tool" && next.callId === callId) at++;
      else if (!pending.has(callId)) throw new Error(`${callId} has no result`);
    }
  }
}

test("M5: after a kill at any time, a transcript is complete, in order and can be continued", {
  timeout: 600_000,
}, async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  const id = "20260101_000000_abcdef";
  let before: readonly Message[] = [];
  for (let kill = 0; kill < scale.kills; kill++) {
    await using child = startChild(CHILD, "record-forever", { path, id });
    for (let turns = kill % 3; turns >= 0; turns--) await child.next();
    await sleep(Math.random() * 40); // kills at varying times
    await child.kill();
    using store = await open(path);
    if (store.list.find(id) === undefined) continue;
    const { messages, openTurn } = store.loadSession(id);
    requireValid(messages, new Set(openTurn?.pendingCalls.map(({ call }) => call.callId)));
    expect(messages.slice(0, before.length)).toSatisfy((kept: readonly Message[]) => isKept(before, kept));
    before = messages;
  }
  expect(before.length).toBeGreaterThan(scale.kills);
  using store = await open(path);
  expect(await store.checkIntegrity()).toEqual([]);
});

/** Whether all earlier messages are unchanged; later results may have been inserted between them. */
function isKept(before: readonly Message[], after: readonly Message[]): boolean {
  const plain = (messages: readonly Message[]) =>
    messages.filter(({ role }) => role !== "tool").map((message) => JSON.stringify(message));
  const [old, now] = [plain(before), plain(after)];
  return now.every((message, index) => message === old[index]);
}

test("many processes each write a session at the same time, and no event is lost", {
  timeout: 600_000,
}, async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  (await open(path))[Symbol.dispose]();
  await using children = startChildren(scale.processes, CHILD, "record-turns", { path, turns: 5 });
  await children.next();
  children.send("go");
  const ids = (await children.next<{ id: string }>()).map(({ id }) => id);
  expect(new Set(ids).size).toBe(scale.processes);
  using store = await open(path);
  for (const id of ids) {
    const { messages, openTurn } = store.loadSession(id);
    expect(messages).toHaveLength(1 + 5 * 5);
    requireValid(messages, new Set());
    expect(openTurn).toBeUndefined();
  }
  expect(await store.checkIntegrity()).toEqual([]);
});

test("A1: a second process on one session is refused with the holder's pid; after the holder is killed it takes over at once", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  using store = await open(path);
  const id = await converse(store, "hello", "hi");
  await using child = startChild(CHILD, "hold", { path, id });
  await child.next();
  const own = await readOwnIdentity(neverAborted);
  await expect(store.acquireTurn(id, own, neverAborted)).rejects.toMatchObject({
    code: "session-busy",
    message: expect.stringMatching(new RegExp(`process ${child.pid} on this machine since \\d\\d:\\d\\d`)),
  });
  await child.kill();
  await using turn = await store.acquireTurn(id, own, neverAborted);
  expect(store.loadSession(id).openTurn?.turnId).toBe("held");
  await turn.record(turnEnd("held"), neverAborted);
});

test("a replaced holder can no longer write, and its lost signal aborts", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  using store = await open(path, { times: { leaseMs: 30_000, renewEveryMs: 20 } });
  const id = await converse(store, "hello", "hi");
  const own = await readOwnIdentity(neverAborted);
  await using turn = await store.acquireTurn(id, own, neverAborted);
  await turn.record(turnStart("t2", "more"), neverAborted);
  // The same state as after a process that slept longer than its lease.
  const Sqlite = await loadSqlite();
  const raw = new Sqlite(path);
  raw.prepare("update lease set expires_at = 0, ttl_ms = 1").run();
  raw.close();
  using other = await open(path);
  const successor = await takeOver(() => other.acquireTurn(id, { ...own, startTime: "other" }, neverAborted));
  await expect(turn.record(assistant("late"), neverAborted)).rejects.toMatchObject({ code: "session-lost" });
  await expect.poll(() => turn.lostSignal.aborted).toBe(true);
  expect(turn.lostSignal.reason).toMatchObject({ code: "session-lost" });
  await successor.record(assistant("mine"), neverAborted);
  await successor.record(turnEnd("t2"), neverAborted);
  expect(store.loadSession(id).messages.at(-1)).toMatchObject({ parts: [{ text: "mine" }] });
  await successor[Symbol.asyncDispose]();
});

/** Until it is replaced, the holder may renew even an expired lease, so this may take several attempts. */
async function takeOver<Result>(acquire: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await acquire();
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(5);
    }
  }
}

test("a lease is renewed while it is held and released at the end", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  using store = await open(path, { times: { leaseMs: 300, renewEveryMs: 30 } });
  const id = await converse(store, "hello", "hi");
  const own = await readOwnIdentity(neverAborted);
  const Sqlite = await loadSqlite();
  const raw = new Sqlite(path, { readonly: true });
  const expiry = () => raw.prepare("select expires_at from lease").pluck().get() as number | undefined;
  {
    await using turn = await store.acquireTurn(id, own, neverAborted);
    const first = expiry() ?? 0;
    await expect.poll(expiry, { timeout: 150_000 }).toBeGreaterThan(first + 300);
    expect(turn.lostSignal.aborted).toBe(false);
  }
  expect(expiry()).toBeUndefined();
  raw.close();
});
