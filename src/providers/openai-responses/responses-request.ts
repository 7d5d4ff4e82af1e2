import {
  type AssistantMessage,
  type Message,
  NO_TEXT,
  textOf,
  type UserMessage,
  type VendorData,
} from "../message.ts";
import type { ModelRequest, ToolDefinition } from "../provider.ts";
import { isJsonObject, type JsonObject, parseObject, replayableInput } from "../wire/json-object.ts";
import { createListBody } from "../wire/list-body.ts";
import { chooseEffort, OPENAI_REASONING_MODELS } from "../wire/openai-efforts.ts";
import { sendableJson, sendableName } from "../wire/sendable.ts";
import { createPieceCache, hashPiece } from "../wire/serialized-piece.ts";

/** Fields that make answers better or cheaper, but that some servers and models refuse. */
export interface OptionalFields {
  /** Requests encrypted reasoning, and sends it back. */
  readonly reasoning: boolean;
  readonly summary: boolean;
  readonly cacheKey: boolean;
}

export interface ResponsesRules {
  readonly provider: string;
  readonly model: string;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
  readonly fields: OptionalFields;
}

export interface ResponsesBody {
  readonly body: Buffer;
  /** The hashes of the prompt: first the tools, then each message. */
  pieceHashes(): readonly string[];
}

/** Writes the request bodies of a conversation. The server stores nothing, so each request has the whole conversation. */
export function createResponsesWriter(rules: ResponsesRules): (request: ModelRequest) => ResponsesBody {
  const { model, fields } = rules;
  const serializeOnce = createPieceCache();
  const listBody = createListBody();
  // Overrides must not replace input and stream: a body without them is invalid.
  const { input: _, stream: __, ...overrides } = rules.requestOverrides;

  return ({ messages, tools, maxOutputTokens, reasoningEffort, conversationId }) => {
    const toolPiece = serializeOnce(tools, () => JSON.stringify(tools.map(toTool)));
    const pieces = messages.map((message) =>
      serializeOnce(message, () => sendableJson(toItems(message, rules).map(toJson).join(","))),
    );
    const reasoning = {
      ...(reasoningEffort === undefined ? {} : { effort: chooseEffort(model, reasoningEffort) }),
      ...(fields.summary && OPENAI_REASONING_MODELS.test(model) ? { summary: "auto" } : {}),
    };
    const head = JSON.stringify({
      model,
      stream: true,
      store: false,
      ...(fields.reasoning ? { include: ["reasoning.encrypted_content"] } : {}),
      ...(Object.keys(reasoning).length > 0 ? { reasoning } : {}),
      ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
      ...(fields.cacheKey && conversationId !== undefined ? { prompt_cache_key: conversationId } : {}),
      ...overrides,
    });
    const writesTools = tools.length > 0 && !("tools" in overrides);
    return {
      body: listBody(
        `${head.slice(0, -1)}${writesTools ? `,"tools":${toolPiece.json}` : ""},"input":[`,
        pieces.map(({ json }) => json),
        "]}",
      ),
      pieceHashes: () => [toolPiece, ...pieces].map(hashPiece),
    };
  };
}

function toTool({ name, description, inputSchema }: ToolDefinition) {
  // By default the API treats schemas as strict, and then refuses optional properties.
  return { type: "function", name, description, parameters: inputSchema, strict: false };
}

function toJson(item: object): string {
  return JSON.stringify(item);
}

function toItems(message: Message, rules: ResponsesRules): object[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.text }];
    case "user":
      return [{ role: "user", content: toContent(message) }];
    case "assistant":
      return toAnswerItems(message, rules);
    case "tool":
      return [{ type: "function_call_output", call_id: toCallId(message.callId), output: message.text }];
  }
}

function toContent({ parts }: UserMessage) {
  if (parts.every(({ type }) => type === "text")) return textOf({ role: "user", parts });
  return parts.map((part) =>
    part.type === "text"
      ? { type: "input_text", text: part.text }
      : { type: "input_image", image_url: `data:${part.mediaType};base64,${part.data}` },
  );
}

function toAnswerItems({ parts }: AssistantMessage, { provider, fields }: ResponsesRules): object[] {
  const items: object[] = [];
  for (const part of parts) {
    const { openai } = part.vendor ?? {};
    if (part.type === "reasoning") {
      const item = fields.reasoning ? findReasoningItem(openai, provider) : undefined;
      if (item !== undefined) items.push(item);
    } else if (part.type === "tool-call") {
      // Send the original text: serializing the parsed object would change large numbers and the order of keys.
      const isObject = parseObject(part.input) !== undefined;
      const input = isObject ? part.input : JSON.stringify(replayableInput(part.input));
      const name = sendableName(part.tool);
      items.push({
        type: "function_call",
        call_id: toCallId(part.callId),
        name,
        arguments: sendableJson(input),
      });
    } else if (part.text.trim() !== "") {
      const phase = isJsonObject(openai) ? openai["phase"] : undefined;
      items.push({ role: "assistant", content: part.text, ...(phase === undefined ? {} : { phase }) });
    }
  }
  // The API refuses reasoning without the item that it led to.
  while (isReasoning(items.at(-1))) items.pop();
  return items.length > 0 ? items : [{ role: "assistant", content: NO_TEXT }];
}

function isReasoning(item: object | undefined): boolean {
  return item !== undefined && "type" in item && item.type === "reasoning";
}

/** The reasoning item of a part, if the provider of this request sent it and can read it again. */
function findReasoningItem(openai: unknown, provider: string): JsonObject | undefined {
  if (!isJsonObject(openai) || openai["provider"] !== provider || !isJsonObject(openai["item"]))
    return undefined;
  const { item } = openai;
  const hasContent = Array.isArray(item["content"]) && item["content"].length > 0;
  // Without its content, the id alone would refer to an item that the server did not store.
  if (typeof item["encrypted_content"] !== "string" && !hasContent) return undefined;
  const isSendable = ([name, value]: [string, unknown]) => name !== "status" && value !== null;
  return Object.fromEntries(Object.entries(item).filter(isSendable)) satisfies VendorData;
}

const LONGEST_CALL_ID = 64;

/** Shortens the call ids of other providers to the 64 characters that the API allows. Keeps their end, which differs most. */
function toCallId(id: string): string {
  return id.slice(-LONGEST_CALL_ID);
}
