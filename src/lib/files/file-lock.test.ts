import { setMaxListeners } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { scale } from "../../../test/support/scale.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../time/clock.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { withFileLock } from "./file-lock.ts";

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);
setMaxListeners(0, neverAborted); // many callers wait with this signal

test("the result or error of the action is passed on, and the lock is released after either", async () => {
  await using folder = await tempFolder();
  const lock = folder.file("a.lock");
  expect(await withFileLock(lock, () => "result", neverAborted)).toBe("result");
  const mistake = new Error("mine");
  const failing = withFileLock(
    lock,
    async () => {
      throw mistake;
    },
    neverAborted,
  );
  await expect(failing).rejects.toBe(mistake);
  expect(await withFileLock(lock, async () => "again", neverAborted)).toBe("again");
});

test("the lock file is private, stays empty, is not removed and has no other files next to it", async () => {
  await using folder = await tempFolder();
  const expectOnlyLockFile = () => {
    expect(readdirSync(folder.file("new"))).toEqual(["a.lock"]);
    const { mode, size } = statSync(folder.file("new/a.lock"));
    expect({ mode: mode & 0o777, size }).toEqual({ mode: 0o600, size: 0 });
  };
  await withFileLock(folder.file("new/a.lock"), expectOnlyLockFile, neverAborted);
  expectOnlyLockFile();
});

test("the lock excludes two callers within one process", async () => {
  await using folder = await tempFolder();
  let inside = 0;
  let most = 0;
  const visits = Array.from({ length: 20 }, () =>
    withFileLock(
      folder.file("a.lock"),
      async () => {
        most = Math.max(most, ++inside);
        await systemClock.sleep(1, neverAborted);
        inside--;
      },
      neverAborted,
    ),
  );
  await Promise.all(visits);
  expect(most).toBe(1);
});

test("a caller of this process that gives up does not release the lock for other processes", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.lock");
  await using other = startChild(CHILD, "lock-increment", {
    lock: path,
    file: folder.file("count"),
    times: 1,
  });
  writeFileSync(folder.file("count"), "0");
  await other.next();
  await withFileLock(
    path,
    async () => {
      // With plain POSIX locks, this second caller would drop the lock of the whole process when it closes the file.
      await expect(withFileLock({ path, deadlineMs: 0 }, () => "in", neverAborted)).rejects.toThrow(path);
      other.send("go");
      await systemClock.sleep(300, neverAborted); // time in which the other process must not get the lock
      expect(readFileSync(folder.file("count"), "utf8")).toBe("0");
    },
    neverAborted,
  );
  expect(await other.next()).toBe("done");
});

test("waiting ends at the deadline or on abort", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.lock");
  await using holder = startChild(CHILD, "lock-hold", { lock: path });
  expect(await holder.next()).toBe("held");
  await expect(withFileLock({ path, deadlineMs: 100 }, () => "in", neverAborted)).rejects.toMatchObject({
    code: "lock-busy",
    message: expect.stringContaining(path),
  });
  const reason = new Error("enough");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  await expect(withFileLock(path, () => "in", controller.signal)).rejects.toBe(reason);
  await expect(withFileLock(path, () => "in", AbortSignal.abort(reason))).rejects.toBe(reason);
});

test("a lock is released when the process that holds it is killed", async () => {
  await using folder = await tempFolder();
  const lock = folder.file("a.lock");
  await using holder = startChild(CHILD, "lock-hold", { lock });
  expect(await holder.next()).toBe("held");
  const entered = withFileLock(lock, () => "in", neverAborted);
  await holder.kill();
  expect(await entered).toBe("in");
  expect(readdirSync(folder.path)).toEqual(["a.lock"]);
});

test("many processes that increment a counter in one file lose no update, even if one is killed while it holds the lock", {
  timeout: 600_000,
}, async () => {
  await using folder = await tempFolder();
  const [lock, file] = [folder.file("a.lock"), folder.file("count")];
  writeFileSync(file, "0");
  await using holder = startChild(CHILD, "lock-hold", { lock });
  await using counters = startChildren(scale.processes, CHILD, "lock-increment", { lock, file, times: 20 });
  expect(await holder.next()).toBe("held");
  await counters.next();
  counters.send("go");
  await holder.kill();
  expect(new Set(await counters.next())).toEqual(new Set(["done"]));
  expect(readFileSync(file, "utf8")).toBe(`${scale.processes * 20}`);
});

test("a path that cannot be a lock file is a known error", async () => {
  await using folder = await tempFolder();
  mkdirSync(folder.file("folder"));
  writeFileSync(folder.file("text"), "notes to myself\n".repeat(100));
  await expect(withFileLock(folder.file("folder"), () => "in", neverAborted)).rejects.toMatchObject({
    code: "database-unavailable",
  });
  await expect(withFileLock(folder.file("text"), () => "in", neverAborted)).rejects.toMatchObject({
    code: "database-damaged",
  });
  expect(readFileSync(folder.file("text"), "utf8")).toBe("notes to myself\n".repeat(100));
});
