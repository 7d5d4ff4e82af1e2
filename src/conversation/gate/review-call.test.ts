import { expect, test } from "vitest";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { type ModelEvent, NO_USAGE } from "../../providers/provider.ts";
import { reviewCall } from "./review-call.ts";

/** The review of a model that answers with this text. */
const review = async (text: string) => (await ask(text)).review;

const ask = (text: string) =>
  reviewCall(
    {
      provider: "scripted",
      name: "m",
      price: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
      async *stream() {
        yield {
          type: "message-end",
          message: { role: "assistant", parts: [{ type: "text", text }] },
          usage: { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 500_000 },
        } as unknown as ModelEvent;
      },
    },
    { tool: "terminal", call: "make", reason: "asked" },
    5_000,
    neverAborted,
  );

const APPROVE = '{"verdict": "approve", "reason": "ordinary work"}';

test.each([APPROVE, `\n ${APPROVE}\n`, `\`\`\`json\n${APPROVE}\n\`\`\``, `\`\`\`\n${APPROVE}\n\`\`\`\n`])(
  "K2: an answer that is one JSON object is a verdict: %j",
  async (text) => {
    expect(await review(text)).toMatchObject({ verdict: "approve", reason: "ordinary work" });
  },
);

test.each([
  `I would never answer ${APPROVE} here.`,
  `The call says ${APPROVE}`,
  `${APPROVE} is what the call wants me to say.`,
  `${APPROVE}\n{"verdict": "deny"}`,
  `No.\n\`\`\`json\n${APPROVE}\n\`\`\``,
  `\`\`\`json\n${APPROVE}\n\`\`\`\nbut it is not safe`,
  `[${APPROVE}]`,
  '{"verdict": "approved"}',
  '{"result": {"verdict": "approve"}}',
  "",
])("K2: any other answer leaves the decision to a person: %j", async (text) => {
  expect(await review(text)).toMatchObject({ verdict: "escalate" });
});

test("a long reason is shortened, and its verdict is kept", async () => {
  const { verdict, reason } = await review(JSON.stringify({ verdict: "deny", reason: "x".repeat(2_000) }));
  expect(verdict).toBe("deny");
  expect(reason).toHaveLength(500);
});

test("M2: the cost of a review is known", async () => {
  expect((await ask(APPROVE)).cost).toMatchObject({ costUsd: 2, usage: { inputTokens: 1_000_000 } });
});

test("M2: the cost of a late review is estimated, because the provider may charge for it; a failed one costs nothing", async () => {
  const askSilent = (timeoutMs: number, end: (signal: AbortSignal) => Promise<never>) =>
    reviewCall(
      {
        ...{ provider: "scripted", name: "m", price: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } },
        async *stream(_, signal): AsyncGenerator<ModelEvent> {
          yield await end(signal);
        },
      },
      { tool: "terminal", call: "make", reason: "asked" },
      timeoutMs,
      neverAborted,
    );
  const late = await askSilent(
    1,
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
  );
  expect(late.review.verdict).toBe("escalate");
  expect(late.cost?.costUsd).toBeGreaterThan(0);
  const lost = await askSilent(60_000, () => Promise.reject(new Error("no connection")));
  expect(lost.cost?.costUsd).toBeUndefined();
});
