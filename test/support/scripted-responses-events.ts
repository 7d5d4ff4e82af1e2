import type { FinishReason } from "../../src/providers/provider.ts";
import type { AnswerView } from "./scripted-events.ts";

const INCOMPLETE: Partial<Record<FinishReason, string>> = {
  length: "max_output_tokens",
  window: "model_context_window_exceeded",
  "content-filter": "content_filter",
  other: "other",
};

/** The answer as OpenAI streams it in the Responses API. */
export function* responsesEvents({ reasoning, text, calls, finish, usage }: AnswerView): Generator<string> {
  let sequence = 0;
  const event = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...data })}\n\n`;
  const response = { id: "resp_1", object: "response", model: "m", status: "in_progress", output: [] };
  const output: object[] = [];
  function* item(start: object, deltas: readonly string[], delta: string, done: object): Generator<string> {
    const output_index = output.length;
    yield event("response.output_item.added", { output_index, item: start });
    for (const piece of deltas) yield event(delta, { output_index, delta: piece });
    yield event("response.output_item.done", { output_index, item: { ...start, ...done } });
    output.push({ ...start, ...done });
  }
  yield event("response.created", { response });
  if (reasoning.length > 0) {
    const summary = [{ type: "summary_text", text: reasoning.join("") }];
    const start = { type: "reasoning", id: "rs_1", summary: [] };
    const done = { summary, encrypted_content: "encrypted-by-the-script" };
    yield* item(start, reasoning, "response.reasoning_summary_text.delta", done);
  }
  if (text.length > 0) {
    const start = { type: "message", id: "msg_1", role: "assistant", status: "in_progress", content: [] };
    const content = [{ type: "output_text", text: text.join(""), annotations: [] }];
    yield* item(start, text, "response.output_text.delta", { status: "completed", content });
  }
  for (const { id, name, input } of calls) {
    const start = { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: "" };
    const done = { status: "completed", arguments: input.join("") };
    yield* item(start, input, "response.function_call_arguments.delta", done);
  }
  const reason = INCOMPLETE[finish];
  const status = reason === undefined ? "completed" : "incomplete";
  const counted = {
    input_tokens: usage.input ?? 0,
    input_tokens_details: { cached_tokens: usage.cache_read ?? 0 },
    output_tokens: usage.output ?? 0,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
  const details = reason === undefined ? null : { reason };
  yield event(`response.${status}`, {
    response: { ...response, status, output, incomplete_details: details, usage: counted },
  });
}
