import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { startAwakeTimer } from "./awake-timer.ts";

/** Nothing of this process runs meanwhile, as if it had been halted. */
function halt(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until) process.hrtime();
}

test("it rings when the time is over, and never earlier", async () => {
  for (const ms of [0, 50, 1_200]) {
    const startedAt = performance.now();
    await new Promise<void>((resolve) => startAwakeTimer(ms, resolve));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(ms - 5);
  }
});

test("a halt longer than its time does not use it up", async () => {
  let hasRung = false;
  using _ = startAwakeTimer(2_000, () => {
    hasRung = true;
  });
  halt(2_100);
  for (let turns = 0; turns < 5; turns++) await turn();
  expect(hasRung).toBe(false);
});

test("what was ready before it rings is seen first", async () => {
  const seen: string[] = [];
  const rung = new Promise<void>((resolve) => {
    startAwakeTimer(20, () => {
      seen.push("rung");
      resolve();
    });
  });
  process.nextTick(() => {
    setImmediate(() => seen.push("ready"));
    halt(60);
  });
  await rung;
  expect(seen).toEqual(["ready", "rung"]);
});

test("once disposed of, it rings no more, however far it had come", async () => {
  let rings = 0;
  const timer = startAwakeTimer(20, () => rings++);
  halt(60);
  timer[Symbol.dispose]();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(rings).toBe(0);
});
