import type { AgentEvent } from "../../agent/events.ts";
import type { ToolCallPart } from "../../providers/message.ts";
import { openAiError } from "../api-error.ts";
import type { Frame } from "../event-stream.ts";
import type { ApiRun } from "../runs/api-runs.ts";
import type { RunFormat } from "../runs/follow-run.ts";
import type { RunResult } from "../store/api-database.ts";
import { describeClientCalls } from "./client-tools.ts";
import { chatUsage, findRunError } from "./usage.ts";

type FinishReason = "stop" | "length" | "content_filter" | "tool_calls";

export function finishReason({ outcome }: RunResult): FinishReason {
  if (outcome === "cut" || outcome === "budget") return "length";
  return outcome === "refused" ? "content_filter" : "stop";
}

export interface ChatFormatOptions {
  readonly includesUsage: boolean;
  /** The calls of an event that the client has to run; the stream ends with them. */
  clientCalls(event: AgentEvent): readonly ToolCallPart[];
}

/**
 * Chunks of a chat completion. Texts before and after tool calls are separated by a blank line. A call of a tool of the server
 * is a chunk without choices, of the event `hermes.tool.progress`, which clients of OpenAI skip.
 */
export function createChatFormat(
  { id, createdAt, model }: ApiRun,
  { includesUsage, clientCalls }: ChatFormatOptions,
): RunFormat {
  const facts = {
    id: id.replace("run_", "chatcmpl-"),
    object: "chat.completion.chunk",
    created: Math.floor(createdAt / 1_000),
    model,
  };
  let hasText = false;
  let needsBreak = false;
  let isPaused = false;
  const chunk = (delta: object, finish: FinishReason | null = null): Frame => ({
    data: JSON.stringify({
      ...facts,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(includesUsage && { usage: null }),
    }),
  });
  const progress = (tool: object): Frame => ({
    event: "hermes.tool.progress",
    data: JSON.stringify({ ...facts, choices: [], hermes: tool }),
  });
  const done = { data: "[DONE]" };
  return {
    start: () => [chunk({ role: "assistant", content: "" })],
    isPaused: () => isPaused,
    event(event: AgentEvent) {
      isPaused = false;
      switch (event.type) {
        case "text-delta": {
          const separator = needsBreak ? "\n\n" : "";
          needsBreak = false;
          hasText = true;
          return [chunk({ content: `${separator}${event.text}` })];
        }
        case "tools-start": {
          const calls = clientCalls(event);
          isPaused = calls.length > 0;
          needsBreak = hasText && !isPaused;
          if (isPaused) {
            hasText = false; // what follows is another message of the client's conversation
            return [chunk({ tool_calls: describeClientCalls(id, calls) }), chunk({}, "tool_calls"), done];
          }
          return event.calls.map(({ callId, tool }) =>
            progress({ call_id: callId, tool, status: "running" }),
          );
        }
        case "tool-end": {
          const { callId, tool, outcome } = event;
          return [progress({ call_id: callId, tool, status: outcome === "ok" ? "completed" : outcome })];
        }
        default:
          return [];
      }
    },
    end(result) {
      const error = findRunError(result);
      if (error !== undefined) return [{ data: JSON.stringify(openAiError(error)) }];
      // An answer that was not streamed, such as reasoning that is shown because there is no text.
      const missing = hasText || result.text === "" ? [] : [chunk({ content: result.text })];
      const usage = { data: JSON.stringify({ ...facts, choices: [], usage: chatUsage(result) }) };
      return [...missing, chunk({}, finishReason(result)), ...(includesUsage ? [usage] : []), done];
    },
  };
}
