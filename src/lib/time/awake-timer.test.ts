import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { openAwakeTimer } from "./awake-timer.ts";

/** Blocks the event loop, as if the process were suspended. */
function halt(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until) process.hrtime();
}

test("the timer fires after its time, not earlier", async () => {
  for (const ms of [0, 50, 1_200]) {
    const startedAt = performance.now();
    await new Promise<void>((resolve) => openAwakeTimer(ms, resolve));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(ms - 5);
  }
});

test("a suspension longer than the time limit does not use it up", async () => {
  let hasFired = false;
  using _ = openAwakeTimer(2_000, () => {
    hasFired = true;
  });
  halt(2_100);
  for (let turns = 0; turns < 5; turns++) await turn();
  expect(hasFired).toBe(false);
});

test("events that were ready before the timer fires are handled first", async () => {
  const seen: string[] = [];
  const fired = new Promise<void>((resolve) => {
    openAwakeTimer(20, () => {
      seen.push("fired");
      resolve();
    });
  });
  process.nextTick(() => {
    setImmediate(() => seen.push("ready"));
    halt(60);
  });
  await fired;
  expect(seen).toEqual(["ready", "fired"]);
});

test("a disposed timer does not fire, whatever its state", async () => {
  let fireCount = 0;
  const timer = openAwakeTimer(20, () => fireCount++);
  halt(60);
  timer[Symbol.dispose]();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(fireCount).toBe(0);
});
