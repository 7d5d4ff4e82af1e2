import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Child, startChild } from "../../../test/support/child.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import type { LogName } from "./log-path.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";

const CHILD = new URL("../../../test/support/log-child.ts", import.meta.url);
const SECRET = "correct-horse-battery";
const KEEP_ALL = { secret: SECRET, maxSizeBytes: 40_000, backupCount: 10_000 };

test("eight processes write and rotate at the same time, and every line appears exactly once and complete", async () => {
  await using folder = await tempFolder();
  const lines = 2_000;
  const writers = Array.from({ length: 8 }, (_, writer) =>
    startChild(CHILD, "write", { ...KEEP_ALL, folder: folder.path, writer, lines }),
  );
  await using _ = disposing(writers);
  for (const writer of writers) {
    expect(await lastReport(writer)).toEqual({ lost: 0 });
    expect(await writer.ended).toBe(0);
  }

  const expected = (every: number) =>
    writers.flatMap((_, writer) =>
      Array.from({ length: lines / every }, (_, index) => `${writer}:${index * every}`),
    );
  expect((await linesOf(folder.path, "agent")).map(identify).sort()).toEqual(expected(1).sort());
  expect((await linesOf(folder.path, "errors")).map(identify).sort()).toEqual(expected(10).sort());
  expect((await generationsOf(folder.path, "agent")).length).toBeGreaterThan(10);
  expect(await contentOf(folder.path)).not.toContain(SECRET);
}, 600_000);

test("a process killed while writing loses no completed line and damages no line of another process", async () => {
  await using folder = await tempFolder();
  const lines = 1_000;
  const start = (writer: number, count: number) =>
    startChild(CHILD, "write", { ...KEEP_ALL, folder: folder.path, writer, lines: count });
  await using victim = start(0, 1_000_000);
  const others = [1, 2, 3].map((writer) => start(writer, lines));
  await using _ = disposing(others);

  let written = 0;
  while (written < 300) written = await victim.next<number>();
  await victim.kill();
  for (const other of others) expect(await lastReport(other)).toEqual({ lost: 0 });

  const found = (await linesOf(folder.path, "agent")).map(identify);
  const numbersOf = (writer: number) => found.filter((line) => line.startsWith(`${writer}:`));
  const upTo = (writer: number, count: number) =>
    Array.from({ length: count }, (_, number) => `${writer}:${number}`);
  for (const writer of [1, 2, 3]) expect(numbersOf(writer).sort()).toEqual(upTo(writer, lines).sort());
  expect(numbersOf(0)).toEqual(expect.arrayContaining(upTo(0, written)));
  expect(new Set(numbersOf(0)).size).toBe(numbersOf(0).length);
  expect(found.filter((line) => line === "raw").length).toBeLessThanOrEqual(1);
}, 600_000);

test.skipIf(process.platform !== "linux")(
  "a line that was written only in part does not damage the next line",
  async () => {
    await using folder = await tempFolder();
    const limits = { maxSizeBytes: 1_000_000, backupCount: 3 };
    await using writer = startChild(CHILD, "write-until-full", { folder: folder.path, ...limits });
    expect(await writer.next()).toEqual({ lost: 3 });
    const lines = (await readFile(folder.file("agent.log"), "utf8")).trimEnd().split("\n");
    const messages = lines.map((line) => (line.endsWith("}") ? JSON.parse(line).msg : "torn"));
    expect([...new Set(messages)]).toEqual(["before", "torn", "after", "later"]);
    expect(messages.filter((message) => message === "torn")).toHaveLength(1);
  },
);

async function lastReport(child: Child): Promise<unknown> {
  for (;;) {
    const report = await child.next();
    if (typeof report === "object") return report;
  }
}

function disposing(children: readonly Child[]): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(children.map((child) => child.kill()));
    },
  };
}

async function generationsOf(folder: string, log: LogName): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith(`${log}.log`));
}

async function linesOf(folder: string, log: LogName): Promise<LogLine[]> {
  const names = await generationsOf(folder, log);
  const texts = await Promise.all(names.map((name) => readFile(`${folder}/${name}`, "utf8")));
  return texts.flatMap((text) => text.split("\n")).flatMap(parseLogLine);
}

async function contentOf(folder: string): Promise<string> {
  const names = await readdir(folder);
  return (await Promise.all(names.map((name) => readFile(`${folder}/${name}`, "latin1")))).join("");
}

function identify(line: LogLine): string {
  return line.kind === "raw" ? "raw" : `${line.record["writer"]}:${line.record["number"]}`;
}
