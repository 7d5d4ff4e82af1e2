import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../test/support/dashboard-home.ts";
import { converse } from "../../../../test/support/session-fixtures.ts";
import { readOwnIdentity } from "../../../lib/process/process-identity.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { openSessionStore } from "../../../sessions/session-store.ts";
import type { LiveEventName, LiveEvents } from "../../contract/events.ts";
import { createdTaskSchema } from "../../contract/tasks.ts";
import type { LiveSource } from "../live-source.ts";
import { createBoardSource } from "./board.ts";
import { createNeedsSource } from "./needs.ts";
import { createSessionSource } from "./sessions.ts";

/** Opens a source and collects what it publishes. */
async function follow<Name extends LiveEventName>(source: LiveSource, name: string, event: Name) {
  const published: LiveEvents[Name][] = [];
  const failures: unknown[] = [];
  const opened = await source.open(
    name,
    {
      publish: (kind, data) => void (kind === (event as string) && published.push(data as LiveEvents[Name])),
      fail: (error) => void failures.push(error),
    },
    neverAborted,
  );
  return { published, failures, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

async function create(home: DashboardHome, title: string) {
  const json = { title, assignee: "coder" };
  return (await home.ask(createdTaskSchema, "POST", "boards/default/tasks", { json })).task;
}

test("changes of a board in quick succession are one event with the changed cards and new counts", async () => {
  await using home = await openDashboardHome();
  const old = await create(home, "old");
  await using live = await follow(createBoardSource(home.data.boards), "default", "board-change");
  const ids = [await create(home, "one"), await create(home, "two")].map(({ id }) => id);
  await expect
    .poll(() => live.published.flatMap(({ cards }) => cards.map(({ id }) => id)))
    .toEqual(expect.arrayContaining(ids));
  const before = live.published.length;
  const json = { ids, edit: { priority: 3 } };
  await home.send("POST", "boards/default/tasks/bulk", { json });
  await expect.poll(() => live.published.length).toBeGreaterThan(before);
  const last = live.published.at(-1);
  expect(last).toMatchObject({ board: "default", paused: false, isLarge: false, gone: [] });
  expect(last?.counts.ready).toBe(3);
  expect(live.published.flatMap(({ cards }) => cards.map(({ id }) => id))).not.toContain(old.id);
  expect(live.failures).toEqual([]);
});

test("a board that does not exist cannot be followed", async () => {
  await using home = await openDashboardHome();
  await expect(follow(createBoardSource(home.data.boards), "nowhere", "board-change")).rejects.toThrow(
    /no board/,
  );
});

test("what needs a person is published when another process changes it, and only then", async () => {
  await using home = await openDashboardHome();
  const task = await create(home, "Migrate");
  await using live = await follow(createNeedsSource(home.data), "", "needs-change");
  const json = { move: "block", reason: "Drop them?" };
  await home.send("POST", `boards/default/tasks/${task.id}/moves`, { json });
  await expect
    .poll(() => live.published.at(-1)?.needs.map(({ kind }) => kind), { timeout: 10_000 })
    .toEqual(["block"]);
});

test("a session that another process writes is published with the turn that has grown, and one that is deleted is gone", async () => {
  await using home = await openDashboardHome();
  const own = await home.data.profiles.sessions("default");
  await converse(own, "first", "answer");
  await using live = await follow(createSessionSource(home.data), "", "session-change");
  using other = await openSessionStore(home.app.profile.sessionsPath, {}, neverAborted);
  const id = await converse(other, "second", "answer");
  const published = () => live.published.flatMap(({ sessions }) => sessions);
  await expect.poll(() => published().map((session) => session.id), { timeout: 10_000 }).toContain(id);
  expect(published().find((session) => session.id === id)).toMatchObject({ opening: "second", messages: 2 });
  expect(live.published.flatMap(({ turns }) => turns)).toContainEqual({ session: id, turn: "t1" });
  await other.deleteSession(id, await readOwnIdentity(neverAborted), neverAborted);
  await expect.poll(() => live.published.flatMap(({ gone }) => gone), { timeout: 10_000 }).toEqual([id]);
  expect(published().map(({ opening }) => opening)).not.toContain("first");
});
