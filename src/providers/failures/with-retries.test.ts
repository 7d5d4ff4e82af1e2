import { describe, expect, it } from "vitest";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { ask } from "../provider.contract.ts";
import {
  FAILURE_KINDS,
  type FailureKind,
  type Model,
  type ModelEvent,
  type ModelFailure,
} from "../provider.ts";
import { type AttemptFailed, withRetries } from "./with-retries.ts";

function failure(kind: FailureKind, facts: Partial<ModelFailure> = {}): ModelFailure {
  return {
    kind,
    message: `it was ${kind}`,
    hint: "wait",
    status: undefined,
    retryAfterMs: undefined,
    droppedTools: [],
    sawText: false,
    ...facts,
  };
}

const PRICE = { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 };

/** A model whose attempts fail as listed, in order, and then succeed. */
function failing(failures: readonly ModelFailure[]) {
  const seen = { attempts: 0 };
  const model: Model = {
    provider: "p",
    name: "m",
    contextTokens: 5,
    price: PRICE,
    async *stream(): AsyncGenerator<ModelEvent> {
      const next = failures[seen.attempts++];
      yield { type: "request-sent", prefix: [] };
      if (next === undefined) {
        const message = { role: "assistant", parts: [] } as const;
        yield { type: "message-end", message, finish: "stop", usage: NO_USAGE, droppedTools: [] };
      } else yield { type: "failed", failure: next };
    },
  };
  return { model, seen };
}
const NO_USAGE = {
  inputTokens: undefined,
  cacheReadTokens: undefined,
  cacheWriteTokens: undefined,
  outputTokens: undefined,
  reasoningTokens: undefined,
};

async function run(
  failures: readonly ModelFailure[],
  {
    maxRetries = 3,
    showsText = true,
    random = 0,
    signal = new AbortController().signal,
    stepMs = 60_000,
  } = {},
) {
  const clock = new TurnableClock();
  const { model, seen } = failing(failures);
  const events: (ModelEvent | AttemptFailed)[] = [];
  const collecting = (async () => {
    const retrying = withRetries(model, { maxRetries, showsText, clock, random: () => random });
    for await (const event of retrying.stream(ask("hi"), signal)) events.push(event);
  })();
  let ended = false;
  collecting.finally(() => {
    ended = true;
  });
  while (!ended) await clock.advance(stepMs);
  await collecting;
  const waits = events.flatMap((event) => (event.type === "attempt-failed" ? [event.retryInMs] : []));
  return { last: events.at(-1), events, waits, attempts: seen.attempts };
}

describe("A7: retries", () => {
  const TEMPORARY = ["unreachable", "stalled", "cut", "unavailable", "rate-limited", "malformed", "empty"];
  it.each(Object.keys(FAILURE_KINDS) as FailureKind[])(
    "a request is sent again only after a temporary failure: %s",
    async (kind) => {
      const isTemporary = TEMPORARY.includes(kind);
      const { attempts, last } = await run([failure(kind)]);
      expect(attempts).toBe(isTemporary ? 2 : 1);
      expect(last?.type).toBe(isTemporary ? "message-end" : "failed");
    },
  );

  it("retries with increasing waits until it succeeds", async () => {
    const { last, waits, attempts } = await run([failure("unavailable"), failure("cut"), failure("empty")]);
    expect(last?.type).toBe("message-end");
    expect(waits).toEqual([500, 1000, 2000]);
    expect(attempts).toBe(4);
  });

  it("randomizes the waits and caps them at 30 seconds", async () => {
    const many = Array.from({ length: 8 }, () => failure("unavailable"));
    const { waits } = await run(many, { maxRetries: 8, random: 0.5 });
    expect(waits).toEqual([750, 1500, 3000, 6000, 12_000, 22_500, 22_500, 22_500]);
  });

  it("yields the last failure when all attempts are used", async () => {
    const { last, attempts } = await run([1, 2, 3, 4, 5].map(() => failure("unavailable")));
    expect(last).toMatchObject({ type: "failed", failure: { kind: "unavailable" } });
    expect(attempts).toBe(4);
    expect((await run([failure("unavailable")], { maxRetries: 0 })).attempts).toBe(1);
  });

  it("waits as long as the provider asks, and fails at once if that is too long", async () => {
    expect((await run([failure("rate-limited", { retryAfterMs: 20_000 })])).waits).toEqual([20_000]);
    expect((await run([failure("rate-limited", { retryAfterMs: 20_000 })], { random: 0.9 })).waits).toEqual([
      21_800,
    ]);
    const tooLong = await run([failure("rate-limited", { retryAfterMs: 3_600_000 })]);
    expect(tooLong).toMatchObject({ attempts: 1, last: { type: "failed" } });
  });

  it("A6: does not retry after text was shown, but does retry after hidden text or a lost call", async () => {
    const broken = failure("stalled", { sawText: true });
    expect((await run([broken])).attempts).toBe(1);
    expect((await run([broken], { showsText: false })).attempts).toBe(2);
    const lost = await run([failure("cut", { sawText: true, droppedTools: ["terminal"] })]);
    expect(lost).toMatchObject({ attempts: 2, last: { type: "message-end" } });
  });

  it("M7: an abort during the wait ends it at once, and no request follows", async () => {
    const stop = new AbortController();
    const clock = new TurnableClock();
    const { model, seen } = failing([failure("unavailable", { retryAfterMs: 100_000 })]);
    const events: string[] = [];
    const retrying = withRetries(model, { maxRetries: 3, showsText: true, clock, random: () => 0 });
    for await (const event of retrying.stream(ask("hi"), stop.signal)) {
      events.push(event.type === "failed" ? event.failure.kind : event.type);
      if (event.type === "attempt-failed") setImmediate(() => stop.abort());
    }
    expect(events).toEqual(["request-sent", "attempt-failed", "aborted"]);
    expect(seen.attempts).toBe(1);
  });

  it("keeps the model's name, provider, context window and price", () => {
    const { model } = failing([]);
    const retrying = withRetries(model, {
      maxRetries: 1,
      showsText: true,
      clock: new TurnableClock(),
      random: () => 0,
    });
    expect(retrying).toMatchObject({ provider: "p", name: "m", contextTokens: 5, price: PRICE });
  });
});
