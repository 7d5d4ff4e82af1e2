import { expect, test } from "vitest";
import { type ModelEvent, type ModelFailure, NO_USAGE } from "../provider.ts";
import { withStatedWindows } from "./report-stated-window.ts";

test("B1: a window that a failure states is reported before the failure is passed on", async () => {
  const failure: ModelFailure = {
    kind: "too-long",
    message: "prompt is too long: 9000 tokens > 8000 maximum",
    hint: "",
    status: 400,
    windowTokens: 8_000,
    retryAfterMs: undefined,
    droppedTools: [],
    sawText: false,
    usage: NO_USAGE,
  };
  const log: unknown[] = [];
  const inner = {
    provider: "p",
    name: "m",
    contextTokens: undefined,
    price: undefined,
    async *stream(): AsyncGenerator<ModelEvent> {
      yield { type: "failed", failure };
    },
  };
  const model = withStatedWindows(inner, async (tokens) => void log.push(tokens));
  const never = new AbortController().signal;
  for await (const event of model.stream({ messages: [], tools: [] }, never)) log.push(event.type);
  expect(log).toEqual([8_000, "failed"]);
});
