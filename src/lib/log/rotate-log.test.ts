import { readdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { rotateLog } from "./rotate-log.ts";

const { signal } = new AbortController();
const logsIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("agent.log"));

test("when several callers rotate at the same time, one of them does", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log"), "x".repeat(100));
  const rotate = () => rotateLog(folder.path, "agent", { maxSizeBytes: 100, backupCount: 3 }, signal);
  await Promise.all([rotate(), rotate(), rotate(), rotate()]);
  expect(logsIn(folder.path)).toEqual(["agent.log.1"]);
});

test("a log below the limit is not rotated, even if it was above before the lock was taken", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log"), "x".repeat(99));
  writeFileSync(folder.file("agent.log.1"), "old");
  await rotateLog(folder.path, "agent", { maxSizeBytes: 100, backupCount: 3 }, signal);
  expect(logsIn(folder.path)).toEqual(["agent.log", "agent.log.1"]);
});
