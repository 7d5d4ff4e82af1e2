import { expect, test } from "vitest";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { AppError } from "../../lib/errors.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { keepLease, type LeaseKeeper, realTime } from "./keep-lease.ts";

const LEASE_MS = 900;
const SURE_MS = 600;

/** Keeps a lease that was just renewed, and records how it ends. */
function keep(renew: LeaseKeeper["renew"], signal = neverAborted) {
  const clock = new TurnableClock();
  const stopwatch = () => {
    const startedAt = clock.now();
    return () => clock.now() - startedAt;
  };
  const kept = { end: "" as string, endedAfterMs: -1, renewals: 0 };
  const age = stopwatch();
  const onRenewed = () => void kept.renewals++;
  const time = { stopwatch, sleep: (ms: number, sleeping: AbortSignal) => clock.sleep(ms, sleeping) };
  const ended = keepLease({ leaseMs: LEASE_MS, age, renew, onRenewed }, time, signal).then((end) => {
    kept.end = end;
    kept.endedAfterMs = age();
  });
  return { clock, kept, ended };
}

test("a lease is renewed after each third of its duration until the signal aborts", async () => {
  const stop = new AbortController();
  const { clock, kept, ended } = keep(async () => undefined, stop.signal);
  await clock.advance(LEASE_MS);
  expect(kept).toMatchObject({ end: "", renewals: 3 });
  stop.abort();
  await ended;
  expect(kept).toMatchObject({ end: "stopped", renewals: 3 });
});

test("the end of the run is reported at once", async () => {
  const { clock, kept } = keep(() => Promise.reject(new AppError("run-superseded", "over")));
  await clock.advance(LEASE_MS / 3);
  expect(kept).toMatchObject({ end: "lost", renewals: 0 });
});

test.each([
  ["fails each time", () => Promise.reject(new Error("no disk"))],
  ["never answers", () => new Promise<never>(() => undefined)],
])("a database that %s makes the lease uncertain before it expires", async (_, renew) => {
  const { clock, kept } = keep(renew);
  await clock.advance(SURE_MS - 1);
  expect(kept.end).toBe("");
  await clock.advance(1);
  expect(kept).toMatchObject({ end: "unsure", endedAfterMs: SURE_MS });
});

test("one failed renewal does not end the lease", async () => {
  let calls = 0;
  const { clock, kept } = keep(async () => {
    if (++calls === 1) throw new Error("busy");
  });
  await clock.advance(2 * LEASE_MS);
  expect(kept.end).toBe("");
  expect(kept.renewals).toBeGreaterThan(2);
});

test("a renewal that is answered too late does not count", async () => {
  const answers: (() => void)[] = [];
  const { clock, kept } = keep(() => new Promise((resolve) => answers.push(() => resolve(undefined))));
  await clock.advance(SURE_MS);
  for (const answer of answers) answer();
  await clock.advance(LEASE_MS);
  expect(kept).toMatchObject({ end: "unsure", renewals: 0 });
});

test("a process that was stopped for longer than the lease does not renew it", async () => {
  let calls = 0;
  const age = realTime.stopwatch();
  const renew = async () => void calls++;
  const end = keepLease(
    { leaseMs: LEASE_MS, age, renew, onRenewed: () => undefined },
    realTime,
    neverAborted,
  );
  while (age() < LEASE_MS); // as if the process had been stopped
  expect(await end).toBe("unsure");
  expect(calls).toBe(0);
});
