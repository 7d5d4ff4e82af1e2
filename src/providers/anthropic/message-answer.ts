import type { AnswerPart, FinishPart } from "../wire/answer-part.ts";
import { type Fields, isFields, malformed, parseEvent, textIn } from "../wire/fields.ts";
import { parseObject } from "../wire/replayable-input.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";

/** A word that is not here ends an answer as any other does. */
const FINISH: Readonly<Record<string, FinishPart["finishReason"]["unified"]>> = {
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
  /** Of a block that is unknown: all of it but its input, and its input as far as it has come. */
  readonly fields?: Fields;
  json: string;
}

/**
 * Reads answers in the messages format of Anthropic. A block that we do not know, such as a call of the vendor's own tools, is
 * kept as it is.
 */
export function createMessageReader(): AnswerReader {
  const blocks = new Map<number, Block>();
  const usage = new Map<string, number>();
  let reason: string | undefined;
  let isOver = false;

  const count = (counted: unknown): void => {
    if (!isFields(counted)) return;
    for (const [name, value] of Object.entries(counted)) {
      // Some servers count the prompt at the beginning, some at the end, and some write 0 in the other place.
      if (typeof value === "number") usage.set(name, Math.max(value, usage.get(name) ?? 0));
      else if (name === "output_tokens_details") count(value);
    }
  };

  function beginBlock(index: number, block: Fields): AnswerPart[] {
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
        const callId = textIn(block, "id") || `call_${index}`;
        blocks.set(index, { kind: "tool", id: callId, json: "" });
        const { input } = block;
        const isWhole = isFields(input) && Object.keys(input).length > 0;
        return [
          { type: "tool-input-start", id: callId, toolName: textIn(block, "name") ?? "" },
          ...(isWhole ? takeDelta(index, { partial_json: JSON.stringify(input) }) : []),
        ];
      }
      default:
        blocks.set(index, { kind: "unknown", id, fields: block, json: "" });
        return [];
    }
  }

  function takeDelta(index: number, delta: Fields): AnswerPart[] {
    const block = blocks.get(index);
    if (block === undefined) return beginUnannounced(index, delta);
    const { kind, id } = block;
    const text =
      textIn(delta, kind === "text" ? "text" : kind === "reasoning" ? "thinking" : "partial_json") ?? "";
    const signature = textIn(delta, "signature");
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

  /** Some servers begin text and thinking without saying so. */
  function beginUnannounced(index: number, delta: Fields): AnswerPart[] {
    const type = "thinking" in delta ? "thinking" : "text" in delta ? "text" : undefined;
    return type === undefined ? [] : [...beginBlock(index, { type }), ...takeDelta(index, delta)];
  }

  return {
    get isOver() {
      return isOver;
    },
    take(data, event) {
      const chunk = parseEvent(data);
      const type = textIn(chunk, "type") ?? event;
      if (type === "error" || event === "error" || (type === undefined && chunk["error"] !== undefined))
        throw new TroubleError({ type: "error-event", payload: chunk });
      if (type === undefined) throw malformed();
      const index = typeof chunk["index"] === "number" ? chunk["index"] : 0;
      const { message, content_block: block, delta } = chunk;
      switch (type) {
        case "message_start":
          count(isFields(message) ? message["usage"] : undefined);
          return [];
        case "content_block_start":
          return isFields(block) ? beginBlock(index, block) : [];
        case "content_block_delta":
          return isFields(delta) ? takeDelta(index, delta) : [];
        case "content_block_stop":
          return endBlock(index);
        case "message_delta":
          if (isFields(delta)) reason = textIn(delta, "stop_reason") || reason;
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
      reason = textIn(body, "stop_reason") || "end_turn";
      return content.flatMap((block: unknown, index) =>
        isFields(block) ? [...beginBlock(index, block), ...endBlock(index)] : [],
      );
    },
    finish() {
      if (reason === undefined && !isOver) return undefined;
      const input = usage.get("input_tokens");
      const cacheRead = usage.get("cache_read_input_tokens");
      const cacheWrite = usage.get("cache_creation_input_tokens");
      return {
        type: "finish",
        finishReason: { unified: FINISH[reason ?? "end_turn"] ?? "other" },
        usage: {
          inputTokens: {
            total: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
            cacheRead,
            cacheWrite,
          },
          outputTokens: { total: usage.get("output_tokens"), reasoning: usage.get("thinking_tokens") },
        },
      };
    },
  };
}
