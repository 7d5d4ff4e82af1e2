import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { openDeadline } from "./deadline.ts";

test("a deadline aborts after its time, even after a garbage collection", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  using deadline = openDeadline(new AbortController().signal, 200);
  const { signal } = deadline;
  const aborted = once(signal, "abort");
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  await aborted;
  expect([deadline.isOver, signal.reason.name]).toEqual([true, "TimeoutError"]);
});

test("a deadline aborts with the reason of the signal, even if the signal aborted first", () => {
  const stop = new AbortController();
  using before = openDeadline(stop.signal, 60_000);
  stop.abort("stopped");
  using after = openDeadline(stop.signal, 60_000);
  expect([before, after].map(({ signal, isOver }) => [signal.reason, isOver])).toEqual([
    ["stopped", false],
    ["stopped", false],
  ]);
});

test("a disposed deadline never aborts: its timer and its listener are removed", async () => {
  const stop = new AbortController();
  let signal: AbortSignal;
  {
    using deadline = openDeadline(stop.signal, 20);
    ({ signal } = deadline);
  }
  await new Promise((resolve) => setTimeout(resolve, 60));
  stop.abort();
  expect(signal.aborted).toBe(false);
});
