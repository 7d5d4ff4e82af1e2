import { describe, expect, it } from "vitest";
import { FairQueue, type QueuedTask } from "./fair-queue.ts";

function order(
  items: readonly QueuedTask[],
  strideTotals: ReadonlyMap<string, number> = new Map(),
): string[] {
  const queue = new FairQueue(items, strideTotals);
  const ids: string[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    ids.push(next.id);
    queue.serve(next);
  }
  return ids;
}

const task = (id: string, profile: string, priority = 0): QueuedTask => ({ id, profile, priority });

describe("FairQueue", () => {
  it("lets profiles take turns, and keeps the order of tasks within each profile", () => {
    expect(order([task("a1", "a"), task("a2", "a"), task("a3", "a"), task("b1", "b")])).toEqual([
      "a1",
      "b1",
      "a2",
      "a3",
    ]);
  });

  it("gives a higher priority more turns, but does not let it starve others", () => {
    const urgent = Array.from({ length: 8 }, (_, n) => task(`u${n}`, "urgent", 3));
    const turns = order([...urgent, task("l0", "later"), task("l1", "later")]);
    expect(turns[0]).toBe("u0");
    expect(turns.indexOf("l0")).toBeLessThanOrEqual(4);
    expect(turns.indexOf("l1")).toBeLessThan(turns.length);
  });

  it("continues where earlier passes ended", () => {
    const strideTotals = new Map([
      ["a", 10_000],
      ["b", 0],
    ]);
    expect(order([task("a1", "a"), task("b1", "b")], strideTotals)).toEqual(["b1", "a1"]);
  });

  it("does not let a profile that had no tasks for a long time take all turns", () => {
    const back = Array.from({ length: 20 }, (_, n) => task(`b${n}`, "back"));
    const turns = order([...back, task("s0", "steady")], new Map([["steady", 5_000_000]]));
    expect(turns.indexOf("s0")).toBeLessThanOrEqual(5);
  });

  it("returns every task exactly once", () => {
    const items = Array.from({ length: 50 }, (_, n) => task(`t${n}`, `p${n % 7}`, n % 3));
    expect(order(items).sort()).toEqual(items.map(({ id }) => id).sort());
  });
});
