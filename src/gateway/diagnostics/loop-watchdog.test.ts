import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";

const CHILD = new URL("../../../test/support/watchdog-child.ts", import.meta.url);

test("A15: a process whose event loop is blocked is ended, and its report says where it was", async () => {
  await using folder = await tempFolder();
  const report = folder.file("stall.log");
  await using child = startChild(CHILD, "block", { report });
  expect(await child.next()).toBe("alive");
  expect(await child.ended).toBe("SIGKILL");
  expect(await readFile(report, "utf8")).toMatch(
    /the event loop was blocked for 1 s; rss \d+[\s\S]*at spinForEver /,
  );
});

test("A9: a process that does not end in time is ended, however busy it is", async () => {
  await using folder = await tempFolder();
  const report = folder.file("stall.log");
  await using child = startChild(CHILD, "linger", { report });
  expect(await child.next()).toBe("alive");
  expect(await child.ended).toBe("SIGKILL");
  expect(await readFile(report, "utf8")).toContain("the gateway did not end in time");
});
