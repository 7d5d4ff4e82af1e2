import { expect, test } from "vitest";
import {
  assistant,
  call,
  NEW_SESSION,
  requestSent,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../../test/support/session-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openSessionStore } from "../session-store.ts";

test("a turn is found by its id at every step; once its answer is complete it has an outcome, even if the record of its end was lost", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const draft = store.createSession(NEW_SESSION);
  await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
  expect(store.findTurn("t1", 0)).toBeUndefined();
  const steps = [
    [turnStart("t1", "hello"), undefined],
    [requestSent(["a"]), undefined],
    [assistant("let me look", [call("c1")]), undefined],
    [{ type: "tools-start", calls: [call("c1")] }, undefined],
    [toolEnd("c1", "found"), undefined],
    [assistant("it is here"), "completed"],
    [turnEnd("t1"), "completed"],
  ] as const;
  for (const [event, outcome] of steps) {
    await turn.record(event, neverAborted);
    expect([event.type, store.findTurn("t1", 0)?.outcome]).toEqual([event.type, outcome]);
  }
  expect(store.findTurn("t1", 0)).toMatchObject({ sessionId: draft.id, text: "it is here" });
  expect(store.findTurn("t1", Date.now() + 60_000)).toBeUndefined();
});
