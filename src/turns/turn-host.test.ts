import { expect, test } from "vitest";
import { collect, openHostOf, openTestHost, startTurn, waitFor } from "../../test/support/hosted-turns.ts";
import { AppError } from "../lib/errors.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import type { HostedTurn } from "./turn-host.ts";

const sessionOf = async (turn: HostedTurn): Promise<string> => (await turn.opened).sessionId;
const answerOf = async (turn: HostedTurn): Promise<string> => {
  const result = await turn.ended;
  if (result.end === undefined) throw result.error;
  return result.end.text;
};
const codeOf = (action: () => unknown): string => {
  try {
    action();
    return "none";
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
};
/** A tool call that runs until the file `go` exists. */
const WAITING = {
  tools: [
    {
      name: "terminal",
      input: { command: "touch started; until [ -e go ]; do sleep 0.05; done; echo went" },
    },
  ],
};
const GO = { tools: [{ name: "terminal", input: { command: "touch go" } }] };
const YOLO = { approvals: { mode: "off" } };

test("K13: a turn goes on when its watcher leaves, and another watcher resumes after the last id it saw", async () => {
  await using lab = await openTestHost(
    {
      turns: [
        { when: "work", answers: [WAITING, { text: "done" }] },
        { when: "go", answers: [GO, { text: "ok" }] },
      ],
    },
    {},
    YOLO,
  );
  const turn = startTurn(lab.host, "work");
  let lastSeen = 0;
  const leaving = new AbortController();
  for await (const item of turn.watch(0, leaving.signal)) {
    if (!("event" in item)) continue;
    lastSeen = item.id;
    if (item.event.type === "tools-start") leaving.abort();
  }
  expect(turn.state()).toBe("running");
  await answerOf(startTurn(lab.host, "go"));
  expect(await answerOf(turn)).toBe("done");
  const rest = await collect(turn, lastSeen);
  expect(rest[0]).toMatchObject({ id: lastSeen + 1 });
  expect(rest.at(-1)).toMatchObject({ event: { type: "turn-end", outcome: "completed" } });
  expect(await collect(turn)).toHaveLength(lastSeen + rest.length);
});

test("two watchers see the same events with the same ids, which count from 1", async () => {
  await using lab = await openTestHost({ answers: [{ text: "hello there", chunk: 2 }] });
  const turn = startTurn(lab.host, "hi");
  const [one, other] = await Promise.all([collect(turn), collect(turn)]);
  expect(one).toEqual(other);
  expect(one.map((item) => "id" in item && item.id)).toEqual(one.map((_, index) => index + 1));
});

test("a message to a session continues it, in a host of another process as well", async () => {
  await using lab = await openTestHost({
    turns: [
      { when: "first", answers: [{ text: "one" }] },
      { when: "second", answers: [{ text: "two" }] },
    ],
  });
  const first = startTurn(lab.host, "first");
  const sessionId = await sessionOf(first);
  expect(await answerOf(first)).toBe("one");
  await using other = await openHostOf(lab);
  const second = startTurn(other, "second", { sessionId });
  expect(await sessionOf(second)).toBe(sessionId);
  expect(await answerOf(second)).toBe("two");
});

test("a session runs one turn at a time: a second message is refused or waits, as its sender asks", async () => {
  await using lab = await openTestHost(
    {
      turns: [
        { when: "work", answers: [WAITING, { text: "done" }] },
        { when: "go", answers: [GO, { text: "ok" }] },
        { when: "next", answers: [{ text: "after" }] },
      ],
    },
    {},
    YOLO,
  );
  const turn = startTurn(lab.host, "work");
  const sessionId = await sessionOf(turn);
  await waitFor(turn, "tools-start");
  expect(codeOf(() => startTurn(lab.host, "next", { sessionId }))).toBe("session-busy");
  await using other = await openHostOf(lab);
  expect(await startTurn(other, "next", { sessionId }).ended).toMatchObject({
    error: { code: "session-busy" },
  });
  const waiting = startTurn(lab.host, "next", { sessionId, whenBusy: "wait" });
  const elsewhere = startTurn(other, "next", { sessionId, whenBusy: "wait" });
  expect(waiting.state()).toBe("waiting");
  await answerOf(startTurn(lab.host, "go"));
  expect([await answerOf(turn), await answerOf(waiting), await answerOf(elsewhere)]).toEqual([
    "done",
    "after",
    "after",
  ]);
});

test("a turn that waits in line can be stopped, and the one behind it still waits for the one before it", async () => {
  await using lab = await openTestHost(
    {
      turns: [
        { when: "work", answers: [WAITING, { text: "done" }] },
        { when: "go", answers: [GO, { text: "ok" }] },
        { when: "next", answers: [{ text: "after" }] },
      ],
    },
    {},
    YOLO,
  );
  const turn = startTurn(lab.host, "work");
  const sessionId = await sessionOf(turn);
  const stopped = startTurn(lab.host, "next", { sessionId, whenBusy: "wait" });
  const last = startTurn(lab.host, "next", { sessionId, whenBusy: "wait" });
  stopped.stop();
  expect(await stopped.ended).toMatchObject({ error: { code: "turn-stopped" } });
  expect([turn.state(), last.state()]).toEqual(["running", "waiting"]);
  await answerOf(startTurn(lab.host, "go"));
  expect(await answerOf(last)).toBe("after");
});

test("stop ends the tools of a turn and leaves a turn-end with the outcome stopped", async () => {
  await using lab = await openTestHost({ answers: [WAITING, { text: "never" }] }, {}, YOLO);
  const turn = startTurn(lab.host, "work");
  await waitFor(turn, "tools-start");
  turn.stop();
  expect(turn.state()).toBe("stopping");
  expect(await turn.ended).toMatchObject({ end: { outcome: "stopped" } });
  expect(turn.state()).toBe("ended");
});

test("a note reaches the model after the running call; an ended turn takes none", async () => {
  await using lab = await openTestHost(
    {
      turns: [
        { when: "work", answers: [WAITING, { text: "done" }] },
        { when: "go", answers: [GO, { text: "ok" }] },
      ],
    },
    {},
    YOLO,
  );
  const turn = startTurn(lab.host, "work");
  await waitFor(turn, "tools-start");
  expect(turn.steer("be brief")).toBe(true);
  await answerOf(startTurn(lab.host, "go"));
  await turn.ended;
  const steers = (await collect(turn)).filter((item) => "event" in item && item.event.type === "steer");
  expect(steers).toHaveLength(1);
  expect(turn.steer("too late")).toBe(false);
});

test("an approval is answered while the turn waits for it, and only by the turn that asked", async () => {
  await using lab = await openTestHost(
    { answers: [{ tools: [{ name: "terminal", input: { command: "echo ran" } }] }, { text: "done" }] },
    {},
    { approvals: { mode: "manual", ask: ["echo ran*"] } },
  );
  const turn = startTurn(lab.host, "work");
  await waitFor(turn, "approval-asked");
  expect(turn.state()).toBe("asking");
  const [question] = turn.questions();
  const id = question?.id ?? "";
  await expect(
    turn.answer("a_000000", { verdict: "approved", by: "me" }, neverAborted),
  ).rejects.toMatchObject({
    code: "approval-not-found",
  });
  const answered = await turn.answer(id, { verdict: "approved", by: "me" }, neverAborted);
  expect(answered).toMatchObject({ state: "approved", answeredBy: "me" });
  expect(await answerOf(turn)).toBe("done");
  expect(turn.questions()).toEqual([]);
});

test("the conversation that was idle longest is closed for a new one, never a running one", async () => {
  await using lab = await openTestHost(
    {
      turns: [
        { when: "work", answers: [WAITING, { text: "done" }] },
        { when: "go", answers: [GO, { text: "ok" }] },
      ],
    },
    { maxOpen: 2 },
    YOLO,
  );
  const turn = startTurn(lab.host, "work");
  await waitFor(turn, "tools-start");
  const second = startTurn(lab.host, "work");
  await waitFor(second, "tools-start");
  expect(codeOf(() => startTurn(lab.host, "go"))).toBe("turns-full");
  second.stop();
  await second.ended;
  await answerOf(startTurn(lab.host, "go"));
  expect(lab.host.openConversations()).toBe(2);
  expect(await answerOf(turn)).toBe("done");
});

test("gateway K28: idle conversations are kept up to a number, and a single turn keeps none", async () => {
  await using lab = await openTestHost({ answers: [{ text: "one" }] }, { maxIdle: 2 });
  for (let count = 0; count < 4; count++) await answerOf(startTurn(lab.host, "hi"));
  expect(lab.host.openConversations()).toBe(2);
  await answerOf(startTurn(lab.host, "hi", { isSingle: true }));
  expect(lab.host.openConversations()).toBe(2);
});

test("draining starts nothing, waits for running turns, and stops those that still run at the deadline", async () => {
  await using lab = await openTestHost({ answers: [WAITING, { text: "never" }] }, {}, YOLO);
  const turn = startTurn(lab.host, "work");
  await waitFor(turn, "tools-start");
  const deadline = new AbortController();
  const drained = lab.host.drain(deadline.signal);
  expect(codeOf(() => startTurn(lab.host, "more"))).toBe("turns-draining");
  expect(turn.state()).toBe("running");
  deadline.abort();
  await drained;
  expect(await turn.ended).toMatchObject({ end: { outcome: "stopped" } });
});

test("K15: the title or a prefix of an id opens no session", async () => {
  await using lab = await openTestHost({ answers: [{ text: "one" }] });
  const first = startTurn(lab.host, "my title");
  await answerOf(first);
  const id = await sessionOf(first);
  for (const sessionId of ["my title", id.slice(0, -1), "latest"])
    expect(await startTurn(lab.host, "hi", { sessionId }).ended).toMatchObject({
      error: { code: "session-not-found" },
    });
});

test("a failure to open is the result of the turn, and the session is free afterwards", async () => {
  await using lab = await openTestHost({ answers: [{ text: "one" }] });
  const sessionId = "20260101_000000_abcdef";
  const turn = startTurn(lab.host, "hi", { sessionId });
  await expect(turn.opened).rejects.toMatchObject({ code: "session-not-found" });
  expect(codeOf(() => startTurn(lab.host, "hi", { sessionId }))).toBe("none");
});
