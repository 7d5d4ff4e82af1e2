import { appendFile, readFile, stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { createHistoryStore } from "./history-store.ts";

const signal = new AbortController().signal;
const redactor = createRedactor({ secrets: ["hunter2hunter2"] });

test("C21: messages of all chats are stored privately, without secrets, and are sorted by where they were typed", async () => {
  await using folder = await tempFolder();
  const path = folder.file("history.jsonl");
  const store = createHistoryStore(path, redactor);
  await store.add("far", { sessionId: "s0", folder: "/other" }, signal);
  await store.add("near\nby", { sessionId: "s1", folder: "/here" }, signal);
  await store.add("own", { sessionId: "s2", folder: "/here" }, signal);
  await store.add("export TOKEN=hunter2hunter2", { sessionId: "s2", folder: "/here" }, signal);
  await store.add(
    "my key is sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    { sessionId: "s2", folder: "/here" },
    signal,
  );
  expect(await store.load({ sessionId: "s2", folder: "/here" })).toEqual([
    { text: "own", from: "session" },
    { text: "near\nby", from: "folder" },
    { text: "far", from: "elsewhere" },
  ]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, "utf8")).not.toMatch(/hunter2|sk-ant/);
});

test("C21: a line that was cut by a full disk is skipped, and two chats lose none of their messages", async () => {
  await using folder = await tempFolder();
  const path = folder.file("history.jsonl");
  const origin = { sessionId: "s", folder: "/" };
  const [one, other] = [createHistoryStore(path, redactor), createHistoryStore(path, redactor)];
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? one : other).add(`message ${index}`, origin, signal),
    ),
  );
  await appendFile(path, '{"text":"cut');
  expect(await one.load(origin)).toHaveLength(10);
});
