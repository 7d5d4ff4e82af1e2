import { expect, test } from "vitest";
import { storedSettings } from "../../test/support/route-settings.ts";
import {
  assistant,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { auxiliaryOptions, compressionOptions } from "../agent/options.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import { createCompactionParts, createSummarizers, findWindow } from "./turn-compaction.ts";

function settingsOf(compression: object = {}) {
  return {
    ...storedSettings({ provider: "mine", default: "m" }, { mine: { base_url: "http://127.0.0.1:9/v1" } }),
    compression: compressionOptions.parse({}),
    auxiliary: auxiliaryOptions.parse({ compression }),
  };
}

test("A8: the open items of the plan are added to a summary, the finished ones are not", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const draft = store.createSession(NEW_SESSION);
  const todos = [
    { id: "1", content: "read the code", status: "completed" },
    { id: "2", content: "fix the bug", status: "in_progress" },
    { id: "3", content: "write the test", status: "pending" },
    { id: "4", content: "rewrite it all", status: "cancelled" },
  ];
  const call = { type: "tool-call", callId: "c1", tool: "todo", input: "{}" } as const;
  await recordAll(store, draft, [
    turnStart("t1", "plan it"),
    assistant("", [call]),
    { type: "tools-start", calls: [call] },
    toolEnd("c1", JSON.stringify({ todos, revision: 1 })),
    assistant("planned"),
    turnEnd("t1"),
  ]);
  const parts = createCompactionParts({
    ...{ store, sessionId: draft.id, settings: settingsOf() },
    ...{ tools: new Map(), summarizers: [] },
  });
  expect(parts.openTodos()).toEqual(["2 (in_progress): fix the bug", "3 (pending): write the test"]);
});

test("A8: the model of auxiliary.compression is the first to be asked for a summary, the model of the conversation the second", async () => {
  const main = {
    provider: "mine",
    name: "m",
    price: undefined,
    contextTokens: undefined,
    stream: () => noEvents(),
  };
  const facts = { variable: () => undefined, variables: {} };
  await using plain = createSummarizers(settingsOf(), () => main, facts);
  expect(plain.summarizers).toHaveLength(1);
  await using chosen = createSummarizers(settingsOf({ model: "small" }), () => main, facts);
  const names = await Promise.all(chosen.summarizers.map(async (open) => (await open()).name));
  expect(names).toEqual(["small", "m"]);
  await using wrong = createSummarizers(settingsOf({ provider: "nobody" }), () => main, facts);
  await expect(wrong.summarizers[0]?.()).rejects.toMatchObject({ code: "provider-unknown" });
});

test("M1: a stated window can only be smaller than the known one", () => {
  expect(findWindow(200_000, 8_000)).toBe(8_000);
  expect(findWindow(8_000, 200_000)).toBe(8_000);
  expect(findWindow(undefined, 8_000)).toBe(8_000);
  expect(findWindow(8_000, undefined)).toBe(8_000);
  expect(findWindow(undefined, undefined)).toBeUndefined();
});

async function* noEvents(): AsyncGenerator<never> {}
