import { expect, test } from "vitest";
import { judgeHits, NEW_WATCH, searchOutput, WATCH_WINDOW_MS, type WatchState } from "./watch-state.ts";

const yes = () => true;
const output = (text: string, from = 0) => ({ from, bytes: Buffer.from(text) });

test("D3: a pattern is plain text, and a line counts once however often it matches", () => {
  const { state, hits } = searchOutput(
    NEW_WATCH,
    ["a.c", "error"],
    output("abc\na.c error error\r\nerror\n"),
  );
  expect(hits).toEqual(["a.c error error", "error"]);
  expect(state.offset).toBe(27);
});

test("D3: an incomplete line is a hit only once, even when the rest of it arrives later", () => {
  const asked = searchOutput(NEW_WATCH, ["Password"], output("Password: "));
  expect(asked).toMatchObject({ hits: ["Password: "], state: { offset: 0, wasHit: true } });
  const answered = searchOutput(asked.state, ["Password"], output("Password: \nPassword again\n"));
  expect(answered).toMatchObject({ hits: ["Password again"], state: { offset: 26, wasHit: false } });
});

test("D3: a pattern that is split between two reads is found, and dropped output is skipped", () => {
  const half = searchOutput(NEW_WATCH, ["ready"], output("server rea"));
  expect(half.hits).toEqual([]);
  expect(searchOutput(half.state, ["ready"], output("server ready\n")).hits).toEqual(["server ready"]);
  const later = searchOutput(half.state, ["ready"], output("x\nready\n", 500));
  expect(later).toMatchObject({ hits: ["ready"], state: { offset: 508 } });
});

test("an endless line is not read again on every poll", () => {
  expect(searchOutput(NEW_WATCH, ["q"], output("x".repeat(20_000))).state.offset).toBe(20_000);
});

test("D3: an event has at most 20 lines and 2,000 characters, and counts the hits that it omits", () => {
  const many = judgeHits(NEW_WATCH, Array(50).fill("hit"), 1_000, yes);
  expect(many.event?.lines).toHaveLength(20);
  expect(many.event?.dropped).toBe(30);
  const long = judgeHits(NEW_WATCH, ["x".repeat(1_500), "y".repeat(1_500), "z"], 1_000, yes);
  expect(long.event?.lines.join("\n")).toHaveLength(2_000);
});

test("D3: a second hit within 15 s is dropped, and the next notification counts it", () => {
  const first = judgeHits(NEW_WATCH, ["one"], 1_000, yes);
  expect(first.event).toEqual({ lines: ["one"], dropped: 0 });
  const second = judgeHits(first.state, ["two"], 1_000 + WATCH_WINDOW_MS - 1, yes);
  expect(second).toMatchObject({ event: undefined, ended: undefined });
  const third = judgeHits(second.state, ["three"], 1_000 + WATCH_WINDOW_MS, yes);
  expect(third.event).toEqual({ lines: ["three"], dropped: 1 });
});

/** Simulates windows, true for a window with dropped hits; returns the window in which watching ended. */
function simulate(windows: readonly boolean[]): number | undefined {
  let state: WatchState = NEW_WATCH;
  for (const [number, hasDrop] of windows.entries()) {
    const now = (number + 1) * WATCH_WINDOW_MS;
    for (const at of hasDrop ? [now, now + 1, now + 2] : [now]) {
      const verdict = judgeHits(state, ["hit"], at, yes);
      if (verdict.ended !== undefined) return number;
      state = verdict.state;
    }
  }
  return undefined;
}

test("D3: three strike windows in a row end the watch, and a clean window restarts the count", () => {
  expect(simulate([true, true])).toBeUndefined();
  expect(simulate([true, true, true])).toBe(2);
  expect(simulate([true, true, false, true, true])).toBeUndefined();
  expect(simulate([true, true, false, true, true, true])).toBe(5);
});

test("D3: the eighth notification is the last", () => {
  expect(simulate(Array(7).fill(false))).toBeUndefined();
  expect(simulate(Array(8).fill(false))).toBe(7);
});

test("D3: an event that the breaker drops counts neither as a delivery nor as a strike", () => {
  const held = judgeHits(NEW_WATCH, ["hit"], 1_000, () => false);
  expect(held).toEqual({ state: { ...NEW_WATCH, dropped: 1 }, event: undefined, ended: undefined });
});
