import { expect, test } from "vitest";
import { silentLog } from "../../../test/support/silent-log.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { restartAfterFailures } from "./restart-after-failures.ts";

test("K34: a part that fails is restarted without limit, after pauses of at most five minutes", async () => {
  const clock = new TurnableClock();
  const stop = new AbortController();
  const starts: number[] = [];
  const supervised = restartAfterFailures(
    "dispatcher",
    async () => {
      starts.push(clock.now());
      throw new Error("broken");
    },
    { clock, log: silentLog },
    stop.signal,
  );
  await clock.advance(86_400_000);
  const pauses = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  expect(pauses.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000]);
  expect(new Set(pauses.slice(-200))).toEqual(new Set([300_000]));
  stop.abort();
  await supervised;
});
