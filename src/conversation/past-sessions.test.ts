import { afterAll, beforeAll, expect, it } from "vitest";
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
import {
  openLocalTestEnvironment,
  openToolLab,
  SECRET,
  type TestEnvironment,
} from "../../test/support/tool-lab.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import { createPastSessions } from "./past-sessions.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

/** A real session store, and the tool that searches it. */
async function openLab(owner = "session-1") {
  const temp = await tempFolder();
  const store = await openSessionStore(temp.file("sessions.sqlite"), {}, AbortSignal.timeout(300_000));
  const lab = await openToolLab(testEnvironment, {
    pastSessions: createPastSessions(
      store,
      (text) => text,
      () => undefined,
    ),
    owner,
  });
  return {
    store,
    search: async (input: object) => (await lab.call("session_search", input)).json() as unknown as Found,
    call: (input: object) => lab.call("session_search", input),
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await lab[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

interface Shown {
  readonly id: number;
  readonly role: string;
  readonly text: string;
}

interface Found {
  readonly sessions: readonly {
    readonly session_id: string;
    readonly opening?: string;
    readonly matches?: readonly { readonly message_id: number; readonly snippet: string }[];
  }[];
  readonly best?: {
    readonly opening: readonly Shown[];
    readonly around: readonly Shown[];
    readonly ending: readonly Shown[];
  };
  readonly messages?: readonly Shown[];
  readonly total_messages?: number;
  readonly hint?: string;
}

it("C3: discover finds messages of earlier sessions, and shows the messages around the best match", async () => {
  await using lab = await openLab();
  const other = await converse(lab.store, "how is the weather", "sunny");
  const id = await converse(lab.store, "where is the zebra kept", "in the stable");
  const found = await lab.search({ query: "zebra" });
  expect(found.sessions.map(({ session_id }) => session_id)).toEqual([id]);
  expect(found.sessions[0]?.matches).toEqual([{ message_id: 1, snippet: "where is the zebra kept" }]);
  expect(found.best?.around.map(({ id, role, text }) => [id, role, text])).toEqual([
    [1, "user", "where is the zebra kept"],
    [2, "assistant", "in the stable"],
  ]);
  expect((await lab.search({ query: "sunny", role_filter: ["user"] })).sessions).toEqual([]);
  expect((await lab.search({ query: "sunny", role_filter: ["assistant"] })).sessions[0]?.session_id).toBe(
    other,
  );
});

it("C3: scroll shows the messages around a message, read shows a session, and both include tool results", async () => {
  await using lab = await openLab();
  const draft = lab.store.createSession(NEW_SESSION);
  const steps = Array.from({ length: 30 }, (_, n) => [
    turnStart(`t${n}`, `question ${n}`),
    assistant("", [call(`c${n}`, '{"command":"ls"}')]),
    { type: "tools-start" as const, calls: [call(`c${n}`, '{"command":"ls"}')] },
    toolEnd(`c${n}`, `result ${n}`),
    assistant(`answer ${n}`),
    turnEnd(`t${n}`),
  ]).flat();
  await recordAll(lab.store, draft, steps);
  const around = await lab.search({ session_id: draft.id, around_message_id: 7, window: 2 });
  expect(around.messages?.map(({ id, role, text }) => `${id} ${role} ${text}`)).toEqual([
    "5 user question 1",
    '6 assistant terminal {"command":"ls"}',
    "7 tool result 1",
    "8 assistant answer 1",
    "9 user question 2",
  ]);
  const whole = await lab.search({ session_id: draft.id.slice(0, -2) });
  expect(whole.total_messages).toBe(120);
  expect(whole.messages?.map(({ id }) => id)).toEqual([...numbers(1, 20), ...numbers(101, 120)]);
  expect(whole.hint).toContain("around_message_id");
  const hit = (await lab.search({ query: '"result 17"' })).sessions[0]?.matches?.[0];
  expect(hit?.message_id).toBe(17 * 4 + 3);
  expect(await lab.call({ session_id: draft.id, around_message_id: 999 })).toMatchObject({ failed: true });
});

it("C3: browse lists the latest sessions, without the current one", async () => {
  await using lab = await openLab();
  const first = await converse(lab.store, "one thing", "yes");
  const second = await converse(lab.store, "another thing", "no");
  const { sessions } = await lab.search({});
  expect(sessions.map(({ session_id, opening }) => [session_id, opening])).toEqual([
    [second, "another thing"],
    [first, "one thing"],
  ]);
});

it("C3: a search does not find the current session", async () => {
  const temp = await tempFolder();
  using store = await openSessionStore(temp.file("sessions.sqlite"), {}, AbortSignal.timeout(300_000));
  const own = await converse(store, "the zebra again", "yes");
  const other = await converse(store, "a zebra before", "yes");
  await using lab = await openToolLab(testEnvironment, {
    pastSessions: createPastSessions(
      store,
      (text) => text,
      () => undefined,
    ),
    owner: own,
  });
  for (const input of [{ query: "zebra", limit: 1 }, { limit: 1 }]) {
    const { sessions } = (await lab.call("session_search", input)).json() as unknown as Found;
    expect(sessions.map(({ session_id }) => session_id)).toEqual([other]);
  }
  await temp[Symbol.asyncDispose]();
});

it("C3: a conversation that spans several sessions is found once, and scheduled sessions come last", async () => {
  await using lab = await openLab();
  const parent = await converse(lab.store, "zebra one", "yes");
  await converse(lab.store, "zebra two", "yes", { parent });
  const scheduled = await converse(lab.store, "zebra zebra zebra", "zebra", { source: "cron" });
  const { sessions } = await lab.search({ query: "zebra", limit: 10 });
  expect(sessions).toHaveLength(2);
  expect(sessions.at(-1)?.session_id).toBe(scheduled);
});

it("K6: messages of earlier sessions are redacted too", async () => {
  await using lab = await openLab();
  const id = await converse(lab.store, `the zebra key is ${SECRET}`, "noted");
  for (const input of [{}, { query: "zebra" }, { session_id: id }, { session_id: id, around_message_id: 1 }])
    expect((await lab.call(input)).text).not.toContain(SECRET);
});

it("an unknown session, a message without its session and a search without results return a hint", async () => {
  await using lab = await openLab();
  await converse(lab.store, "one thing", "yes");
  expect(await lab.call({ session_id: "nope" })).toMatchObject({
    failed: true,
    text: expect.stringContaining("no session nope"),
  });
  expect(await lab.call({ around_message_id: 3 })).toMatchObject({
    failed: true,
    text: expect.stringContaining("needs session_id"),
  });
  expect((await lab.search({ query: "unheardof" })).hint).toContain("Nothing found");
  expect((await lab.search({ query: '"' })).sessions).toEqual([]);
});

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
