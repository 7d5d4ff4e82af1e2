import fc from "fast-check";
import { expect, test } from "vitest";
import { requireValidHistory } from "../../../test/support/compaction-lab.ts";
import { scale } from "../../../test/support/scale.ts";
import { type Message, textOf, toolCallsOf, type UserMessage } from "../../providers/message.ts";
import { estimateTokens } from "../request-cost.ts";
import { splitHistory } from "./split-history.ts";
import { createSummaryMessage, NOTHING_EARLIER } from "./summary-message.ts";

const user = (text: string): UserMessage => ({ role: "user", parts: [{ type: "text", text }] });
const words = fc.integer({ min: 1, max: 3_000 }).map((length) => "word ".repeat(length / 5 + 1));

/** One step of a turn: calls with results, and sometimes a note of the user. */
const step = fc.record({ results: fc.array(words, { minLength: 1, maxLength: 3 }), note: fc.boolean() });
const turn = fc.record({
  question: words,
  steps: fc.array(step, { maxLength: 6 }),
  isAnswered: fc.boolean(),
});

function toHistory(
  turns: readonly { question: string; steps: readonly { results: string[]; note: boolean }[] }[],
) {
  const messages: Message[] = [{ role: "system", text: "be good" }];
  for (const [index, { question, steps }] of turns.entries()) {
    messages.push(user(`${index}: ${question}`));
    for (const [number, { results, note }] of steps.entries()) {
      const calls = results.map((_, at) => ({
        type: "tool-call" as const,
        callId: `${index}-${number}-${at}`,
        tool: "fetch",
        input: "{}",
      }));
      messages.push({ role: "assistant", parts: calls });
      for (const [at, text] of results.entries())
        messages.push({ role: "tool", callId: calls[at]?.callId ?? "", tool: "fetch", text, failed: false });
      if (note && number < steps.length - 1)
        messages.push({ ...user(`note ${index}-${number}`), kind: "steer" });
    }
    if (index < turns.length - 1)
      messages.push({ role: "assistant", parts: [{ type: "text", text: "done" }] });
  }
  return messages;
}

test("A8: any split keeps calls with their results, the user's newest message and a tail that fits", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 0, max: 4_000 }),
      (turns, tailTokens) => {
        const history = toHistory(turns);
        const split = splitHistory({ history, replaced: 0, tailTokens, newestTokens: 2_000 });
        const message = createSummaryMessage(
          { ...NOTHING_EARLIER, summary: "earlier" },
          "s",
          split.userParts,
        );
        const compacted = [message, ...split.copied, ...split.kept];
        requireValidHistory(compacted);
        const newest = compacted.findLast((one) => one.role === "user" && one.kind !== "steer");
        expect(newest?.role === "user" && textOf(newest)).toContain(`${turns.length - 1}: word`);
        expect(estimateTokens([...split.copied, ...split.kept])).toBeLessThanOrEqual(tailTokens + 2);
        expect(history.slice(history.length - split.kept.length)).toEqual(split.kept);
        // A second compaction of the result is valid too.
        const again = splitHistory({
          history: [{ role: "system", text: "be good" }, ...compacted],
          replaced: 1 + split.copied.length,
          tailTokens: tailTokens / 2,
          newestTokens: 2_000,
        });
        const next = createSummaryMessage({ ...again.earlier, summary: "both" }, "s", again.userParts);
        requireValidHistory([next, ...again.copied, ...again.kept]);
        expect(again.earlier.summary).toBe("earlier");
        expect(history.slice(history.length - again.kept.length)).toEqual(again.kept);
      },
    ),
    { numRuns: scale.cases },
  );
});

test("A8: a last step that is too long keeps its calls, and its results are cut with a pointer to the full text", () => {
  const history = toHistory([
    { question: "q", steps: [{ results: ["x".repeat(30_000), "y".repeat(30_000)], note: false }] },
  ]);
  const { copied, kept, dropped } = splitHistory({
    history,
    replaced: 0,
    tailTokens: 3_000,
    newestTokens: 2_000,
  });
  expect({ kept, dropped: dropped.length }).toEqual({ kept: [], dropped: 1 });
  expect(copied.map(({ role }) => role)).toEqual(["assistant", "tool", "tool"]);
  for (const message of copied)
    if (message.role === "tool")
      expect(message.text).toMatch(/^x+\n\[\d+ characters were cut here\..*session_search.*\]\nx+$|^y+/);
  expect(copied[0]?.role === "assistant" && toolCallsOf(copied[0])).toHaveLength(2);
});

test("A8: a huge newest message keeps its beginning and end, and its pictures", () => {
  const picture = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
  const message: UserMessage = {
    role: "user",
    parts: [{ type: "text", text: `start ${"z".repeat(90_000)} end` }, picture],
  };
  const split = splitHistory({ history: [message], replaced: 0, tailTokens: 100, newestTokens: 3_000 });
  const [text, image] = split.userParts;
  expect(text?.type === "text" && text.text).toMatch(
    /^start z+\n\[\d+ characters were cut here.*\]\nz+ end$/,
  );
  expect(image).toEqual(picture);
});
