import { expect, test } from "vitest";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { AppError } from "../../lib/errors.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createRetryQueue } from "./retry-queue.ts";

function openLab() {
  const clock = new TurnableClock();
  const said: string[] = [];
  const done: number[] = [];
  let isFull = true;
  const retries = createRetryQueue({
    clock,
    onWait: () => said.push("waits"),
    onResume: (ms) => said.push(`resumes after ${ms}`),
  });
  let attempts = 0;
  const write = (number: number, signal = neverAborted) =>
    retries.run(async () => {
      attempts++;
      if (isFull) throw new AppError("database-unavailable", "the disk is full");
      done.push(number);
    }, signal);
  return {
    ...{ clock, said, done, retries, write },
    attempts: () => attempts,
    free() {
      isFull = false;
    },
  };
}

test("A21: what cannot be stored waits in order, only the first is retried, and the beginning and end of the wait are reported once", async () => {
  const { clock, said, done, write, attempts, free } = openLab();
  const writes = Array.from({ length: 100 }, (_, number) => write(number));
  await clock.advance(60_000);
  expect(done).toEqual([]);
  expect(attempts()).toBeLessThan(150);
  free();
  await clock.advance(2_000);
  await Promise.all(writes);
  expect(done).toEqual(Array.from({ length: 100 }, (_, number) => number));
  expect(said).toEqual(["waits", expect.stringMatching(/^resumes after 6\d000$/)]);
});

test("A21: an aborted action leaves the queue, and later ones still wait for earlier ones", async () => {
  const { clock, done, write, free } = openLab();
  const leaving = new AbortController();
  const first = write(1);
  const second = write(2, leaving.signal);
  const third = write(3);
  await clock.advance(5_000);
  leaving.abort(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  free();
  await clock.advance(2_000);
  await Promise.all([first, third]);
  expect(done).toEqual([1, 3]);
});

test("A21: a process that ends rejects what waits, and other failures are not retried", async () => {
  const { clock, retries, write } = openLab();
  const waiting = write(1);
  await clock.advance(5_000);
  retries.giveUp();
  await expect(waiting).rejects.toMatchObject({ code: "database-unavailable" });
  await expect(write(2)).rejects.toThrow("the disk is full");
  await expect(retries.run(() => Promise.reject(new Error("a bug")), neverAborted)).rejects.toThrow("a bug");
});
