import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../lib/clock.ts";
import { openHostSlots, type Slot } from "./host-slots.ts";

const never = new AbortController().signal;
const BOARDS = ["a", "b", "c", "d"];
const LIMIT = 3;

test("dispatchers of several boards that reserve at one instant never have more slots than the limit", async () => {
  await using folder = await tempFolder();
  const boards = BOARDS.map((board) => openHostSlots({ root: folder.path, host: "h", board }, systemClock));
  for (let round = 0; round < 5; round++) {
    const reserved = await Promise.all([...boards, ...boards].map((slots) => slots.reserve(LIMIT, never)));
    const mine = reserved.filter((slot): slot is Slot => slot !== undefined);
    expect(mine).toHaveLength(LIMIT);
    for (const slot of mine) await slot.release(never);
  }
  for (const slots of boards) slots[Symbol.dispose]();
});

test("a slot belongs to the supervisor that it is given to and is free when that one is dead; other homes and hosts do not count", async () => {
  await using folder = await tempFolder();
  const place = { root: folder.file("one"), host: "h" };
  using a = openHostSlots({ ...place, board: "a" }, systemClock);
  using b = openHostSlots({ ...place, board: "b" }, systemClock);
  using otherHome = openHostSlots({ ...place, root: folder.file("two"), board: "a" }, systemClock);
  using otherHost = openHostSlots({ ...place, host: "i", board: "a" }, systemClock);
  const supervisor = spawn("sleep", ["300"]);
  try {
    const slot = await a.reserve(1, never);
    await slot?.giveTo(supervisor.pid ?? 0, never);
    expect(await b.reserve(1, never)).toBeUndefined();
    expect([await a.countElsewhere(never), await b.countElsewhere(never)]).toEqual([0, 1]);
    for (const other of [otherHome, otherHost]) {
      expect(await other.countElsewhere(never)).toBe(0);
      expect(await other.reserve(1, never)).toBeDefined();
    }
  } finally {
    const exited = once(supervisor, "exit");
    supervisor.kill("SIGKILL");
    await exited;
  }
  expect(await b.countElsewhere(never)).toBe(0);
  expect(await b.reserve(1, never)).toBeDefined();
});
