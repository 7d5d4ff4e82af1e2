import type { FinishReason } from "../../src/providers/provider.ts";
import type { AnswerView } from "./scripted-events.ts";

const FINISH: Record<FinishReason, string> = {
  stop: "STOP",
  "tool-calls": "STOP",
  length: "MAX_TOKENS",
  window: "MAX_TOKENS",
  "content-filter": "SAFETY",
  other: "OTHER",
};

/** The answer as Gemini streams it: calls come complete and without ids, and the first of them has a signature. */
export function* googleEvents({ reasoning, text, calls, finish, usage }: AnswerView): Generator<string> {
  const thoughtsTokenCount = usage.reasoning ?? 0;
  const usageMetadata = {
    promptTokenCount: usage.input ?? 0,
    cachedContentTokenCount: usage.cache_read ?? 0,
    candidatesTokenCount: (usage.output ?? 0) - thoughtsTokenCount,
    thoughtsTokenCount,
  };
  const chunk = (parts: readonly object[], more: object = {}) => {
    const candidates = [{ content: { role: "model", parts }, index: 0, ...more }];
    return `data: ${JSON.stringify({ candidates, usageMetadata, modelVersion: "m", responseId: "r1" })}\r\n\r\n`;
  };
  for (const piece of reasoning) yield chunk([{ text: piece, thought: true }]);
  for (const piece of text) yield chunk([{ text: piece }]);
  for (const [index, { name, input }] of calls.entries()) {
    const functionCall = { name, args: JSON.parse(input.join("") || "{}") };
    yield chunk([{ functionCall, ...(index === 0 ? { thoughtSignature: "c2lnbmF0dXJl" } : {}) }]);
  }
  yield chunk([{ text: "" }], { finishReason: FINISH[finish] });
}
