import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, openPostgresLab, openSqliteLab, openStage } from "../support/board-lab.ts";
import { startChildren } from "../support/child.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

const CHILD = new URL("../support/board-child.ts", import.meta.url);
const WRITERS = 5;

function processesContract(openLab: () => Promise<BoardLab>): void {
  test("board G1: many processes claim a board's tasks and no task is claimed twice", async () => {
    await using stage = await openStage(openLab);
    for (let n = 0; n < 60; n++) await stage.add(`n${n}`);
    await using children = startChildren(scale.processes, CHILD, "claim-all", {
      location: stage.lab.location,
    });
    await children.next();
    children.send("go");
    const taken = (await children.next<string[]>()).flat();
    expect(taken).toHaveLength(60);
    expect(new Set(taken).size).toBe(60);
    expect(await stage.store.check(neverAborted)).toEqual([]);
  });

  test.each(["complete", "archive"] as const)(
    "of many processes that %s one task, exactly one succeeds",
    async (verb) => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      await stage.claim(task.id);
      await using children = startChildren(scale.processes, CHILD, "end", {
        location: stage.lab.location,
        verb,
        taskId: task.id,
      });
      await children.next();
      children.send("go");
      const codes = await children.next<string>();
      expect(codes.toSorted()).toEqual([
        "ok",
        ...Array.from({ length: scale.processes - 1 }, () => "task-move-refused"),
      ]);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    },
  );

  test("board G31: writing processes that are killed at any time leave a consistent board", async () => {
    await using stage = await openStage(openLab);
    const latest = async () => (await stage.store.stats(neverAborted)).latestEventId;
    let written = 0;
    for (let round = 0; round * WRITERS < scale.killMoments; round++) {
      await using children = startChildren(WRITERS, CHILD, "write-forever", {
        location: stage.lab.location,
      });
      await children.next();
      await expect.poll(latest, { interval: 5 }).toBeGreaterThan(written); // the children are writing now
      await sleep(Math.random() * 60); // kill at a different, random time in each round
      await Promise.all(children.all.map((child) => child.kill()));
      expect(await stage.store.check(neverAborted)).toEqual([]);
      written = await latest();
    }
  });
}

describe("processes on a board in SQLite", () => processesContract(openSqliteLab));

describeWith("postgres", "processes on a board in PostgreSQL", ({ url }) =>
  processesContract(() => openPostgresLab(url)),
);
