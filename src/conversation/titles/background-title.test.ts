import { expect, test } from "vitest";
import { converse } from "../../../test/support/session-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { AppError } from "../../lib/errors.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import type { ModelEvent } from "../../providers/provider.ts";
import { NO_USAGE } from "../../providers/provider.ts";
import { cutTitle } from "../../sessions/changes/session-title.ts";
import { openSessionStore } from "../../sessions/session-store.ts";
import { createBackgroundTitle } from "./background-title.ts";
import type { TitleModel } from "./write-title.ts";

function modelAnswering(text: string, onAsked: (messages: unknown) => void = () => undefined): TitleModel {
  return {
    provider: "p",
    name: "small",
    price: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
    async *stream({ messages }): AsyncGenerator<ModelEvent> {
      onAsked(messages);
      yield {
        type: "message-end",
        message: { role: "assistant", parts: [{ type: "text", text }] },
        finish: "stop",
        usage: { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 },
        droppedTools: [],
      };
    },
  };
}

/** A session with one answer, whose title a model writes. */
async function openLab(openModel: () => Promise<TitleModel>, timeoutMs = 60_000) {
  const folder = await tempFolder();
  const store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const id = await converse(store, "please fix the parser of dates", "fixed");
  const title = createBackgroundTitle({
    ...{ store, sessionId: id, timeoutMs, openModel },
    redact: (text) => text.replace("parser", "XXX"),
    requireBudget: () => undefined,
  });
  return {
    store,
    id,
    title,
    stored: () => store.list.find(id)?.title,
    async [Symbol.asyncDispose]() {
      await title[Symbol.asyncDispose]();
      store[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
const CUT = "please fix the XXX of dates"; // redacted

test("D5: the title model sees the redacted first exchange, and its request counts towards the session", async () => {
  let asked: unknown;
  await using lab = await openLab(async () =>
    modelAnswering("Date parser repaired today", (messages) => (asked = messages)),
  );
  lab.title.start();
  lab.title.start();
  await expect.poll(lab.stored).toBe("Date parser repaired today");
  expect(asked).toMatchObject([
    { role: "system" },
    { parts: [{ text: '{"user":"please fix the XXX of dates","answer":"fixed"}' }] },
  ]);
  expect(lab.store.usage.ofSession(lab.id)).toMatchObject({ requests: 2, costUsd: 1 });
});

test("D5: a title that the user set is never replaced, and no request is made", async () => {
  await using lab = await openLab(() => expect.fail("asked"));
  await lab.store.list.rename(lab.id, "mine", neverAborted);
  lab.title.start();
  await lab.title[Symbol.asyncDispose]();
  expect(lab.stored()).toBe("mine");
});

test.each([
  ["Title: **The date parser**", "The date parser"],
  ["a b c d e f g h i j", "a b c d e f g"],
  ["One two\u202e three\u200b\nBecause I think that …", "One two three"],
  [" \n\u200b", CUT],
  ['""', CUT],
])("D5: the answer %j becomes the title %j", async (answer, expected) => {
  await using lab = await openLab(async () => modelAnswering(answer));
  lab.title.start();
  await expect.poll(lab.stored).toBe(expected);
});

test("D5: if the model fails, is missing or never answers, the title is cut from the message", async () => {
  const failure = { kind: "auth", message: "no", hint: "" } as never;
  const failing: TitleModel = {
    ...modelAnswering(""),
    stream: async function* () {
      yield { type: "failed", failure };
    },
  };
  const hanging: TitleModel = {
    ...modelAnswering(""),
    stream: async function* () {
      await new Promise(() => undefined); // ignores the abort
    },
  };
  const failToOpen = () => Promise.reject(new AppError("provider-key-missing", "no key"));
  for (const openModel of [failToOpen, async () => failing, async () => hanging]) {
    await using lab = await openLab(openModel, openModel === failToOpen ? 60_000 : 50);
    lab.title.start();
    await expect.poll(lab.stored).toBe(CUT);
  }
  await using lab = await openLab(async () => hanging);
  lab.title.start();
  await lab.title[Symbol.asyncDispose](); // the program ends without waiting for the model
  expect(lab.stored()).toBe(CUT);
});

test.each([
  ["  fix\tthe \u202etests\nand more", "fix the tests"],
  ["latest", undefined],
  ["\n \n", undefined],
  [`${"word ".repeat(30)}`, "word word word word word word word word word word word word…"],
  ["x".repeat(200), `${"x".repeat(60)}…`],
])("D5: %j is cut to the title %j", (text, expected) => {
  expect(cutTitle({ role: "user", parts: [{ type: "text", text }] }, String)).toBe(expected);
});

test("D5: sessions with the same first message get numbered titles", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("s.sqlite"), {}, neverAborted);
  const ids: string[] = [];
  for (let index = 0; index < 20; index++) ids.push(await converse(store, "q", "a", { title: "same" }));
  expect(ids.map((id) => store.list.find(id)?.title)).toEqual([
    "same",
    ...Array.from({ length: 19 }, (_, index) => `same #${index + 2}`),
  ]);
  const titleOf = async (title: string) => store.list.find(await converse(store, "q", "a", { title }))?.title;
  expect(await titleOf("same #2")).toBe("same #21");
  expect([await titleOf("Review #12"), await titleOf("Review #12")]).toEqual(["Review #12", "Review #12 #2"]);
});
