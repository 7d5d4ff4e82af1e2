import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { loadSqlite } from "../../lib/sqlite/sqlite.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openHostSlots, type Slot } from "./host-slots.ts";

const BOARDS = ["a", "b", "c", "d"];
const LIMIT = 3;

test("dispatchers of several boards that reserve slots concurrently never exceed the limit", async () => {
  await using folder = await tempFolder();
  const boards = BOARDS.map((board) => openHostSlots({ root: folder.path, host: "h", board }, systemClock));
  for (let round = 0; round < 5; round++) {
    const reserved = await Promise.all(
      [...boards, ...boards].map((slots) => slots.reserve(LIMIT, neverAborted)),
    );
    const mine = reserved.filter((slot): slot is Slot => slot !== undefined);
    expect(mine).toHaveLength(LIMIT);
    for (const slot of mine) await slot.release(neverAborted);
  }
  for (const slots of boards) slots[Symbol.dispose]();
});

test("dispatchers that wait for the database together do not all reserve the last slot", async () => {
  await using folder = await tempFolder();
  const Sqlite = await loadSqlite();
  const boards = ["a", "b"].map((board) =>
    openHostSlots({ root: folder.path, host: "h", board }, systemClock),
  );
  for (const slots of boards) await (await slots.reserve(1, neverAborted))?.release(neverAborted); // opens the database
  const busy = new Sqlite(folder.file("kanban/slots.sqlite"));
  try {
    busy.exec("begin immediate");
    const reserving = boards.map((slots) => slots.reserve(1, neverAborted));
    await sleep(500); // a dispatcher that counts the slots before it may write has counted them by now
    busy.exec("rollback");
    const reserved = await Promise.all(reserving);
    expect(reserved.filter((slot) => slot !== undefined)).toHaveLength(1);
  } finally {
    busy.close();
    for (const slots of boards) slots[Symbol.dispose]();
  }
});

test("a slot belongs to its supervisor and is free when that process has exited; other homes and hosts do not count", async () => {
  await using folder = await tempFolder();
  const location = { root: folder.file("one"), host: "h" };
  using a = openHostSlots({ ...location, board: "a" }, systemClock);
  using b = openHostSlots({ ...location, board: "b" }, systemClock);
  using otherHome = openHostSlots({ ...location, root: folder.file("two"), board: "a" }, systemClock);
  using otherHost = openHostSlots({ ...location, host: "i", board: "a" }, systemClock);
  const supervisor = spawn("sleep", ["300"]);
  try {
    const slot = await a.reserve(1, neverAborted);
    await slot?.giveTo(supervisor.pid ?? 0, neverAborted);
    expect(await b.reserve(1, neverAborted)).toBeUndefined();
    expect([await a.countElsewhere(neverAborted), await b.countElsewhere(neverAborted)]).toEqual([0, 1]);
    for (const other of [otherHome, otherHost]) {
      expect(await other.countElsewhere(neverAborted)).toBe(0);
      expect(await other.reserve(1, neverAborted)).toBeDefined();
    }
  } finally {
    const exited = once(supervisor, "exit");
    supervisor.kill("SIGKILL");
    await exited;
  }
  expect(await b.countElsewhere(neverAborted)).toBe(0);
  expect(await b.reserve(1, neverAborted)).toBeDefined();
});
