import type { Usage } from "../provider.ts";
import type { AnswerPart, FinishPart } from "../wire/answer-part.ts";
import { findCount, findString, isJsonObject, type JsonObject, parseEvent } from "../wire/json-object.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";

/** An output item that is arriving in pieces. */
interface OpenItem {
  /** Its id in the parts of the answer: the call id of a call, and the position of any other item. */
  readonly id: string;
  hasContent: boolean;
  isDone: boolean;
}

/** The meaning of the reasons why a response is incomplete; all others mean `other`. */
const INCOMPLETE: Readonly<Record<string, FinishPart["reason"]>> = {
  max_output_tokens: "length",
  max_tokens: "length",
  model_context_window_exceeded: "window",
  content_filter: "content-filter",
};

const LAST_EVENTS = /^response\.(?:completed|incomplete|failed|cancelled|done)$/;

/** Reads answers of the Responses API. Reasoning items are kept unchanged, marked with their provider. */
export function createResponsesReader(provider: string): AnswerReader {
  const items = new Map<number, OpenItem>();
  let usage: JsonObject | undefined;
  let reason: FinishPart["reason"] | undefined;
  let refused = false;
  let hasThought = false;

  function takeContent(type: "text" | "reasoning", index: number, delta: string): AnswerPart[] {
    const item = items.get(index);
    if (item !== undefined) item.hasContent ||= delta !== "";
    if (type === "reasoning") hasThought ||= delta !== "";
    const id = String(index);
    if (delta === "") return [];
    return [type === "text" ? { type: "text-delta", id, delta } : { type: "reasoning-delta", id, delta }];
  }

  function takeInput(index: number, delta: string): AnswerPart[] {
    const item = items.get(index);
    if (item === undefined || delta === "") return []; // the finished item has the whole input
    item.hasContent = true;
    return [{ type: "tool-input-delta", id: item.id, delta }];
  }

  function beginItem(index: number, item: JsonObject): AnswerPart[] {
    if (items.has(index)) return [];
    const type = findString(item, "type");
    const isCall = type === "function_call";
    const id = isCall
      ? findString(item, "call_id") || findString(item, "id") || `call_${index}`
      : String(index);
    items.set(index, { id, hasContent: false, isDone: false });
    if (isCall) return [{ type: "tool-input-start", id, toolName: findString(item, "name") ?? "" }];
    if (type === "reasoning") return [{ type: "reasoning-start", id }];
    const phase = findString(item, "phase"); // distinguishes comments from answers, and must be sent back
    const providerMetadata = phase === undefined ? undefined : { openai: { phase } };
    return type === "message" ? [{ type: "text-start", id, providerMetadata }] : [];
  }

  /** The content of a finished item, for servers that did not stream it. */
  function endItem(index: number, item: JsonObject): AnswerPart[] {
    const parts = beginItem(index, item);
    const open = items.get(index);
    if (open === undefined || open.isDone) return parts;
    open.isDone = true;
    switch (item["type"]) {
      case "function_call": {
        const input = findString(item, "arguments") ?? "";
        return open.hasContent ? parts : [...parts, ...takeInput(index, input)];
      }
      case "reasoning": {
        const text = open.hasContent
          ? ""
          : [...textsIn(item["summary"]), ...textsIn(item["content"])].join("\n\n");
        hasThought ||= text !== "";
        const providerMetadata = { openai: { provider, item } };
        return [...parts, { type: "reasoning-delta", id: open.id, delta: text, providerMetadata }];
      }
      case "message":
        refused ||= hasRefusal(item["content"]);
        return open.hasContent
          ? parts
          : [...parts, ...takeContent("text", index, textsIn(item["content"]).join(""))];
      default:
        return parts;
    }
  }

  function endResponse(response: JsonObject, type: string): AnswerPart[] {
    if (isJsonObject(response["usage"])) usage = response["usage"];
    const status = findString(response, "status") ?? type.replace("response.", "");
    if (status === "failed")
      throw new TroubleError({ type: "error-event", payload: { error: response["error"] } });
    const { output, incomplete_details: details } = response;
    const parts = Array.isArray(output)
      ? output.flatMap((item: unknown, index) => (isJsonObject(item) ? endItem(index, item) : []))
      : [];
    const why = isJsonObject(details) ? (findString(details, "reason") ?? "") : "";
    reason =
      status === "incomplete" ? (INCOMPLETE[why] ?? "other") : status === "cancelled" ? "error" : "stop";
    return parts;
  }

  function takeEvent(type: string, event: JsonObject): AnswerPart[] {
    const { output_index: given, item } = event;
    const index = typeof given === "number" ? given : 0;
    const delta = findString(event, "delta") ?? "";
    switch (type) {
      case "response.output_item.added":
        return isJsonObject(item) ? beginItem(index, item) : [];
      case "response.output_item.done":
        return isJsonObject(item) ? endItem(index, item) : [];
      case "response.output_text.delta":
        return takeContent("text", index, delta);
      case "response.refusal.delta":
        refused = true;
        return takeContent("text", index, delta);
      case "response.reasoning_summary_part.added":
        return takeContent("reasoning", index, items.get(index)?.hasContent ? "\n\n" : "");
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return takeContent("reasoning", index, delta);
      case "response.function_call_arguments.delta":
        return takeInput(index, delta);
      default:
        return [];
    }
  }

  return {
    get isOver() {
      return reason !== undefined;
    },
    get usage() {
      return toUsage(usage);
    },
    take(data, name) {
      if (data.trim() === "[DONE]") return [];
      const event = parseEvent(data);
      const type = findString(event, "type") ?? name;
      if (type === "error" || name === "error" || (type === undefined && event["error"] !== undefined))
        throw new TroubleError({ type: "error-event", payload: event });
      if (type === undefined) throw new TroubleError({ type: "malformed" });
      if (!LAST_EVENTS.test(type)) return takeEvent(type, event);
      return endResponse(isJsonObject(event["response"]) ? event["response"] : {}, type);
    },
    takeWhole(body) {
      if (!Array.isArray(body["output"])) return undefined;
      return endResponse(body, "completed");
    },
    finish() {
      if (reason === undefined) return undefined;
      return {
        type: "finish",
        reason: refused ? "content-filter" : reason,
        usage: toUsage(usage),
        reasoningIsNoAnswer: !hasThought, // reasoning without readable text does not count as an answer
      };
    },
  };
}

function textsIn(content: unknown): string[] {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : [];
  return blocks.map((block) => findString(block, "text") ?? findString(block, "refusal") ?? "");
}

function hasRefusal(content: unknown): boolean {
  return (
    Array.isArray(content) && content.some((block) => isJsonObject(block) && block["type"] === "refusal")
  );
}

function toUsage(usage: JsonObject | undefined): Usage {
  const count = (fields: unknown, name: string): number | undefined =>
    findCount(isJsonObject(fields) ? fields[name] : undefined);
  return {
    inputTokens: count(usage, "input_tokens"),
    cacheReadTokens: count(usage?.["input_tokens_details"], "cached_tokens"),
    cacheWriteTokens: undefined,
    outputTokens: count(usage, "output_tokens"),
    reasoningTokens: count(usage?.["output_tokens_details"], "reasoning_tokens"),
  };
}
