import type { Usage } from "../provider.ts";
import type { AnswerPart, FinishPart } from "../wire/answer-part.ts";
import {
  findCount,
  findString,
  isJsonObject,
  type JsonObject,
  parseEvent,
  parseObject,
} from "../wire/json-object.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";

/** The meaning of the vendor's stop reasons; all others mean `other`. */
const FINISH: Readonly<Record<string, FinishPart["reason"]>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "pause",
  tool_use: "tool-calls",
  max_tokens: "length",
  model_context_window_exceeded: "window",
  refusal: "content-filter",
  content_filter: "content-filter",
  error: "error",
};

type BlockKind = "text" | "reasoning" | "tool" | "unknown";

interface Block {
  readonly kind: BlockKind;
  readonly id: string;
  /** The fields of an unknown block without its input; `json` is the part of its input that has arrived. */
  readonly fields?: JsonObject;
  json: string;
}

/**
 * Reads answers in Anthropic's messages format. Unknown blocks, such as calls of the vendor's own tools, are kept
 * unchanged.
 */
export function createMessageReader(): AnswerReader {
  const blocks = new Map<number, Block>();
  const usage = new Map<string, number>();
  let reason: string | undefined;
  let isOver = false;

  const count = (counted: unknown): void => {
    if (!isJsonObject(counted)) return;
    for (const [name, value] of Object.entries(counted)) {
      // Servers report the tokens of the prompt in the first or in the last event; some send 0 in the other one.
      const tokens = findCount(value);
      if (tokens !== undefined) usage.set(name, Math.max(tokens, usage.get(name) ?? 0));
      else if (name === "output_tokens_details") count(value);
    }
  };

  function beginBlock(index: number, block: JsonObject): AnswerPart[] {
    const id = String(index);
    switch (block["type"]) {
      case "text":
        blocks.set(index, { kind: "text", id, json: "" });
        return [{ type: "text-start", id }, ...takeDelta(index, { text: block["text"] })];
      case "thinking":
        blocks.set(index, { kind: "reasoning", id, json: "" });
        return [{ type: "reasoning-start", id }, ...takeDelta(index, block)];
      case "redacted_thinking": {
        blocks.set(index, { kind: "reasoning", id, json: "" });
        const providerMetadata = { anthropic: { redactedData: block["data"] } };
        return [{ type: "reasoning-start", id, providerMetadata }];
      }
      case "tool_use": {
        const callId = findString(block, "id") || `call_${index}`;
        blocks.set(index, { kind: "tool", id: callId, json: "" });
        const { input } = block;
        const isWhole = isJsonObject(input) && Object.keys(input).length > 0;
        return [
          { type: "tool-input-start", id: callId, toolName: findString(block, "name") ?? "" },
          ...(isWhole ? takeDelta(index, { partial_json: JSON.stringify(input) }) : []),
        ];
      }
      default:
        blocks.set(index, { kind: "unknown", id, fields: block, json: "" });
        return [];
    }
  }

  function takeDelta(index: number, delta: JsonObject): AnswerPart[] {
    const block = blocks.get(index);
    if (block === undefined) return beginUnannounced(index, delta);
    const { kind, id } = block;
    const text =
      findString(delta, kind === "text" ? "text" : kind === "reasoning" ? "thinking" : "partial_json") ?? "";
    const signature = findString(delta, "signature");
    if (kind === "reasoning" && signature)
      return [{ type: "reasoning-delta", id, delta: text, providerMetadata: { anthropic: { signature } } }];
    if (kind === "unknown") block.json += text;
    if (text === "" || kind === "unknown") return [];
    const type = kind === "tool" ? "tool-input-delta" : kind === "text" ? "text-delta" : "reasoning-delta";
    return [{ type, id, delta: text }];
  }

  function endBlock(index: number): AnswerPart[] {
    const { fields, json = "" } = blocks.get(index) ?? {};
    if (fields === undefined) return [];
    const input = parseObject(json);
    const block = input === undefined ? fields : { ...fields, input };
    return [{ type: "vendor-block", providerMetadata: { anthropic: { block } } }];
  }

  /** Some servers send text and thinking without a content_block_start event. */
  function beginUnannounced(index: number, delta: JsonObject): AnswerPart[] {
    const type = "thinking" in delta ? "thinking" : "text" in delta ? "text" : undefined;
    return type === undefined ? [] : [...beginBlock(index, { type }), ...takeDelta(index, delta)];
  }

  return {
    get isOver() {
      return isOver;
    },
    get usage() {
      return toUsage(usage);
    },
    take(data, event) {
      const chunk = parseEvent(data);
      const type = findString(chunk, "type") ?? event;
      if (type === "error" || event === "error" || (type === undefined && chunk["error"] !== undefined))
        throw new TroubleError({ type: "error-event", payload: chunk });
      if (type === undefined) throw new TroubleError({ type: "malformed" });
      const index = typeof chunk["index"] === "number" ? chunk["index"] : 0;
      const { message, content_block: block, delta } = chunk;
      switch (type) {
        case "message_start":
          count(isJsonObject(message) ? message["usage"] : undefined);
          return [];
        case "content_block_start":
          return isJsonObject(block) ? beginBlock(index, block) : [];
        case "content_block_delta":
          return isJsonObject(delta) ? takeDelta(index, delta) : [];
        case "content_block_stop":
          return endBlock(index);
        case "message_delta":
          if (isJsonObject(delta)) reason = findString(delta, "stop_reason") || reason;
          count(chunk["usage"]);
          return [];
        case "message_stop":
          isOver = true;
          return [];
        default:
          return [];
      }
    },
    takeWhole(body) {
      const { content } = body;
      if (!Array.isArray(content)) return undefined;
      count(body["usage"]);
      reason = findString(body, "stop_reason") || "end_turn";
      return content.flatMap((block: unknown, index) =>
        isJsonObject(block) ? [...beginBlock(index, block), ...endBlock(index)] : [],
      );
    },
    finish() {
      if (reason === undefined && !isOver) return undefined;
      return { type: "finish", reason: FINISH[reason ?? "end_turn"] ?? "other", usage: toUsage(usage) };
    },
  };
}

function toUsage(counts: ReadonlyMap<string, number>): Usage {
  const input = counts.get("input_tokens");
  const cacheRead = counts.get("cache_read_input_tokens");
  const cacheWrite = counts.get("cache_creation_input_tokens");
  return {
    inputTokens: input === undefined ? undefined : findCount(input + (cacheRead ?? 0) + (cacheWrite ?? 0)),
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    outputTokens: counts.get("output_tokens"),
    reasoningTokens: counts.get("thinking_tokens"),
  };
}
