import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import {
  assistant,
  call,
  converse,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../../../../test/support/session-fixtures.ts";
import { sessionsAnswerSchema, shownSessionSchema, turnsAnswerSchema } from "../../../contract/sessions.ts";
import { usageAnswerSchema } from "../../../contract/usage.ts";

const S = "profiles/default/sessions";
const SECRET = "sk-live-4f9c2e7a1b8d6035";

async function openWithSession() {
  const home = await openDashboardHome({}, { OPENAI_API_KEY: SECRET });
  const store = await home.data.profiles.sessions("default");
  const draft = store.createSession({ ...NEW_SESSION, title: "Fix the tests" });
  const long = `${"x".repeat(30_000)}the end`;
  await recordAll(store, draft, [
    turnStart("t1", `Run the tests with ${SECRET}`),
    assistant("I run them.", [call("c1", '{"command":"npm  test"}')], { costUsd: 0.25 }),
    { type: "tools-start", calls: [call("c1")] },
    toolEnd("c1", long),
    assistant("All three tests pass.", [], { costUsd: 0.5 }),
    turnEnd("t1"),
  ]);
  return { home, store, id: draft.id, long };
}

const list = (home: DashboardHome, query = "") => home.ask(sessionsAnswerSchema, "GET", `${S}${query}`);

test("sessions are listed with their cost, page by page, and hidden sources only when they are named", async () => {
  const { home, store, id } = await openWithSession();
  await using _ = home;
  for (let number = 0; number < 52; number++) await converse(store, `question ${number}`, "answer");
  await converse(store, "a task", "done", { source: "kanban" });
  const first = await list(home);
  expect([first.sessions.length, first.count]).toEqual([50, 53]);
  const rest = await list(home, `?after=${first.next}`);
  expect(rest.sessions.map((session) => session.id)).toContain(id);
  expect(rest).toMatchObject({ next: null, sources: ["cli", "kanban"] });
  expect((await list(home, "?source=kanban")).sessions.map(({ opening }) => opening)).toEqual(["a task"]);
  expect((await list(home, `?since=${Date.now() + 60_000}`)).sessions).toEqual([]);
  expect((await home.send("GET", `${S}?after=x`)).status).toBe(400);
  expect((await home.send("GET", "profiles/nobody/sessions")).status).toBe(404);
  expect((await home.send("GET", "profiles/..%2f..%2fetc/sessions")).status).toBe(400);
});

test("a search marks its words and names the turn of each hit", async () => {
  const { home, id } = await openWithSession();
  await using _ = home;
  const { sessions } = await list(home, "?q=three");
  const [found] = sessions;
  expect(found).toMatchObject({ id, title: "Fix the tests", costUsd: 0.75 });
  expect(found?.hits[0]).toMatchObject({ role: "assistant", turn: "t1", isUndone: false });
  expect(found?.hits[0]?.snippet.filter(({ isHit }) => isHit)).toEqual([{ text: "three", isHit: true }]);
  expect((await list(home, "?q=nothinglikeit")).sessions).toEqual([]);
});

test("a transcript has one entry for each step; secrets are replaced and a long output is a file", async () => {
  const { home, id, long } = await openWithSession();
  await using _ = home;
  const { turns, before } = await home.ask(turnsAnswerSchema, "GET", `${S}/${id}/turns`);
  expect(before).toBeNull();
  const [user, step, answer] = turns[0]?.entries ?? [];
  expect(user).toMatchObject({ type: "user", isSteer: false, images: 0 });
  expect(JSON.stringify(turns)).not.toContain(SECRET);
  expect(answer).toMatchObject({ type: "assistant", text: "All three tests pass.", calls: [] });
  const [shown] = step?.type === "assistant" ? step.calls : [];
  expect(shown).toMatchObject({ text: "npm test", state: "ok", outputBytes: long.length });
  expect(shown?.output.length).toBeLessThan(long.length);
  const file = await home.send("GET", `${S}/${id}/outputs/c1`);
  expect(file.text).toBe(long);
  expect((await home.send("GET", `${S}/${id}/outputs/c9`)).status).toBe(404);
  expect((await home.send("GET", `${S}/nowhere/turns`)).status).toBe(404);
});

test("a session is described, renamed, hidden and deleted", async () => {
  const { home, store, id } = await openWithSession();
  await using _ = home;
  const other = await converse(store, "another", "one");
  const shown = await home.ask(shownSessionSchema, "GET", `${S}/${id}`);
  expect(shown).toMatchObject({
    turns: 1,
    openTurn: null,
    isRunning: false,
    usage: { requests: 2, costUsd: 0.75 },
  });
  const renamed = await home.ask(shownSessionSchema, "PATCH", `${S}/${other}`, { json: { title: "Other" } });
  expect(renamed.title).toBe("Other");
  expect((await home.send("PATCH", `${S}/${other}`, { json: { title: "Fix the tests" } })).status).toBe(409);
  await home.ask(shownSessionSchema, "PATCH", `${S}/${other}`, { json: { archived: true } });
  expect((await list(home)).sessions.map((session) => session.id)).toEqual([id]);
  expect((await list(home, "?archived=true")).sessions.map((session) => session.id)).toEqual([other]);
  expect((await home.send("DELETE", `${S}/${other}`)).status).toBe(204);
  expect((await home.send("GET", `${S}/${other}`)).status).toBe(404);
  const cookie = await home.signIn(["read"]);
  expect((await home.send("DELETE", `${S}/${id}`, { cookie })).status).toBe(403);
});

test("usage is summed by day without gaps, and by model", async () => {
  const { home } = await openWithSession();
  await using _ = home;
  const days = await home.ask(usageAnswerSchema, "GET", "profiles/default/usage");
  expect(days.total).toMatchObject({ requests: 2, costUsd: 0.75 });
  expect(days.rows.length).toBeGreaterThanOrEqual(30);
  expect(days.rows.at(-1)).toMatchObject({ requests: 2, costUsd: 0.75 });
  expect(days.rows.at(-2)).toMatchObject({ requests: 0, costUsd: 0 });
  const models = await home.ask(usageAnswerSchema, "GET", "profiles/default/usage?by=model");
  expect(models.rows.map(({ name }) => name)).toEqual(["scripted/m-1"]);
});
