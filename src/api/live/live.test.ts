import { expect, test } from "vitest";
import { openDashboardLab } from "../../../test/support/dashboard-lab.ts";
import { AppError } from "../../lib/errors.ts";
import { createJournal } from "./journal.ts";
import { LIVE_TIMES } from "./live.ts";
import type { LiveSink, LiveSource } from "./live-source.ts";

/** A source of one kind, whose events the test publishes. */
function createSource(kind: LiveSource["kind"] = "board") {
  const open = new Map<string, LiveSink>();
  let opened = 0;
  const source: LiveSource = {
    kind,
    async open(name, sink) {
      opened += 1;
      if (name === "missing") throw new AppError("board-not-found", "There is no board missing.");
      open.set(name, sink);
      return {
        async [Symbol.asyncDispose]() {
          open.delete(name);
        },
      };
    },
  };
  return {
    source,
    isOpen: (name: string) => open.has(name),
    opened: () => opened,
    fail: (name: string) => open.get(name)?.fail(new AppError("database-busy", "busy")),
    /** Publishes a change with a number. */
    publish: (name: string, at: number | string) => open.get(name)?.publish("beat", { at: String(at) }),
  };
}

const numbersOf = (events: readonly { name: string; topic: string | null; data: object }[]) =>
  events.flatMap(({ topic, data }) => (topic === null ? [] : [Number((data as { at: string }).at)]));

async function openLab(times: Partial<typeof LIVE_TIMES> = {}) {
  const board = createSource();
  const lab = await openDashboardLab({}, { sources: [board.source], times: { ...LIVE_TIMES, ...times } });
  const Cookie = await lab.signIn();
  const putTopics = (stream: string, topics: object) =>
    lab.send(`/api/events/${stream}/topics`, { method: "PUT", json: { topics }, headers: { Cookie } });
  return { ...lab, board, Cookie, putTopics };
}

test("every page gets the events of its topics, each serialised once, and a source runs only while it is followed", async () => {
  await using lab = await openLab({ lingerMs: 0 });
  const { board } = lab;
  const [first, second] = [
    await lab.follow(lab.Cookie, "topics=board:a"),
    await lab.follow(lab.Cookie, "topics=board:a%20board:b"),
  ];
  await Promise.all([first, second].map((page) => page.find(({ name }) => name === "hello")));
  expect(board.opened()).toBe(2);
  board.publish("a", 1);
  board.publish("b", 2);
  board.publish("a", 3);
  await second.find(({ data }) => data["at"] === "3");
  await first.find(({ data }) => data["at"] === "3");
  expect(numbersOf(first.events)).toEqual([1, 3]);
  expect(numbersOf(second.events)).toEqual([1, 2, 3]);
  first.cut();
  second.cut();
  await expect.poll(() => board.isOpen("a") || board.isOpen("b")).toBe(false);
});

test("a page that reconnects gets the events that it missed, once", async () => {
  await using lab = await openLab();
  const page = await lab.follow(lab.Cookie, "topics=board:a");
  await page.find(({ name }) => name === "hello");
  lab.board.publish("a", 1);
  const { id } = await page.find(({ data }) => data["at"] === "1");
  page.cut();
  await page.ended;
  lab.board.publish("a", 2);
  lab.board.publish("a", 3);
  const again = await lab.follow(lab.Cookie, `topics=board:a&after=${id}`);
  lab.board.publish("a", 4);
  await again.find(({ data }) => data["at"] === "4");
  expect(again.events[0]).toMatchObject({ name: "hello", data: { resumed: true, version: "1.2.3" } });
  expect(numbersOf(again.events)).toEqual([2, 3, 4]);
});

test("after a restart, and for a position that does not exist, a page is reset", async () => {
  await using lab = await openLab();
  const page = await lab.follow(lab.Cookie, "topics=board:a");
  const hello = await page.find(({ name }) => name === "hello");
  const restarted = lab.restart();
  expect(await page.find(({ name }) => name === "bye")).toMatchObject({ data: { backInMs: 1_000 } });
  await page.ended;
  await restarted;
  for (const after of [
    String(hello.data["at"]),
    "other.1",
    `${String(hello.data["at"]).split(".")[0]}.999`,
  ]) {
    const again = await lab.follow(lab.Cookie, `topics=board:a&after=${after}`);
    await again.find(({ name }) => name === "reset");
    expect(again.events).toMatchObject([
      { name: "hello", data: { resumed: false } },
      { name: "reset", data: { topics: null } },
    ]);
    again.cut();
  }
});

test("a topic that was not watched in between is reset, and the others are replayed", async () => {
  await using lab = await openLab({ lingerMs: 0 });
  const page = await lab.follow(lab.Cookie, "topics=board:a%20board:b");
  await page.find(({ name }) => name === "hello");
  const other = await lab.follow(lab.Cookie, "topics=board:b");
  await other.find(({ name }) => name === "hello");
  lab.board.publish("b", 1);
  const { id } = await page.find(({ data }) => data["at"] === "1");
  page.cut();
  await expect.poll(() => lab.board.isOpen("a")).toBe(false);
  lab.board.publish("b", 2);
  const again = await lab.follow(lab.Cookie, `topics=board:a%20board:b&after=${id}`);
  await again.find(({ data }) => data["at"] === "2");
  expect(again.events).toMatchObject([
    { name: "hello", data: { resumed: false } },
    { name: "reset", data: { topics: ["board:a"] } },
    { topic: "board:b", data: { at: "2" } },
  ]);
});

test("topics change without a new connection, and nothing between snapshot and change is missed", async () => {
  await using lab = await openLab();
  const page = await lab.follow(lab.Cookie, "stream=stream-0001&topics=board:a");
  const hello = await page.find(({ name }) => name === "hello");
  const changed = await lab.putTopics("stream-0001", { "board:b": null });
  expect([changed.status, changed.json()]).toEqual([200, { at: expect.any(String), reset: [] }]);
  lab.board.publish("a", 1);
  lab.board.publish("b", 2);
  await page.find(({ data }) => data["at"] === "2");
  expect(numbersOf(page.events)).toEqual([2]);
  // board:a was open all the time, so its events since the snapshot are known.
  const back = await lab.putTopics("stream-0001", { "board:a": hello.data["at"], "board:b": null });
  expect(back.json()).toMatchObject({ reset: [] });
  await page.find(({ data }) => data["at"] === "1");
  const unknown = await lab.putTopics("stream-0001", { "board:c": hello.data["at"] });
  expect(unknown.json()).toMatchObject({ reset: ["board:c"] });
  expect((await lab.putTopics("stream-none", {})).status).toBe(404);
  for (const topic of ["board:", "board:a b", "file:/etc/passwd", "x".repeat(301)])
    expect((await lab.putTopics("stream-0001", { [topic]: null })).status).toBe(400);
});

test("another sign-in cannot change the topics of a stream", async () => {
  await using lab = await openLab();
  const page = await lab.follow(lab.Cookie, "stream=stream-0001");
  await page.find(({ name }) => name === "hello");
  const other = await lab.signIn();
  const answer = await lab.send("/api/events/stream-0001/topics", {
    ...{ method: "PUT", json: { topics: {} } },
    headers: { Cookie: other },
  });
  expect(answer.status).toBe(404);
});

test("a second connection of a page ends the first at once, even if the first reads nothing", async () => {
  await using lab = await openLab({ lingerMs: 0, stallMs: 3_600_000 });
  const first = await lab.follow(lab.Cookie, "stream=stream-0001&topics=board:a");
  await first.find(({ name }) => name === "hello");
  first.freeze();
  for (let count = 1; count <= 100; count += 1) {
    lab.board.publish("a", "0".repeat(100_000)); // more than the buffers of the system take
    await lab.send("/health/live");
  }
  const second = await lab.follow(lab.Cookie, "stream=stream-0001");
  await second.find(({ name }) => name === "hello");
  await expect.poll(() => lab.board.isOpen("a")).toBe(false);
  first.thaw();
  await first.ended;
});

test("a page that is more than a megabyte behind is reset instead of getting the backlog", async () => {
  await using lab = await openLab();
  const [slow, fast] = [
    await lab.follow(lab.Cookie, "topics=board:a"),
    await lab.follow(lab.Cookie, "topics=board:a"),
  ];
  await Promise.all([slow, fast].map((page) => page.find(({ name }) => name === "hello")));
  slow.freeze();
  const piece = "0".repeat(100_000);
  for (let count = 1; count <= 300; count += 1) {
    lab.board.publish("a", `${piece}${count}`);
    await fast.find(({ data }) => String(data["at"]).endsWith(`0${count}`));
  }
  slow.thaw();
  const reset = await slow.find(({ name }) => name === "reset");
  expect(reset.data["topics"]).toBeNull();
  lab.board.publish("a", 301);
  await slow.find(({ data }) => data["at"] === "301");
  expect(slow.events.length).toBeLessThan(290);
  expect(fast.events.length).toBeGreaterThan(300);
});

test("a page that reads nothing at all is cut off, and its source is closed", async () => {
  await using lab = await openLab({ stallMs: 50, lingerMs: 0 });
  const page = await lab.follow(lab.Cookie, "topics=board:a");
  await page.find(({ name }) => name === "hello");
  page.freeze();
  const piece = "0".repeat(100_000);
  let count = 0;
  await expect
    .poll(
      () => {
        count += 1;
        lab.board.publish("a", `${piece}${count}`);
        return lab.board.isOpen("a");
      },
      { interval: 5, timeout: 30_000 },
    )
    .toBe(false);
});

test("a stream ends when its sign-in ends, here or in another process", async () => {
  await using lab = await openLab({ beatMs: 30 });
  const other = await lab.signIn();
  const [page, elsewhere] = [await lab.follow(lab.Cookie), await lab.follow(other)];
  await lab.send("/api/sign-out", { method: "POST", headers: { Cookie: lab.Cookie } });
  await page.ended;
  await lab.signIns.signOutAll(new AbortController().signal);
  await elsewhere.ended;
});

test("a failed source is reopened, and its pages are reset", async () => {
  await using lab = await openLab({ retryMs: [10] });
  const page = await lab.follow(lab.Cookie, "topics=board:a");
  await page.find(({ name }) => name === "hello");
  lab.board.fail("a");
  await page.find(({ name, data }) => name === "reset" && JSON.stringify(data["topics"]) === '["board:a"]');
  lab.board.publish("a", 1);
  await page.find(({ data }) => data["at"] === "1");
  const missing = await lab.follow(lab.Cookie, "topics=board:missing");
  await missing.find(({ name }) => name === "hello");
  expect(lab.errors).toEqual([]);
});

test("too many streams and bad names and positions are refused", async () => {
  await using lab = await openLab();
  const pages = [];
  for (let count = 0; count < 50; count += 1) pages.push(await lab.follow(lab.Cookie));
  expect((await lab.follow(lab.Cookie)).status).toBe(429);
  for (const page of pages) page.cut();
  for (const query of ["stream=x", "after=1.2.3", "after=..%2f", "topics=other"])
    expect((await lab.follow(lab.Cookie, query)).status).toBe(400);
});

test("the journal keeps the latest events within its limits", () => {
  const journal = createJournal({ maxEvents: 3, maxBytes: 10_000 });
  const start = journal.position();
  const positions = [1, 2, 3, 4].map((at) => {
    journal.append("beat", "board:a", { at: String(at) });
    return journal.position();
  });
  const missed = (position: string) => {
    const sequence = journal.sequenceOf(position);
    return sequence === undefined ? undefined : journal.after(sequence)?.length;
  };
  expect(missed(start)).toBeUndefined();
  expect(positions.map(missed)).toEqual([3, 2, 1, 0]);
  journal.append("beat", "board:a", { at: "x".repeat(9_990) });
  expect(missed(positions[3] ?? "")).toBeUndefined();
  expect(missed(journal.position())).toBe(0);
});
