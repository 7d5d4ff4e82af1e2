import { mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import type { LogLine } from "./log-record.ts";
import { readLogTail } from "./read-log.ts";

const START = Date.UTC(2026, 0, 1);

/** A line as the log writes it, `number` minutes after the start. */
const lineOf = (number: number, fields: object = {}) => {
  const time = new Date(START + number * 60_000).toISOString();
  return `${JSON.stringify({ level: "info", time, pid: 1, component: "main", msg: `m${number}`, ...fields })}\n`;
};
const textOf = (line: LogLine) => (line.kind === "raw" ? line.text : line.record.msg);

test("the last lines come back in order", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log"), lineOf(1) + lineOf(2) + lineOf(3));
  const lines = await readLogTail(folder.path, { file: "agent", lines: 2 });
  expect(lines.map(textOf)).toEqual(["m2", "m3"]);
});

test("an empty log returns no lines", async () => {
  await using folder = await tempFolder();
  expect(await readLogTail(folder.file("missing"), { file: "errors", lines: 5 })).toEqual([]);
  expect(await readLogTail(folder.path, { file: "errors", lines: 5 })).toEqual([]);
});

test("reading continues into rotated files, even across a gap left by a crash", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log.10"), lineOf(1));
  writeFileSync(folder.file("agent.log.3"), lineOf(2) + lineOf(3));
  writeFileSync(folder.file("agent.log.1"), "");
  writeFileSync(folder.file("agent.log"), lineOf(4));
  writeFileSync(folder.file("agent.log.old"), "not ours");
  const lines = await readLogTail(folder.path, { file: "agent", lines: 100 });
  expect(lines.map(textOf)).toEqual(["m1", "m2", "m3", "m4"]);
});

test("no more is read than needed", async () => {
  await using folder = await tempFolder();
  mkdirSync(folder.file("agent.log.1")); // opening it works, reading it does not
  writeFileSync(folder.file("agent.log"), lineOf(1) + lineOf(5));
  const lines = (query: object) => readLogTail(folder.path, { file: "agent", lines: 2, ...query });
  expect((await lines({})).map(textOf)).toEqual(["m1", "m5"]);
  expect((await lines({ lines: 100, since: new Date(START + 4 * 60_000) })).map(textOf)).toEqual(["m5"]);
  await expect(lines({ lines: 3 })).rejects.toThrow(/EISDIR/);
});

test("lines of any length and alphabet survive block boundaries", async () => {
  await using folder = await tempFolder();
  const messages = Array.from(
    { length: 60 },
    (_, number) => `${number}:${"äöü😀".repeat((number * 977) % 30_000)}`,
  );
  writeFileSync(folder.file("agent.log"), messages.map((msg, number) => lineOf(number, { msg })).join(""));
  const lines = await readLogTail(folder.path, { file: "agent", lines: 1_000 });
  expect(lines.map(textOf)).toEqual(messages);
});

test("all conditions must hold", async () => {
  await using folder = await tempFolder();
  const lines = [
    lineOf(1, { level: "error", session: "a", component: "x" }),
    lineOf(2, { level: "warn", session: "a", component: "x" }),
    lineOf(3, { level: "warn", session: "b", component: "x" }),
    lineOf(4, { level: "info", session: "a", component: "x" }),
    lineOf(5, { level: "error", session: "a", component: "y" }),
    lineOf(6, { level: "error", session: "a", component: "x" }),
    "something else\n",
  ];
  writeFileSync(folder.file("agent.log"), lines.join(""));
  const query = { file: "agent", lines: 100 } as const;
  const found = async (conditions: object) =>
    (await readLogTail(folder.path, { ...query, ...conditions })).map(textOf);
  expect(await found({ level: "warn" })).toEqual(["m1", "m2", "m3", "m5", "m6"]);
  expect(await found({ session: "b" })).toEqual(["m3"]);
  expect(await found({ component: "y" })).toEqual(["m5"]);
  expect(await found({ since: new Date(START + 5 * 60_000) })).toEqual(["m5", "m6"]);
  expect(
    await found({ level: "warn", session: "a", component: "x", since: new Date(START + 2 * 60_000) }),
  ).toEqual(["m2", "m6"]);
  expect(await found({ level: "warn", lines: 1 })).toEqual(["m6"]);
});

test("text that is not a record is returned unchanged and does not affect adjacent lines", async () => {
  await using folder = await tempFolder();
  const torn = lineOf(2, { data: { level: "x" } }).slice(0, 60);
  const foreign = '2025-01-01 12:00:00 INFO something\n{"level":"info"}\nnull\n\n';
  writeFileSync(folder.file("agent.log"), lineOf(1) + torn + lineOf(3) + foreign + torn);
  const lines = await readLogTail(folder.path, { file: "agent", lines: 100 });
  expect(lines.map(textOf)).toEqual([
    "m1",
    torn,
    "m3",
    "2025-01-01 12:00:00 INFO something",
    '{"level":"info"}',
    "null",
    torn,
  ]);
});
