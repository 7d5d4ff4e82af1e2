import { expect, test } from "vitest";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import type { ModelEvent } from "../../providers/provider.ts";
import { readAnswer } from "./read-answer.ts";

const SILENCE_MS = 120_000;

/** A server that sends a piece every `everyMs` and ignores every abort; it never ends. */
function endless(clock: TurnableClock, everyMs: number) {
  return async function* (): AsyncGenerator<ModelEvent> {
    for (;;) {
      await clock.sleep(everyMs, new AbortController().signal);
      yield { type: "text-delta", text: "more" };
    }
  };
}

async function read(everyMs: number) {
  const clock = new TurnableClock();
  const startedAt = clock.now();
  const notices: string[] = [];
  const reading = (async () => {
    const events = readAnswer(
      endless(clock, everyMs),
      { silenceMs: SILENCE_MS, clock },
      new AbortController().signal,
    );
    for (;;) {
      const { value, done } = await events.next();
      if (done) return { end: value, afterMs: clock.now() - startedAt };
      notices.push(value.text);
    }
  })();
  let result: Awaited<typeof reading> | undefined;
  reading.then((one) => {
    result = one;
  });
  while (result === undefined) await clock.advance(5_000);
  return { ...result, notices };
}

test("M1: a summarizer that goes silent is abandoned, even if it ignores the abort; progress is shown until then", async () => {
  const { end, afterMs, notices } = await read(10 * SILENCE_MS);
  expect(end).toBeUndefined();
  expect(afterMs).toBe(SILENCE_MS);
  expect(notices[0]).toBe("Still compacting the conversation (15 s).");
});

test("M1: a summarizer that never ends its answer is abandoned after five times the longest silence", async () => {
  const { end, afterMs } = await read(SILENCE_MS / 2);
  expect(end).toBeUndefined();
  expect(afterMs).toBe(5 * SILENCE_MS);
});
