import { expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { createStopwatch, keepLease, type LeaseKeeper } from "./keep-lease.ts";

const LEASE_MS = 900;
const never = new AbortController().signal;

function keeper(renew: LeaseKeeper["renew"]): LeaseKeeper & { readonly renewals: () => number } {
  let renewals = 0;
  return {
    leaseMs: LEASE_MS,
    age: createStopwatch(),
    renew,
    onRenewed: () => {
      renewals++;
    },
    renewals: () => renewals,
  };
}

test("a lease is renewed until it is told to stop", async () => {
  const stop = new AbortController();
  let calls = 0;
  const kept = keeper(async () => {
    if (++calls === 3) stop.abort();
  });
  expect(await keepLease(kept, stop.signal)).toBe("stopped");
  expect(kept.renewals()).toBe(3);
});

test("a run that is over is told at once", async () => {
  const kept = keeper(() => Promise.reject(new AppError("run-superseded", "over")));
  expect(await keepLease(kept, never)).toBe("lost");
});

test.each([
  ["fails each time", () => Promise.reject(new Error("no disk"))],
  ["never answers", () => new Promise<never>(() => undefined)],
])("a database that %s makes it unsure before the lease is over", async (_, renew) => {
  const age = createStopwatch();
  expect(await keepLease(keeper(renew), never)).toBe("unsure");
  expect(age()).toBeGreaterThanOrEqual((LEASE_MS * 2) / 3 - 5);
});

test("one failure is not the end", async () => {
  const stop = new AbortController();
  let calls = 0;
  const kept = keeper(async () => {
    calls++;
    if (calls === 1) throw new Error("busy");
    if (calls === 3) stop.abort();
  });
  expect(await keepLease(kept, stop.signal)).toBe("stopped");
});

test("after a halt that outlasted the lease nothing is renewed any more", async () => {
  let calls = 0;
  const kept = keeper(async () => void calls++);
  const end = keepLease(kept, never);
  const halted = createStopwatch();
  while (halted() < LEASE_MS); // as if the process had been stopped
  expect(await end).toBe("unsure");
  expect(calls).toBe(0);
});
