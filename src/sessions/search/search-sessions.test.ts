import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import {
  assistant,
  call,
  converse,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../../test/support/session-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import { loadSqlite } from "../../lib/sqlite/sqlite.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openSessionStore, type SessionStore, type SessionStoreOptions } from "../session-store.ts";
import type { SearchQuery } from "./search-sessions.ts";

async function openStore(options: SessionStoreOptions = {}) {
  const folder = await tempFolder();
  const path = folder.file("s.sqlite");
  const store = await openSessionStore(path, options, neverAborted);
  const search = (text: string, query: Partial<SearchQuery> = {}) =>
    store.search({ text, limit: 10, order: "best", ...query }, neverAborted);
  return {
    path,
    store,
    search,
    /** The ids of the found sessions. */
    ids: async (text: string, query: Partial<SearchQuery> = {}) =>
      (await search(text, query)).map(({ session }) => session.id),
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("D: all words must occur unless OR or NOT says otherwise; phrases and prefixes are supported", async () => {
  await using lab = await openStore();
  const fox = await converse(lab.store, "the quick brown fox", "jumps");
  const dog = await converse(lab.store, "a quick lazy dog", "sleeps");
  const both = [fox, dog].toSorted();
  const found = async (text: string) => (await lab.ids(text)).toSorted();
  expect(await found("quick fox")).toEqual([fox]);
  expect(await found("quick AND lazy")).toEqual([dog]);
  expect(await found("fox OR dog")).toEqual(both);
  expect(await found("quick NOT lazy")).toEqual([fox]);
  expect(await found('"quick brown"')).toEqual([fox]);
  expect(await found('"brown quick"')).toEqual([]);
  expect(await found("qui*")).toEqual(both);
  expect(await found("QUICK Brown")).toEqual([fox]);
  expect(await found("fox and dog")).toEqual([]); // a lower-case operator is a word
});

test("D: hyphenated terms are phrases, stray quotes and dangling operators are dropped", async () => {
  await using lab = await openStore();
  const id = await converse(lab.store, "use a well-known port", "café crème at http://example.org/a_b?c=1");
  for (const text of [
    "well-known",
    '"well-known',
    'well-known"',
    "well-known AND",
    "OR well-known",
    "NOT AND OR well-known",
    "(well-known)",
    "well-known *",
    "cafe",
    "CAFÉ",
    "example.org/a_b",
    "crème:",
    "^well",
    "{well known}",
    "well + known",
    "text:known OR well",
  ]) {
    expect({ text, ids: await lab.ids(text) }).toEqual({ text, ids: [id] });
  }
  for (const text of ["", "   ", '"', '""', "AND", "NOT", "*", "-", "known-well", "()"])
    expect({ text, ids: await lab.ids(text) }).toEqual({ text, ids: [] });
});

test("D: Japanese, Chinese and Korean text is found by any part of a sentence, even a single character", async () => {
  await using lab = await openStore();
  const japanese = await converse(
    lab.store,
    "東京の天気を調べてください",
    "データベースの設定を更新しました",
  );
  const chinese = await converse(lab.store, "请更新服务器的配置文件", "好的，已经完成。");
  const korean = await converse(lab.store, "서버설정을확인해주세요", "네");
  expect(await lab.ids("天気")).toEqual([japanese]);
  expect(await lab.ids("京")).toEqual([japanese]);
  expect(await lab.ids("ータベース")).toEqual([japanese]);
  expect(await lab.ids("天気 設定")).toEqual([]);
  expect(await lab.ids("服务器的配置")).toEqual([chinese]);
  expect((await lab.ids("更新")).toSorted()).toEqual([japanese, chinese].toSorted());
  expect(await lab.ids("설정")).toEqual([korean]);
  expect(await lab.ids("气天")).toEqual([]);
  const [found] = await lab.search("天気", { marks: { open: "<", close: ">" } });
  expect(found?.hits[0]?.snippet).toBe("東京の<天気>を調べてください");
});

test("a part of a word is found if no whole word matches", async () => {
  await using lab = await openStore();
  const id = await converse(lab.store, "call getUserNameById please", "สวัสดีครับทุกคน 🎉🎉🎉");
  expect(await lab.ids("UserName")).toEqual([id]);
  expect(await lab.ids("ครับ")).toEqual([id]);
  expect(await lab.ids("🎉🎉🎉")).toEqual([id]);
  expect(await lab.ids("rN")).toEqual([]);
});

test("tool input and output are found as well", async () => {
  await using lab = await openStore();
  const draft = lab.store.createSession(NEW_SESSION);
  const calls = [call("c1", '{"command":"kubectl rollout"}')];
  await recordAll(lab.store, draft, [
    turnStart("t1", "deploy"),
    assistant("", calls),
    toolEnd("c1", `deployment "api" restarted ${"x ".repeat(10_000)} faraway`),
    turnEnd("t1"),
  ]);
  expect(await lab.ids("kubectl rollout")).toEqual([draft.id]);
  expect(await lab.ids("restarted", { roles: ["tool"] })).toEqual([draft.id]);
  expect(await lab.ids("faraway")).toEqual([]); // only the start of long output
});

test("matches are grouped by session, with marks and the messages around them", async () => {
  await using lab = await openStore();
  const draft = lab.store.createSession({ ...NEW_SESSION, title: "ports" });
  const long = `${"word ".repeat(100)}needle ${"word ".repeat(100)}`;
  await recordAll(lab.store, draft, [turnStart("t1", "first"), assistant("y".repeat(300)), turnEnd("t1")]);
  await recordAll(lab.store, draft.id, [turnStart("t2", long), assistant("Needle found"), turnEnd("t2")]);
  await recordAll(lab.store, draft.id, [turnStart("t3", "thanks"), assistant("ok"), turnEnd("t3")]);
  const found = await lab.search("needle", { order: "newest" });
  expect(found).toHaveLength(1);
  expect(found[0]?.session).toMatchObject({ id: draft.id, title: "ports" });
  const [answer, question] = found[0]?.hits ?? [];
  expect(answer).toMatchObject({
    role: "assistant",
    snippet: ">>>Needle<<< found",
    after: { text: "thanks" },
  });
  expect(question?.snippet).toMatch(/^….*>>>needle<<<.*…$/);
  expect(question?.snippet.length).toBeLessThan(220);
  expect(question?.before).toEqual({ role: "assistant", text: `${"y".repeat(199)}…` });
});

test("role, source and time narrow a search, and the limit counts sessions", async () => {
  const clock = new TurnableClock();
  await using lab = await openStore({ clock });
  const old = await converse(lab.store, "needle", "nothing", { source: "api-server" });
  await clock.advance(1_000);
  const middle = await converse(lab.store, "nothing", "needle needle needle");
  await clock.advance(1_000);
  const newest = await converse(lab.store, "needle", "needle", { source: "telegram" });
  expect(await lab.ids("needle", { order: "newest" })).toEqual([newest, middle, old]);
  expect(await lab.ids("needle", { order: "newest", limit: 2 })).toEqual([newest, middle]);
  expect(await lab.ids("needle", { order: "newest", roles: ["user"] })).toEqual([newest, old]);
  expect(await lab.ids("needle", { sources: ["api-server", "kanban"] })).toEqual([old]);
  expect(await lab.ids("needle", { order: "newest", since: clock.now() - 1_000 })).toEqual([newest, middle]);
  expect(await lab.ids("needle", { since: clock.now() + 1 })).toEqual([]);
  expect(await lab.ids("xroleuser")).toEqual([]); // filter terms are not searchable text
  expect((await lab.ids("needle"))[0]).toBe(middle);
});

test("a session with many matches does not hide the others", async () => {
  await using lab = await openStore();
  const quiet = await converse(lab.store, "needle", "once");
  const draft = lab.store.createSession(NEW_SESSION);
  await recordAll(
    lab.store,
    draft,
    Array.from({ length: 60 }, (_, number) => [
      turnStart(`t${number}`, "needle"),
      assistant("needle"),
      turnEnd(`t${number}`),
    ]).flat(),
  );
  for (const order of ["newest", "best"] as const)
    expect((await lab.ids("needle", { order, limit: 2 })).toSorted()).toEqual([draft.id, quiet].toSorted());
});

test("M5: a damaged or missing index is rebuilt, and neither messages nor deletion are affected", async () => {
  await using lab = await openStore();
  const id = await converse(lab.store, "needle", "found");
  const doomed = await converse(lab.store, "needle too", "found");
  const Sqlite = await loadSqlite();
  const damage = (sql: string) => {
    const raw = new Sqlite(lab.path);
    raw.unsafeMode(true);
    raw.exec(sql);
    raw.close();
  };
  damage("update message_words_data set block = x'00112233445566778899' where id > 100");
  expect((await lab.store.checkIntegrity()).join()).toContain("fts5");
  expect((await lab.ids("needle")).length).toBe(2);
  expect(await lab.store.checkIntegrity()).toEqual([]);
  damage("drop table message_words");
  expect((await lab.ids("needle")).length).toBe(2);
  damage("drop table message_trigrams");
  {
    await using turn = await lab.store.acquireTurn(id, await readOwnIdentity(neverAborted), neverAborted);
    await turn.record(turnStart("t2", "haystack"), neverAborted);
    expect(await lab.ids("haystack")).toEqual([id]); // adding to the index fails first
    await turn.record(turnEnd("t2"), neverAborted);
  }
  damage("delete from message_words_data; delete from message_trigrams_data");
  const later = await converse(lab.store, "needle again", "found");
  await lab.store.deleteSession(doomed, await readOwnIdentity(neverAborted), neverAborted);
  expect((await lab.ids("needle")).toSorted()).toEqual([id, later].toSorted());
  await lab.store.rebuildSearch(neverAborted);
  expect((await lab.ids("needle")).toSorted()).toEqual([id, later].toSorted());
  expect(await lab.store.checkIntegrity()).toEqual([]);
});

test("every text is a valid query", async () => {
  await using lab = await openStore();
  await converse(lab.store, "the quick brown fox", "東京の天気");
  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.constantFrom(
      '"',
      "*",
      "(",
      ")",
      "AND",
      "OR",
      "NOT",
      "NEAR(a b, 3)",
      "text:",
      "{a b}:",
      "^",
      "-",
      "+",
      ";--",
      "'",
      "\u0000",
      "\ud800",
      "天",
      "fox",
    ),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 12 }),
      fc.constantFrom(" ", ""),
      fc.constantFrom<SearchQuery["order"]>("best", "newest"),
      fc.array(fc.string({ maxLength: 5 }), { maxLength: 2 }),
      async (pieces, glue, order, sources) => {
        const found = await lab.search(pieces.join(glue), { order, sources });
        expect(Array.isArray(found)).toBe(true);
      },
    ),
    { numRuns: scale.cases },
  );
  await lab.search("a ".repeat(100_000));
  await lab.search("(".repeat(10_000));
});

test("messages of another process are found at once", async () => {
  await using lab = await openStore();
  using other: SessionStore = await openSessionStore(lab.path, {}, neverAborted);
  const draft = other.createSession(NEW_SESSION);
  await using turn = await other.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
  await turn.record(turnStart("t1", "needle"), neverAborted);
  expect(await lab.ids("needle")).toEqual([draft.id]);
});
