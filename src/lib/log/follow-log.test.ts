import { appendFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { createRedactor } from "../redact/redactor.ts";
import { followLog } from "./follow-log.ts";
import { openLog } from "./log.ts";
import type { LogQuery } from "./read-log.ts";

const redactor = createRedactor({ secrets: [] });
const limits = {
  redactor,
  level: "info",
  component: "main",
  maxSizeBytes: 1_000_000,
  backupCount: 3,
} as const;

/** Follows a log and returns its messages one by one. */
function follow(folder: string, query: Partial<LogQuery> = {}) {
  const stop = new AbortController();
  const lines = followLog(folder, { file: "agent", lines: 10, ...query }, stop.signal);
  return {
    async next(): Promise<string> {
      const { value: line } = await lines.next();
      return line?.kind === "record" ? line.record.msg : `raw ${line?.text}`;
    },
    lines,
    stop,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await lines.return(undefined);
    },
  };
}

test("the last lines come first, and then each new one", async () => {
  await using folder = await tempFolder();
  using log = await openLog({ ...limits, folder: folder.path });
  for (const message of ["1", "2", "3"]) log.info(message);
  await using following = follow(folder.path, { lines: 2 });
  expect(await following.next()).toBe("2");
  log.info("4");
  expect([await following.next(), await following.next()]).toEqual(["3", "4"]);
  log.info("5");
  log.info("6");
  expect([await following.next(), await following.next()]).toEqual(["5", "6"]);
});

test("a log that does not exist yet is followed from its first line", async () => {
  await using folder = await tempFolder();
  await using following = follow(folder.file("logs"), { level: "warn" });
  const first = following.next();
  using log = await openLog({ ...limits, folder: folder.file("logs") });
  log.info("1");
  log.warn("2");
  expect(await first).toBe("2");
});

test("no line is missed or repeated while the log is rotated many times", async () => {
  await using folder = await tempFolder();
  using log = await openLog({ ...limits, folder: folder.path });
  log.info("start");
  await using following = follow(folder.path);
  expect(await following.next()).toBe("start");
  const rotate = () => {
    for (const generation of [2, 1]) {
      try {
        renameSync(folder.file(`agent.log.${generation}`), folder.file(`agent.log.${generation + 1}`));
      } catch {
        // that many lines do not exist yet
      }
    }
    renameSync(folder.file("agent.log"), folder.file("agent.log.1"));
  };
  for (let round = 0; round < 4; round++) {
    log.info(`${round}a`);
    rotate();
    log.info(`${round}b`);
    rotate();
    log.info(`${round}c`);
    const received = [await following.next(), await following.next(), await following.next()];
    expect(received).toEqual([`${round}a`, `${round}b`, `${round}c`]);
  }
});

test("a line that another process still writes to the rotated file is returned too", async () => {
  await using folder = await tempFolder();
  using log = await openLog({ ...limits, folder: folder.path });
  log.info("1");
  await using following = follow(folder.path);
  expect(await following.next()).toBe("1");
  renameSync(folder.file("agent.log"), folder.file("agent.log.1"));
  log.info("2");
  expect(await following.next()).toBe("2");
  appendFileSync(folder.file("agent.log.1"), "late\n");
  expect(await following.next()).toBe("raw late");
});

test("a log that was removed or truncated is followed from its new start, and old files are not repeated", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log.1"), "old\n");
  utimesSync(folder.file("agent.log.1"), 0, 0);
  using log = await openLog({ ...limits, folder: folder.path });
  log.info("1");
  await using following = follow(folder.path, { lines: 1 });
  expect(await following.next()).toBe("1");
  rmSync(folder.file("agent.log"));
  log.info("2", { padding: "x".repeat(100) });
  expect(await following.next()).toBe("2");
  truncateSync(folder.file("agent.log"));
  log.info("3");
  expect(await following.next()).toBe("3");
});

test("a line is returned once it is complete", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log"), "start\n");
  await using following = follow(folder.path);
  expect(await following.next()).toBe("raw start");
  appendFileSync(folder.file("agent.log"), "whole\nfirst ");
  expect(await following.next()).toBe("raw whole"); // so the second half was read too
  appendFileSync(folder.file("agent.log"), "half\n");
  expect(await following.next()).toBe("raw first half");
});

test("aborting ends the generator without an error", async () => {
  await using folder = await tempFolder();
  await using following = follow(folder.path);
  const next = following.lines.next();
  following.stop.abort(new Error("enough"));
  expect(await next).toEqual({ done: true, value: undefined });
});
