import { expect, test } from "vitest";
import { NEW_SESSION, recordAll, turnStart } from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import type { NewApproval } from "../approvals/approval.ts";
import { awaitAnswer } from "../approvals/await-answer.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { systemClock } from "../lib/time/clock.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { openSessionStore, type SessionStore } from "./session-store.ts";

const identity = await readOwnIdentity(neverAborted);

/** A profile with one session, opened by two processes. */
async function openTwo() {
  const folder = await tempFolder();
  const path = folder.file("sessions.sqlite");
  const one = await openSessionStore(path, {}, neverAborted);
  const other = await openSessionStore(path, {}, neverAborted);
  const draft = one.createSession(NEW_SESSION);
  await recordAll(one, draft, [turnStart("t1", "hello")]);
  return {
    one,
    other,
    sessionId: draft.id,
    async [Symbol.asyncDispose]() {
      one[Symbol.dispose]();
      other[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function question(sessionId: string, more: Partial<NewApproval> = {}): NewApproval {
  return {
    sessionId,
    kind: "approval",
    callId: "c1",
    tool: "terminal",
    hash: "h1",
    summary: "git push",
    reason: "The rule `git push*` (user) asks about it.",
    rule: "git push*",
    details: { session: { rule: "git push*", words: "git push" } },
    timeoutMs: 60_000,
    ...more,
  };
}

const ask = (store: SessionStore, sessionId: string, more: Partial<NewApproval> = {}) =>
  store.approvals.ask(question(sessionId, more), identity, neverAborted);

test("K2: an answer from another process reaches the process that waits", async () => {
  await using two = await openTwo();
  const asked = await ask(two.one, two.sessionId);
  expect(two.other.approvals.waiting()).toMatchObject([{ id: asked.id, summary: "git push" }]);
  const waiting = awaitAnswer(
    two.one.approvals,
    asked,
    { clock: systemClock, keepAfterAbort: false },
    neverAborted,
  );
  await two.other.approvals.answer(asked.id, { verdict: "approved", by: "ann" }, neverAborted);
  expect(await waiting).toMatchObject({ state: "approved", scope: "once", answeredBy: "ann" });
  expect(two.other.approvals.waiting()).toEqual([]);
});

test("K2: exactly one of several simultaneous answers is accepted, and the others are refused with its author's name", async () => {
  await using two = await openTwo();
  const { id } = await ask(two.one, two.sessionId);
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      (index % 2 === 0 ? two.one : two.other).approvals.answer(
        id,
        { verdict: index % 2 === 0 ? "approved" : "denied", by: `person-${index}` },
        neverAborted,
      ),
    ),
  );
  const won = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(won).toHaveLength(1);
  const lost = answers.flatMap((one) => (one.status === "rejected" ? [String(one.reason.message)] : []));
  for (const message of lost) expect(message).toContain(`by ${won[0]?.answeredBy}`);
});

test("K2: an unanswered question expires, and a late answer is refused", async () => {
  await using two = await openTwo();
  const asked = await ask(two.one, two.sessionId, { timeoutMs: 0 });
  await expect(
    two.other.approvals.answer(asked.id, { verdict: "approved", by: "ann" }, neverAborted),
  ).rejects.toThrow(/expired at/);
  expect(
    await awaitAnswer(two.one.approvals, asked, { clock: systemClock, keepAfterAbort: false }, neverAborted),
  ).toMatchObject({ state: "expired" });
  expect(two.one.approvals.waiting()).toEqual([]);
});

test("K2: a stopped turn withdraws its question", async () => {
  await using two = await openTwo();
  const asked = await ask(two.one, two.sessionId);
  const stopped = await awaitAnswer(
    two.one.approvals,
    asked,
    { clock: systemClock, keepAfterAbort: false },
    AbortSignal.abort(),
  );
  expect(stopped.state).toBe("withdrawn");
  await expect(
    two.other.approvals.answer(asked.id, { verdict: "approved", by: "ann" }, neverAborted),
  ).rejects.toThrow(/already withdrawn/);
});

test("K2: the same call asked again after a crash is the same question", async () => {
  await using two = await openTwo();
  const first = await ask(two.one, two.sessionId);
  const again = await ask(two.other, two.sessionId, { callId: "c2" });
  expect(again).toMatchObject({ id: first.id, callId: "c2", state: "waiting" });
  expect(await ask(two.other, two.sessionId, { hash: "h2" })).not.toMatchObject({ id: first.id });
});

test("K2: an approval that was not used before its process exited is used by exactly one later call", async () => {
  await using two = await openTwo();
  const { id } = await ask(two.one, two.sessionId);
  await two.other.approvals.answer(id, { verdict: "approved", by: "ann" }, neverAborted);
  const grants = await Promise.all([
    two.one.approvals.useGrant(two.sessionId, "h1", neverAborted),
    two.other.approvals.useGrant(two.sessionId, "h1", neverAborted),
  ]);
  expect(grants.filter((one) => one !== undefined)).toHaveLength(1);
  expect(await two.one.approvals.useGrant(two.sessionId, "h1", neverAborted)).toBeUndefined();
  expect(await two.one.approvals.use(id, neverAborted)).toBe(false);
});

test("K3: an answer for the session is remembered as a rule of that session", async () => {
  await using two = await openTwo();
  const { id } = await ask(two.one, two.sessionId);
  await two.other.approvals.answer(id, { verdict: "approved", scope: "session", by: "ann" }, neverAborted);
  expect(two.one.approvals.rememberedRules(two.sessionId)).toEqual(["git push*"]);
});

test("a unique id prefix is accepted, and a wrong id is refused", async () => {
  await using two = await openTwo();
  const { id } = await ask(two.one, two.sessionId);
  expect(two.one.approvals.require(id.slice(0, 5)).id).toBe(id);
  for (const wrong of ["a_zzzzzz", "", "*", "a_*"])
    expect(() => two.one.approvals.require(wrong), wrong).toThrow(/There is no question/);
});
