import { expect, test } from "vitest";
import {
  assistant,
  call,
  NEW_SESSION,
  NO_USAGE,
  recordAll,
  requestSent,
  toolEnd,
  turnEnd,
  turnStart,
  user,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import type { AgentEvent } from "../agent/events.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import { loadPastTotals, withoutSummary } from "./past-totals.ts";

function turn(name: string): AgentEvent[] {
  const tools = [call(`${name}-a`), call(`${name}-b`)];
  return [
    turnStart(name, `ask ${name}`),
    requestSent([name]),
    assistant("looking", tools),
    { type: "tools-start", calls: tools },
    ...tools.map(({ callId }) => toolEnd(callId, "done")),
    requestSent([name]),
    assistant(`answer ${name}`),
    turnEnd(name),
  ];
}

test("C43: after a compaction the totals of a session continue, and its summary does not count as a person's message", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const draft = store.createSession({ ...NEW_SESSION, title: "work" });
  await recordAll(store, draft, turn("one"));
  const [start, ...rest] = turn("two");
  const compaction = {
    ...{ type: "compaction", trigger: "threshold", method: "mechanical", kept: 1 },
    ...{ replacement: [user("a summary")], tokensBefore: 100, tokensAfter: 10, durationMs: 1 },
    ...{ provider: "p", model: "m", usage: NO_USAGE, costUsd: undefined },
  } as const satisfies AgentEvent;
  await recordAll(store, draft.id, [start as AgentEvent, compaction, ...rest]);
  const loaded = store.loadSession(draft.id);
  expect(loadPastTotals(store, draft.id, loaded)).toMatchObject({ turns: 2, calls: 4 });
  expect(withoutSummary(loaded)[0]).toMatchObject(user("ask two"));
  expect(loadPastTotals(store, "unknown", undefined)).toMatchObject({ turns: 0, calls: 0 });
});
