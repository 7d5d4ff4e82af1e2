import type { CacheTtl } from "../anthropic/cache-markers.ts";
import { type AssistantMessage, type Message, NO_TEXT, textOf, type UserMessage } from "../message.ts";
import type { ModelRequest, ToolDefinition } from "../provider.ts";
import { parseObject, replayableInput } from "../wire/json-object.ts";
import { createListBody } from "../wire/list-body.ts";
import { chooseEffort } from "../wire/openai-efforts.ts";
import { sendableJson, sendableName } from "../wire/sendable.ts";
import { createPieceCache, hashPiece } from "../wire/serialized-piece.ts";
import { addCacheMarkers } from "./chat-cache-markers.ts";
import { findReasoningDetails } from "./reasoning-details.ts";

export interface ChatRules {
  readonly provider: string;
  readonly model: string;
  /** Whether earlier reasoning is sent back as `reasoning_content`. */
  readonly replayReasoning: boolean;
  readonly outputLimitField: "max_tokens" | "max_completion_tokens";
  /** Whether the request asks for token counts. Some servers always send them and refuse the field. */
  readonly asksForUsage: boolean;
  /** How long the prompt is cached; set if the server caches only marked parts. */
  readonly cacheTtl: CacheTtl | undefined;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
}

export interface ChatBody {
  readonly body: Buffer;
  /** The hashes of the prompt: first the tools, then each message. */
  pieceHashes(): readonly string[];
}

/** Writes the request bodies of a conversation. Each message is serialized once, even if it is sent many times. */
export function createChatWriter(rules: ChatRules): (request: ModelRequest) => ChatBody {
  const serializeOnce = createPieceCache();
  const listBody = createListBody();
  /** Calls that arrived in the older form, `function_call`; their results are sent back in that form. */
  const functionCalls = new Set<string>();
  // Overrides must not replace messages and stream: a body without them is invalid.
  const { messages: _, stream: __, ...overrides } = rules.requestOverrides;

  return ({ messages, tools, maxOutputTokens, reasoningEffort }) => {
    const toolPiece = serializeOnce(tools, () => JSON.stringify(tools.map(toTool)));
    const pieces = messages.map((message) =>
      serializeOnce(message, () => sendableJson(toWire(message, rules, functionCalls))),
    );
    const head = JSON.stringify({
      model: rules.model,
      stream: true,
      ...(rules.asksForUsage ? { stream_options: { include_usage: true } } : {}),
      ...(maxOutputTokens === undefined ? {} : { [rules.outputLimitField]: maxOutputTokens }),
      ...(reasoningEffort === undefined
        ? {}
        : { reasoning_effort: chooseEffort(rules.model, reasoningEffort) }),
      ...overrides,
    });
    const writesTools = tools.length > 0 && !("tools" in overrides);
    const sent = pieces.map(({ json }) => json);
    if (rules.cacheTtl !== undefined) addCacheMarkers(sent, messages, rules.cacheTtl);
    return {
      body: listBody(
        `${head.slice(0, -1)}${writesTools ? `,"tools":${toolPiece.json}` : ""},"messages":[`,
        sent,
        "]}",
      ),
      pieceHashes: () => [toolPiece, ...pieces].map(hashPiece),
    };
  };
}

function toTool({ name, description, inputSchema }: ToolDefinition) {
  return { type: "function", function: { name, description, parameters: inputSchema } };
}

function toWire(message: Message, rules: ChatRules, functionCalls: Set<string>): string {
  switch (message.role) {
    case "system":
      return JSON.stringify({ role: "system", content: message.text });
    case "user":
      return JSON.stringify({ role: "user", content: toContent(message) });
    case "assistant":
      return toAssistant(message, rules, functionCalls);
    case "tool":
      if (functionCalls.has(message.callId))
        return JSON.stringify({ role: "function", name: sendableName(message.tool), content: message.text });
      return JSON.stringify({ role: "tool", tool_call_id: message.callId, content: message.text });
  }
}

function toContent({ parts }: UserMessage) {
  // Older servers accept only a string.
  if (parts.every(({ type }) => type === "text")) return textOf({ role: "user", parts });
  return parts.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } },
  );
}

function toAssistant(
  { parts }: AssistantMessage,
  { replayReasoning, provider, model }: ChatRules,
  functionCalls: Set<string>,
): string {
  let text = "";
  let reasoning = "";
  const calls: object[] = [];
  let functionCall: object | undefined;
  let details: unknown;
  for (const part of parts) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") {
      reasoning += part.text;
      details = findReasoningDetails(part.vendor, { provider, model }) ?? details;
    } else {
      // Send the original text: serializing the parsed object would change large numbers and the order of keys.
      const input =
        parseObject(part.input) === undefined ? JSON.stringify(replayableInput(part.input)) : part.input;
      const called = { name: sendableName(part.tool), arguments: sendableJson(input) };
      if (isFunctionCall(part.vendor?.["functionCall"], provider)) {
        functionCall = called;
        functionCalls.add(part.callId);
      } else
        calls.push({
          id: part.callId,
          type: "function",
          function: called,
          ...signatureOf(part.vendor?.["google"]),
        });
    }
  }
  const hasCalls = calls.length > 0 || functionCall !== undefined;
  const showsReasoning = replayReasoning && reasoning !== "";
  if (text.trim() === "" && !hasCalls) text = NO_TEXT; // vendors refuse an empty message
  return JSON.stringify({
    role: "assistant",
    content: hasCalls ? text || null : text,
    ...(showsReasoning ? { reasoning_content: reasoning } : {}),
    ...(details === undefined ? {} : { reasoning_details: details }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(functionCall === undefined ? {} : { function_call: functionCall }),
  });
}

/** Whether a call arrived in the older form, and from the provider that this request is sent to. */
function isFunctionCall(vendor: unknown, provider: string): boolean {
  return (
    typeof vendor === "object" && vendor !== null && "provider" in vendor && vendor.provider === provider
  );
}

/** Google requires a call's signature back, in the field in which it arrived. */
function signatureOf(vendor: unknown): object {
  if (typeof vendor !== "object" || vendor === null || !("thoughtSignature" in vendor)) return {};
  return { extra_content: { google: { thought_signature: String(vendor.thoughtSignature) } } };
}
