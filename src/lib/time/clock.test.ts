import { expect, test } from "vitest";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { systemClock } from "./clock.ts";
import { neverAborted } from "./never-aborted.ts";

test("a sleep rejects with the reason of its signal, before it starts and while it lasts", async () => {
  const reason = new Error("enough");
  await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
  const controller = new AbortController();
  const sleep = systemClock.sleep(60_000, controller.signal);
  controller.abort(reason);
  await expect(sleep).rejects.toBe(reason);
});

test("a sleep longer than Node's maximum timer does not end immediately", async () => {
  const signal = AbortSignal.timeout(100);
  await expect(systemClock.sleep(2 ** 31 + 10, signal)).rejects.toMatchObject({ name: "TimeoutError" });
});

test("a short sleep resolves", async () => {
  await systemClock.sleep(0, neverAborted);
  await systemClock.sleep(1, neverAborted);
});

test("advancing the clock wakes sleepers in order, each at its own time", async () => {
  const clock = new TurnableClock(1_000);
  const woken: string[] = [];
  const sleeper = async (name: string, ms: number) => {
    await clock.sleep(ms, neverAborted);
    woken.push(`${name} at ${clock.now()}`);
  };
  const all = [sleeper("late", 30), sleeper("early", 10), sleeper("early too", 10), sleeper("later", 31)];
  await clock.advance(30);
  expect(woken).toEqual(["early at 1010", "early too at 1010", "late at 1030"]);
  expect(clock.sleeping).toBe(1);
  await clock.advance(1);
  await Promise.all(all);
  expect(clock.now()).toBe(1_031);
});

test("one advance wakes a loop each time that it sleeps within the advanced time", async () => {
  const clock = new TurnableClock(0);
  const beats: number[] = [];
  const controller = new AbortController();
  const loop = (async () => {
    while (true) {
      await clock.sleep(10, controller.signal);
      beats.push(clock.now());
    }
  })();
  await clock.advance(35);
  expect(beats).toEqual([10, 20, 30]);
  controller.abort(new Error("stop"));
  await expect(loop).rejects.toThrow("stop");
  expect(clock.sleeping).toBe(0);
});
