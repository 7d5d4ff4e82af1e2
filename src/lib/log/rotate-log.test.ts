import { readdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { rotateLog } from "./rotate-log.ts";

const { signal } = new AbortController();
const logsIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("agent.log"));

test("of several that want to rotate at once, one does", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log"), "x".repeat(100));
  const rotate = () => rotateLog(folder.path, "agent", { maxSizeBytes: 100, backupCount: 3 }, signal);
  await Promise.all([rotate(), rotate(), rotate(), rotate()]);
  expect(logsIn(folder.path)).toEqual(["agent.log.1"]);
});

test("a log that is small, or small again by the time it is our turn, stays", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log"), "x".repeat(99));
  writeFileSync(folder.file("agent.log.1"), "old");
  await rotateLog(folder.path, "agent", { maxSizeBytes: 100, backupCount: 3 }, signal);
  expect(logsIn(folder.path)).toEqual(["agent.log", "agent.log.1"]);
});
