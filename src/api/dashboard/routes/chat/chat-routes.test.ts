import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import type { ScriptInput } from "../../../../providers/scripted/script.ts";
import {
  chatChoicesSchema,
  liveTurnSchema,
  type NewMessage,
  sentMessageSchema,
  sessionChatSchema,
  type TurnEvent,
} from "../../../contract/chat.ts";
import { turnsAnswerSchema } from "../../../contract/sessions.ts";

const P = "profiles/default";
const YOLO = { approvals: { mode: "off" } };
/** A command that runs until the file `go` exists. */
const WAITING = {
  tools: [{ name: "terminal", input: { command: "echo begun; until [ -e go ]; do sleep 0.05; done" } }],
};

async function openChatHome(script: ScriptInput, settings: object = YOLO) {
  const home = await openDashboardHome({}, {});
  const model = { provider: "scripted", default: home.folder.file("script.json") };
  await writeFile(home.folder.file("script.json"), JSON.stringify(script));
  await writeFile(home.folder.file("config.yaml"), JSON.stringify({ model, ...settings }));
  return home;
}

const newMessage = (text: string, more: Partial<NewMessage> = {}): NewMessage => ({
  ...{ id: randomUUID(), text },
  ...more,
});
const send = (home: DashboardHome, text: string, more: Partial<NewMessage> = {}) =>
  home.ask(sentMessageSchema, "POST", `${P}/turns`, { json: newMessage(text, more) });
const readChat = (home: DashboardHome, session: string) =>
  home.ask(sessionChatSchema, "GET", `${P}/sessions/${session}/chat`);
const isIdle = async (home: DashboardHome, session: string): Promise<boolean> => {
  const { turn, queue, isHeld } = await readChat(home, session);
  return turn === null && (queue.length === 0 || isHeld);
};
async function transcript(home: DashboardHome, session: string) {
  const { turns } = await home.ask(turnsAnswerSchema, "GET", `${P}/sessions/${session}/turns`);
  return turns.map(({ outcome, entries }) => [outcome, ...entries.map(({ text }) => text)]);
}
const change = (home: DashboardHome, session: string, json: object) =>
  home.send("POST", `${P}/sessions/${session}/queue`, { json });

test("a message begins a session, and its answer grows in the pages that follow the turn", async () => {
  await using home = await openChatHome({
    answers: [WAITING, { text: "Hello there.", chunk: 3, delay_ms: 100 }],
  });
  const { turn, session, isQueued } = await send(home, "Hi");
  expect(isQueued).toBe(false);
  const page = await home.lab.follow(await home.signIn(["read"]), `topics=turn:${turn}`);
  await page.find(({ name }) => name === "hello");
  await writeFile(home.folder.file("go"), "");
  const ended = await page.find(({ name, data }) => {
    const { patches = [] } = data as Partial<TurnEvent>;
    return (
      name === "turn-event" && patches.some((one) => one.type === "facts" && one.facts.state === "ended")
    );
  });
  const pieces = page.events.flatMap(({ data }) => (data as Partial<TurnEvent>).patches ?? []);
  expect(pieces.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
  expect(ended.topic).toBe(`turn:${turn}`);
  const read = await home.ask(liveTurnSchema, "GET", `turns/${turn}`);
  expect(read.entries.map(({ text }) => text)).toEqual(["Hi", "", "Hello there."]);
  expect(read.facts).toMatchObject({ state: "ended", outcome: "completed", isStored: true });
  expect(await transcript(home, session)).toEqual([["completed", "Hi", "", "Hello there."]]);
  page.cut();
});

test("while a turn runs, a message waits in the queue and a note reaches the model; a request sent twice starts one turn", async () => {
  await using home = await openChatHome({
    turns: [
      { when: "Work", answers: [WAITING, { text: "Done." }] },
      { when: "Then", answers: [{ text: "Next." }] },
    ],
  });
  const message = newMessage("Work");
  const json = { json: message };
  const sent = await Promise.all([1, 2].map(() => home.ask(sentMessageSchema, "POST", `${P}/turns`, json)));
  const [{ turn, session } = { turn: "", session: "" }, other] = sent;
  expect(other).toEqual({ turn, session, isQueued: false });
  await expect
    .poll(async () => (await readChat(home, session)).turn?.entries.at(-1))
    .toMatchObject({ calls: [{ state: "started", output: "begun\n" }] });
  expect(await send(home, "Then", { session })).toMatchObject({ session, isQueued: true });
  expect((await home.send("POST", `turns/${turn}/steer`, { json: { text: "Be brief" } })).status).toBe(204);
  const chat = await readChat(home, session);
  expect(chat.queue.map(({ text }) => text)).toEqual(["Then"]);
  expect(chat.turn?.facts.steers).toEqual(["Be brief"]);
  await writeFile(home.folder.file("go"), "");
  await expect.poll(() => isIdle(home, session)).toBe(true);
  expect(await transcript(home, session)).toEqual([
    ["completed", "Work", "", expect.stringContaining("Be brief"), "Done."],
    ["completed", "Then", "Next."],
  ]);
  expect(await home.ask(sentMessageSchema, "POST", `${P}/turns`, json)).toMatchObject({ turn, session });
  expect(await transcript(home, session)).toHaveLength(2);
});

test("a stopped turn holds the queue until a person sends it or takes messages back", async () => {
  await using home = await openChatHome({
    turns: [
      { when: "Work", answers: [WAITING, { text: "never" }] },
      { when: "Second", answers: [{ text: "Two." }] },
    ],
  });
  const { turn, session } = await send(home, "Work");
  await send(home, "First", { session });
  await send(home, "Second", { session });
  expect((await home.send("POST", `turns/${turn}/stop`)).status).toBe(204);
  await expect.poll(() => isIdle(home, session)).toBe(true);
  const { isHeld, queue } = await readChat(home, session);
  expect([isHeld, queue.map(({ text }) => text)]).toEqual([true, ["First", "Second"]]);
  const remove = { change: "remove", id: queue[0]?.id };
  expect((await change(home, session, remove)).status).toBe(204);
  expect((await change(home, session, remove)).status).toBe(404);
  await change(home, session, { change: "send" });
  await expect.poll(() => transcript(home, session)).toContainEqual(["completed", "Second", "Two."]);
  expect((await home.send("POST", `turns/${turn}/steer`, { json: { text: "late" } })).status).toBe(404);
});

test("in plan mode a call that would change something is refused, and the transcript has only what the person wrote", async () => {
  const touch = { tools: [{ name: "terminal", input: { command: "touch made" } }] };
  await using home = await openChatHome({ answers: [touch, { text: "The plan." }] });
  const { session } = await send(home, "Make it", { mode: "plan" });
  await expect.poll(() => isIdle(home, session)).toBe(true);
  const { turns } = await home.ask(turnsAnswerSchema, "GET", `${P}/sessions/${session}/turns`);
  expect(turns[0]?.entries).toMatchObject([
    { text: "Make it" },
    { calls: [{ state: "denied" }] },
    { text: "The plan." },
  ]);
  expect((await readChat(home, session)).mode).toBe("plan");
});

test("a message that cannot be sent is refused: without a model, to an unknown session, without the scope", async () => {
  await using home = await openDashboardHome({ model: { provider: "anthropic" } });
  const post = (json: object, cookie?: string) =>
    home.send("POST", `${P}/turns`, { json, ...(cookie && { cookie }) });
  const choices = await home.ask(chatChoicesSchema, "GET", `${P}/chat`);
  expect(choices).toMatchObject({ model: null, mode: "smart", environment: "local" });
  expect(choices.problem?.hint).not.toBe("");
  const refused = await post(newMessage("Hi"));
  expect([refused.status, refused.body]).toMatchObject([expect.any(Number), choices.problem]);
  expect((await post(newMessage("Hi", { session: "20250101_000000_000000" }))).status).toBe(404);
  expect((await home.send("POST", "profiles/nobody/turns", { json: newMessage("Hi") })).status).toBe(404);
  const [reader, worker] = [await home.signIn(["read"]), await home.signIn(["read", "work"])];
  expect((await post(newMessage("Hi"), reader)).status).toBe(403);
  expect((await post(newMessage("Hi", { mode: "off" }), worker)).body).toMatchObject({
    code: "scope-missing",
  });
});
