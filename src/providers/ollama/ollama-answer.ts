import type { Usage } from "../provider.ts";
import type { AnswerPart, FinishPart } from "../wire/answer-part.ts";
import { findCount, findString, isJsonObject, type JsonObject, parseEvent } from "../wire/json-object.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";

const FINISH = new Map<unknown, FinishPart["reason"]>([
  [undefined, "stop"],
  ["stop", "stop"],
  ["length", "length"],
]);

/** Reads answers of Ollama's /api/chat: one JSON object per line, with complete calls that have no ids. */
export function createOllamaReader(): AnswerReader {
  let calls = 0;
  let last: JsonObject | undefined;

  function takeCall(call: unknown): AnswerPart[] {
    const called = isJsonObject(call) ? call["function"] : undefined;
    if (!isJsonObject(called)) return [];
    const id = `call_${calls++}`;
    const { arguments: input } = called;
    return [
      { type: "tool-input-start", id, toolName: findString(called, "name") ?? "" },
      // Some proxies pass arguments on as text.
      {
        type: "tool-input-delta",
        id,
        delta: typeof input === "string" ? input : JSON.stringify(input ?? {}),
      },
    ];
  }

  function takeChunk(chunk: JsonObject): AnswerPart[] {
    if (chunk["error"] !== undefined) throw new TroubleError({ type: "error-event", payload: chunk });
    const { message, done } = chunk;
    if (done === true) last = chunk;
    if (!isJsonObject(message)) {
      if (done === true) return [];
      throw new TroubleError({ type: "malformed" });
    }
    const thinking = findString(message, "thinking") ?? "";
    const text = findString(message, "content") ?? "";
    const { tool_calls: list } = message;
    return [
      ...(thinking === "" ? [] : [{ type: "reasoning-delta", id: "0", delta: thinking } as const]),
      ...(text === "" ? [] : [{ type: "text-delta", id: "0", delta: text } as const]),
      ...(Array.isArray(list) ? list.flatMap(takeCall) : []),
    ];
  }

  return {
    get isOver() {
      return last !== undefined;
    },
    get usage() {
      return toUsage(last);
    },
    take: (data) => takeChunk(parseEvent(data)),
    takeWhole(body) {
      if (!isJsonObject(body["message"])) return undefined;
      return takeChunk({ ...body, done: true });
    },
    finish() {
      return (
        last && { type: "finish", reason: FINISH.get(last["done_reason"]) ?? "other", usage: toUsage(last) }
      );
    },
  };
}

function toUsage(chunk: JsonObject | undefined): Usage {
  return {
    inputTokens: findCount(chunk?.["prompt_eval_count"]),
    cacheReadTokens: undefined,
    cacheWriteTokens: undefined,
    outputTokens: findCount(chunk?.["eval_count"]),
    reasoningTokens: undefined,
  };
}
