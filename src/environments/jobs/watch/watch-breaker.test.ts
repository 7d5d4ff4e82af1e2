import { expect, test } from "vitest";
import { CLOSED_BREAKER, passBreaker, releaseBreaker, type WatchBreaker } from "./watch-breaker.ts";

function pass(breaker: WatchBreaker, times: readonly number[]) {
  const notices: string[] = [];
  let passed = 0;
  let state = breaker;
  for (const time of times) {
    const verdict = passBreaker(state, "a", time);
    state = verdict.breaker;
    passed += Number(verdict.passes);
    if (verdict.notice !== undefined) notices.push(verdict.notice);
  }
  return { state, passed, notices };
}

test("D3: fifteen events in 10 s pass; one more trips the breaker, which is reported once", () => {
  const start = 1_000_000;
  const busy = Array.from({ length: 15 }, (_, index) => start + index);
  expect(pass(CLOSED_BREAKER, busy)).toMatchObject({ passed: 15, notices: [] });
  const tripped = pass(CLOSED_BREAKER, [...busy, start + 20, start + 21, start + 29_000]);
  expect(tripped).toMatchObject({ passed: 15, notices: [expect.stringContaining("More than 15")] });
  expect(pass(CLOSED_BREAKER, [...busy, start + 10_020])).toMatchObject({ passed: 16, notices: [] });
});

test("D3: after 30 s the breaker is released, which is reported once to the owner that tripped it", () => {
  const start = 1_000_000;
  const { state } = pass(CLOSED_BREAKER, Array(17).fill(start));
  expect(releaseBreaker(state, "a", start + 29_999)).toBeUndefined();
  expect(releaseBreaker(state, "b", start + 30_000)).toBeUndefined();
  // Another owner's event passes before the owner polls.
  const { passes, breaker } = passBreaker(state, "b", start + 30_000);
  expect(passes).toBe(true);
  const released = releaseBreaker(breaker, "a", start + 30_001);
  expect(released?.notice).toContain("2 were dropped");
  expect(releaseBreaker(released?.breaker ?? breaker, "a", start + 30_002)).toBeUndefined();
});
