import { expect, test } from "vitest";
import { startChild } from "../../test/support/child.ts";
import { scale } from "../../test/support/scale.ts";
import {
  assistant,
  call,
  converse,
  NEW_SESSION,
  recordAll,
  requestSent,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { textOf } from "../providers/message.ts";
import { openSessionStore, type SessionStore } from "./session-store.ts";
import type { TurnTimes } from "./session-turn.ts";

const own = await readOwnIdentity(neverAborted);
const CHILD = new URL("../../test/support/sessions-child.ts", import.meta.url);

async function openLab(options: { times?: TurnTimes } = {}) {
  const folder = await tempFolder();
  const path = folder.file("s.sqlite");
  const store = await openSessionStore(path, options, neverAborted);
  return {
    path,
    store,
    ...store.history(),
    texts: (id: string) => textsOf(store, id),
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Each message of the history as one text. */
function textsOf(store: SessionStore, id: string): string[] {
  return store
    .loadSession(id)
    .messages.filter((message) => message.role !== "system")
    .map((message) => (message.role === "tool" ? message.text : textOf(message)));
}

/** A turn in which the model makes two calls with the given ids. */
function turnWithCalls(name: string, ids: readonly string[], prefix: readonly string[] = []) {
  return [
    turnStart(name, `ask ${name}`),
    requestSent([...prefix, `${name}-1`]),
    assistant(
      "looking",
      ids.map((id) => call(id)),
    ),
    { type: "tools-start", calls: ids.map((id) => call(id)) } as const,
    ...ids.toReversed().map((id) => toolEnd(id, `result ${id}`)),
    requestSent([...prefix, `${name}-1`, `${name}-2`]),
    assistant(`answer ${name}`),
    turnEnd(name),
  ];
}

async function twoTurns(store: SessionStore): Promise<string> {
  const draft = store.createSession({ ...NEW_SESSION, title: "work" });
  await recordAll(store, draft, turnWithCalls("one", ["a", "b"]));
  await recordAll(store, draft.id, turnWithCalls("two", ["c"], ["one-1", "one-2"]));
  return draft.id;
}
const ONE = ["ask one", "looking", "result a", "result b", "answer one"];
const TWO = ["ask two", "looking", "result c", "answer two"];

test("D2: an undone turn leaves the history and its expected prefix, stays searchable, and can be restored", async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  expect(lab.store.loadSession(id).prefix).toEqual(["one-1", "one-2", "two-1", "two-2"]);
  expect(await lab.undo(id, 1, own, neverAborted)).toEqual({ turns: ["two"] });
  expect(lab.texts(id)).toEqual(ONE);
  expect(lab.store.loadSession(id).prefix).toEqual(["one-1", "one-2"]);
  expect(lab.store.list.describe(lab.store.loadSession(id).session, String).messages).toBe(5);
  const entries = lab.readTranscript(id);
  expect(entries.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, ...TWO.map(() => undefined)]);
  const found = await lab.store.search({ text: "answer two", limit: 5, order: "best" }, neverAborted);
  expect(found).toMatchObject([{ session: { id } }]);
  expect(lab.store.usage.ofSession(id).requests).toBe(4); // it was paid

  expect(await lab.redo(id, own, neverAborted)).toEqual({ turns: ["two"] });
  expect(lab.texts(id)).toEqual([...ONE, ...TWO]);
  await expect(lab.redo(id, own, neverAborted)).rejects.toMatchObject({ code: "turn-not-found" });
  await expect(lab.undo(id, 3, own, neverAborted)).rejects.toMatchObject({
    code: "turn-not-found",
    message: expect.stringContaining("only 2 turns"),
  });
  expect(await lab.undo(id, 2, own, neverAborted)).toEqual({ turns: ["one", "two"] });
  expect(lab.texts(id)).toEqual([]);
  expect(await lab.redo(id, own, neverAborted)).toEqual({ turns: ["one", "two"] });
  for (const turn of ["two", "one"])
    expect(await lab.undo(id, 1, own, neverAborted)).toEqual({ turns: [turn] });
  for (const turn of ["one", "two"]) expect(await lab.redo(id, own, neverAborted)).toEqual({ turns: [turn] });
  expect(lab.texts(id)).toEqual([...ONE, ...TWO]);
});

test("D2: after an undo the model may reuse its call ids, and a replaced turn cannot be restored", async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  await lab.undo(id, 1, own, neverAborted);
  await recordAll(lab.store, id, turnWithCalls("three", ["c"], ["one-1", "one-2"]));
  expect(lab.texts(id)).toEqual([...ONE, "ask three", "looking", "result c", "answer three"]);
  expect(lab.store.loadSession(id).prefix).toEqual(["one-1", "one-2", "three-1", "three-2"]);
  await expect(lab.redo(id, own, neverAborted)).rejects.toMatchObject({ code: "turn-not-found" });
  expect(await lab.store.checkIntegrity()).toEqual([]);
});

test("D2: a turn that a crash left open can be undone, and its calls get a result", async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  const calls = [call("x"), call("y")];
  await recordAll(lab.store, id, [
    turnStart("open", "go on"),
    assistant("", calls),
    { type: "tools-start", calls: [call("x")] },
  ]);
  expect(lab.store.loadSession(id).openTurn?.pendingCalls).toHaveLength(2);
  await lab.undo(id, 1, own, neverAborted);
  expect(lab.store.loadSession(id).openTurn).toBeUndefined();
  expect(lab.texts(id)).toEqual([...ONE, ...TWO]);
  await recordAll(lab.store, id, turnWithCalls("next", ["x", "y"]));
  expect(await lab.store.checkIntegrity()).toEqual([]);
});

test.each([
  { at: undefined, kept: [...ONE, ...TWO] },
  { at: 5, kept: ONE },
  { at: 2, kept: [...ONE.slice(0, 4), "[No answer: the session was branched here.]"] },
  { at: 3, kept: [...ONE.slice(0, 4), "[No answer: the session was branched here.]"] },
  { at: 6, kept: ONE }, // a user message is dropped, so that another one can take its place
])("D2: a branch at message $at keeps complete calls and can be continued", async ({ at, kept }) => {
  await using lab = await openLab();
  const parent = await twoTurns(lab.store);
  const branch = await lab.branch(parent, { at }, own, neverAborted);
  expect(lab.texts(branch.id)).toEqual(kept);
  const { session, openTurn } = lab.store.loadSession(branch.id);
  expect(session).toMatchObject({ ...NEW_SESSION, title: "work #2", parent, parentLink: "branch" });
  expect(openTurn).toBeUndefined();
  expect(lab.store.usage.ofSession(branch.id).requests).toBe(0);
  await recordAll(lab.store, branch.id, turnWithCalls("more", ["x", "c2"]));
  expect(lab.texts(parent)).toEqual([...ONE, ...TWO]);
  expect(await lab.store.checkIntegrity()).toEqual([]);
});

test("D2: a branch before the first answer, or at a number that does not exist, is refused", async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  for (const at of [1, 99])
    await expect(lab.branch(id, { at }, own, neverAborted)).rejects.toMatchObject({
      code: "message-not-found",
    });
  expect(lab.store.list.list({ limit: 9 })).toHaveLength(1);
});

test("D2: a branch of a crashed session ends before the calls without a result", async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  await recordAll(lab.store, id, [
    turnStart("open", "go on"),
    assistant("", [call("x"), call("y")]),
    toolEnd("x", "?"),
  ]);
  const branch = await lab.branch(id, { title: "Other way" }, own, neverAborted);
  expect(lab.texts(branch.id)).toEqual([...ONE, ...TWO]);
  expect(lab.store.list.find(branch.id)?.title).toBe("Other way");
});

test("D2: a branch survives its parent, and a search finds shared text once", async () => {
  await using lab = await openLab();
  const parent = await twoTurns(lab.store);
  const branch = await lab.branch(parent, { at: 5 }, own, neverAborted);
  const search = async () =>
    (await lab.store.search({ text: "answer one", limit: 9, order: "best" }, neverAborted)).map(
      ({ session }) => session.id,
    );
  expect(await search()).toEqual([parent]);
  await lab.store.deleteSession(parent, own, neverAborted);
  expect(await search()).toEqual([branch.id]);
  expect(lab.texts(branch.id)).toEqual(ONE);
  expect(lab.store.loadSession(branch.id).session).toMatchObject({ parent: undefined, parentLink: "branch" });
  expect(await lab.store.checkIntegrity()).toEqual([]);
});

test("D2: while a turn runs in another process, its session can be neither undone nor branched", async () => {
  await using lab = await openLab();
  const id = await converse(lab.store, "hello", "hi");
  await using child = startChild(CHILD, "hold", { path: lab.path, id });
  await child.next();
  const busy = { code: "session-busy", message: expect.stringContaining(String(child.pid)) };
  await expect(lab.undo(id, 1, own, neverAborted)).rejects.toMatchObject(busy);
  await expect(lab.redo(id, own, neverAborted)).rejects.toMatchObject(busy);
  await expect(lab.branch(id, {}, own, neverAborted)).rejects.toMatchObject(busy);
  await expect(lab.setArchived(id, true, own, neverAborted)).rejects.toMatchObject(busy);
  expect(lab.store.list.find(id)?.archivedAt).toBeUndefined();
});

test("D2: the family of a session is its ancestors and all their descendants", async () => {
  await using lab = await openLab();
  const root = await twoTurns(lab.store);
  await converse(lab.store, "alone", "yes");
  const first = await lab.branch(root, { at: 5 }, own, neverAborted);
  const second = await lab.branch(first.id, {}, own, neverAborted);
  const third = await lab.branch(root, {}, own, neverAborted);
  const ids = [root, first.id, second.id, third.id];
  for (const id of ids) expect(lab.store.list.family(id).map((one) => one.id)).toEqual(ids);
  expect(lab.store.list.families().map(({ id, turns }) => [id, turns])).toEqual([
    [root, 2],
    [first.id, 1],
    [second.id, 1],
    [third.id, 2],
  ]);
});

test("M5: a damaged message is replaced by one sentence, and the rest of the session stays usable", async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  const Sqlite = await loadSqlite();
  const raw = new Sqlite(lab.path);
  const update = raw.prepare("update message set body = ? where key = ?");
  update.run("", 1);
  update.run("[{", 2); // the answer with the calls a and b
  update.run("{", 8); // the result of c
  update.run("[null]", 9);
  raw.close();
  const damage = "[This message is damaged and cannot be read.]";
  expect(lab.texts(id)).toEqual([damage, damage, "answer one", "ask two", "looking", damage, damage]);
  const { damagedMessages, session } = lab.store.loadSession(id);
  expect(damagedMessages).toBe(4);
  expect(lab.store.list.describe(session, String).opening).toBe("");
  expect(await lab.store.search({ text: "two", limit: 9, order: "best" }, neverAborted)).toHaveLength(1);
  expect(lab.readTranscript(id).filter(({ isDamaged }) => isDamaged)).toHaveLength(4);
  const branch = await lab.branch(id, {}, own, neverAborted);
  expect(lab.texts(branch.id)).toEqual(lab.texts(id));
  await recordAll(lab.store, id, turnWithCalls("three", ["d"]));
  await lab.undo(id, 3, own, neverAborted);
  expect(lab.texts(id)).toEqual([]);
});

test("M5: every history stays complete when a process that branches, undoes and restores is killed at any time", {
  timeout: 600_000,
}, async () => {
  await using lab = await openLab();
  const id = await twoTurns(lab.store);
  for (let round = 0; round < scale.kills; round++) {
    await using child = startChild(CHILD, "change-history", { path: lab.path, id });
    for (let step = 0; step <= round % 7; step++) await child.next();
    await child.kill();
    const histories = [[], ONE, [...ONE, ...TWO]];
    expect(histories).toContainEqual(lab.texts(id));
    for (const member of lab.store.list.family(id).slice(1))
      expect([ONE, [...ONE, ...TWO]]).toContainEqual(lab.texts(member.id));
    expect(await lab.store.checkIntegrity()).toEqual([]);
  }
});
