import { expect, test } from "vitest";
import { createTurnSlots } from "./turn-slots.ts";

test("C13: a number of turns run at once, and the others follow in their order", async () => {
  const slots = createTurnSlots(2);
  const events: string[] = [];
  const ends = new Map<number, () => void>();
  const turns = [1, 2, 3, 4].map(async (number) => {
    using _slot = await slots.take();
    events.push(`begin ${number}`);
    await new Promise<void>((resolve) => ends.set(number, resolve));
    events.push(`end ${number}`);
  });
  await expect.poll(() => ends.size).toBe(2);
  for (const number of [2, 1, 3, 4]) {
    await expect.poll(() => ends.has(number)).toBe(true);
    ends.get(number)?.();
  }
  await Promise.all(turns);
  expect(events.filter((event) => event.startsWith("begin"))).toEqual([
    "begin 1",
    "begin 2",
    "begin 3",
    "begin 4",
  ]);
  expect(events.indexOf("begin 3")).toBeGreaterThan(events.indexOf("end 2"));
});
