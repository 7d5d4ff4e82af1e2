import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { loggedRuns, logParts, openRunLog } from "./run-log.ts";

const BYTES = 4_096;

test("board C9: a log keeps its newest output and never grows beyond its bounds", async () => {
  await using folder = await tempFolder();
  const path = folder.file("logs/7.log");
  using log = openRunLog(path, { maxBytes: BYTES, backups: 1 });
  for (let line = 0; line < 3_000; line++) log.write(Buffer.from(`line ${line}\n`));
  const parts = logParts(path);
  expect(parts).toEqual([`${path}.1`, path]);
  for (const part of parts) expect((await stat(part)).size).toBeLessThanOrEqual(BYTES);
  expect(await readFile(path, "utf8")).toMatch(/line 2999\n$/);
  expect((await stat(path)).mode & 0o077).toBe(0);
});

test("if a chunk is larger than all parts together, its end is kept", async () => {
  await using folder = await tempFolder();
  const path = folder.file("1.log");
  using log = openRunLog(path, { maxBytes: BYTES, backups: 0 });
  log.write(Buffer.from(`${"x".repeat(50_000)}the end`));
  expect(logParts(path)).toEqual([path]);
  expect((await readFile(path, "utf8")).endsWith("the end")).toBe(true);
});

test("output is lost while the folder is missing, but no write fails; the log continues when the folder is back", async () => {
  await using folder = await tempFolder();
  const path = folder.file("logs/1.log");
  using log = openRunLog(path, { maxBytes: BYTES, backups: 1 });
  await rm(folder.file("logs"), { recursive: true });
  for (let line = 0; line < 2_000; line++) log.write(Buffer.from(`line ${line}\n`));
  await mkdir(folder.file("logs"));
  log.write(Buffer.from("back\n"));
  expect(await readFile(path, "utf8")).toBe("back\n");
});

test("the runs with a log are listed by number", async () => {
  await using folder = await tempFolder();
  expect(loggedRuns(folder.file("none"))).toEqual([]);
  for (const name of ["10.log", "9.log", "9.log.1", "x.log"]) await writeFile(folder.file(name), "");
  await chmod(folder.path, 0o700);
  expect(loggedRuns(folder.path)).toEqual([9, 10]);
});
