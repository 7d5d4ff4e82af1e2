import type { FinishReason } from "../../src/providers/provider.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/script.ts";

/** An answer, split into the chunks that are sent. */
export interface AnswerView {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly input: readonly string[];
  }[];
  readonly finish: FinishReason;
  readonly usage: ScriptedAnswer["usage"];
}

const CHAT_FINISH: Record<FinishReason, string> = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  window: "model_context_window_exceeded",
  "content-filter": "content_filter",
  other: "other",
};

/** The answer as OpenAI streams chat completions. */
export function* chatEvents({ reasoning, text, calls, finish, usage }: AnswerView): Generator<string> {
  const chunk = (delta: object, reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: reason }];
    return `data: ${JSON.stringify({ id: "chat-1", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
  };
  for (const piece of reasoning) yield chunk({ reasoning_content: piece });
  for (const piece of text) yield chunk({ content: piece });
  for (const [index, { id, name, input }] of calls.entries()) {
    yield chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    for (const piece of input) yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield chunk({}, CHAT_FINISH[finish]);
  const counted = {
    prompt_tokens: usage.input ?? 0,
    completion_tokens: usage.output ?? 0,
    prompt_tokens_details: { cached_tokens: usage.cache_read ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
  yield `data: ${JSON.stringify({ id: "chat-1", choices: [], usage: counted })}\n\n`;
  yield "data: [DONE]\n\n";
}

const ANTHROPIC_FINISH: Record<FinishReason, string> = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  window: "model_context_window_exceeded",
  "content-filter": "refusal",
  other: "other",
};

/** The answer as Anthropic streams messages. */
export function* anthropicEvents({ reasoning, text, calls, finish, usage }: AnswerView): Generator<string> {
  const event = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  let index = 0;
  function* block(start: object, deltas: readonly object[]): Generator<string> {
    yield event("content_block_start", { index, content_block: start });
    for (const delta of deltas) yield event("content_block_delta", { index, delta });
    yield event("content_block_stop", { index });
    index++;
  }
  const input =
    usage.input === undefined ? 0 : usage.input - (usage.cache_read ?? 0) - (usage.cache_write ?? 0);
  const counted = {
    input_tokens: input,
    cache_read_input_tokens: usage.cache_read ?? 0,
    cache_creation_input_tokens: usage.cache_write ?? 0,
    output_tokens: 0,
  };
  const message = {
    id: "msg-1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: counted,
  };
  yield event("message_start", { message: { ...message, stop_reason: null, stop_sequence: null } });
  if (reasoning.length > 0) {
    const thoughts = reasoning.map((thinking) => ({ type: "thinking_delta", thinking }));
    const signature = { type: "signature_delta", signature: "signature-of-the-script" };
    yield* block({ type: "thinking", thinking: "", signature: "" }, [...thoughts, signature]);
  }
  if (text.length > 0)
    yield* block(
      { type: "text", text: "" },
      text.map((piece) => ({ type: "text_delta", text: piece })),
    );
  for (const { id, name, input: pieces } of calls)
    yield* block(
      { type: "tool_use", id, name, input: {} },
      pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  yield event("message_delta", {
    delta: { stop_reason: ANTHROPIC_FINISH[finish], stop_sequence: null },
    usage: { output_tokens: usage.output ?? 0 },
  });
  yield event("message_stop", {});
}
