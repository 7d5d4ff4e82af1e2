import type { AgentEvent } from "../../agent/events.ts";
import { openAiError } from "../api-error.ts";
import type { Frame } from "../event-stream.ts";
import type { ApiRun } from "../runs/api-runs.ts";
import type { RunFormat } from "../runs/follow-run.ts";
import type { RunResult } from "../store/api-database.ts";
import { chatUsage, findRunError } from "./usage.ts";

type FinishReason = "stop" | "length" | "content_filter";

export function finishReason({ outcome }: RunResult): FinishReason {
  if (outcome === "cut" || outcome === "budget") return "length";
  return outcome === "refused" ? "content_filter" : "stop";
}

/**
 * Chunks of a chat completion. Texts before and after tool calls are separated by a blank line. A tool call is a chunk
 * without choices, of the event `hermes.tool.progress`, which clients of OpenAI skip.
 */
export function createChatFormat(
  { id, createdAt, model }: ApiRun,
  { includesUsage }: { readonly includesUsage: boolean },
): RunFormat {
  const facts = {
    id: id.replace("run_", "chatcmpl-"),
    object: "chat.completion.chunk",
    created: Math.floor(createdAt / 1_000),
    model,
  };
  let hasText = false;
  let needsBreak = false;
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
  return {
    start: () => [chunk({ role: "assistant", content: "" })],
    event(event: AgentEvent) {
      switch (event.type) {
        case "text-delta": {
          const separator = needsBreak ? "\n\n" : "";
          needsBreak = false;
          hasText = true;
          return [chunk({ content: `${separator}${event.text}` })];
        }
        case "tools-start":
          needsBreak = hasText;
          return event.calls.map(({ callId, tool }) =>
            progress({ call_id: callId, tool, status: "running" }),
          );
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
      return [
        ...missing,
        chunk({}, finishReason(result)),
        ...(includesUsage ? [usage] : []),
        { data: "[DONE]" },
      ];
    },
  };
}
