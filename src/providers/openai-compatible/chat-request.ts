import { hash } from "node:crypto";
import { sharedBeginning } from "../../lib/shared-beginning.ts";
import { type AssistantMessage, type Message, NO_TEXT, textOf, type UserMessage } from "../message.ts";
import type { ModelRequest, ToolDefinition } from "../provider.ts";
import { parseObject, replayableInput } from "../wire/replayable-input.ts";
import { sendableJson, sendableName } from "../wire/sendable.ts";

export interface ChatRules {
  readonly provider: string;
  readonly model: string;
  /** Whether earlier reasoning is sent again, as `reasoning_content`. */
  readonly replayReasoning: boolean;
  readonly outputLimitField: "max_tokens" | "max_completion_tokens";
  /** Members that are put into each body. */
  readonly requestOverrides: Readonly<Record<string, unknown>>;
}

export interface ChatBody {
  readonly bytes: Uint8Array;
  /** What the prompt consists of, as hashes: the tools and whatever else stands before the messages, then each message. */
  prefix(): readonly string[];
}

const COMMA = Buffer.from(",");
const END = Buffer.from("]}");

/** A piece of the body as it goes out. Its hash is made when somebody asks for it, which is after it has gone. */
interface Piece {
  readonly bytes: Buffer;
  hash: string | undefined;
}

/** The messages of the request before, one behind the other as they went out. */
interface WrittenList {
  readonly messages: readonly Message[];
  readonly pieces: readonly Piece[];
  /** With room at its end for those that follow: to make a new one for each request would keep the collector busy. */
  readonly buffer: Buffer;
  readonly length: number;
}

/**
 * Writes the bodies of a conversation's requests. Each message is turned into bytes once, however often it is sent: a
 * request costs what is new in it, and a copy of the rest.
 */
export function createChatWriter(rules: ChatRules): (request: ModelRequest) => ChatBody {
  const messagePieces = new WeakMap<Message, Piece>();
  /** Calls that came in the older form, `function_call`; their results go back in its form. */
  const functionCalls = new Set<string>();
  const toolPieces = new WeakMap<readonly ToolDefinition[], Piece>();
  const remember = <Key extends object>(known: WeakMap<Key, Piece>, key: Key, write: () => string): Piece => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const piece: Piece = { bytes: Buffer.from(write()), hash: undefined };
    known.set(key, piece);
    return piece;
  };
  const nothing: WrittenList = { messages: [], pieces: [], buffer: Buffer.alloc(0), length: 0 };
  let before = nothing;
  const writeList = (messages: readonly Message[]): WrittenList => {
    const isLonger = sharedBeginning(before.messages, messages) === before.messages.length;
    let { pieces, buffer, length } = isLonger ? before : nothing;
    const added = messages
      .slice(pieces.length)
      .map((message) =>
        remember(messagePieces, message, () => sendableJson(toWire(message, rules, functionCalls))),
      );
    for (const { bytes } of added) {
      const end = length + COMMA.length + bytes.length;
      if (end > buffer.length) buffer = Buffer.concat([buffer.subarray(0, length)], 2 * end);
      if (length > 0) length += COMMA.copy(buffer, length);
      length += bytes.copy(buffer, length);
    }
    before = { messages, pieces: [...pieces, ...added], buffer, length };
    return before;
  };
  // What nobody may replace: a body without them is none.
  const { messages: _, stream: __, ...overrides } = rules.requestOverrides;

  return ({ messages, tools, maxOutputTokens, reasoningEffort }) => {
    const toolPiece = remember(toolPieces, tools, () => JSON.stringify(tools.map(toTool)));
    const head = JSON.stringify({
      model: rules.model,
      stream: true,
      stream_options: { include_usage: true },
      ...(maxOutputTokens === undefined ? {} : { [rules.outputLimitField]: maxOutputTokens }),
      ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
      ...overrides,
    });
    const writesTools = tools.length > 0 && !("tools" in overrides);
    const { pieces, buffer, length } = writeList(messages);
    const start = Buffer.from(
      `${head.slice(0, -1)}${writesTools ? `,"tools":${toolPiece.bytes}` : ""},"messages":[`,
    );
    return {
      bytes: Buffer.concat([start, buffer.subarray(0, length), END]),
      prefix: () => [toolPiece, ...pieces].map(hashOf),
    };
  };
}

/** 96 bits: nobody tries to collide with his own prompt, and the lists are stored with each request. */
function hashOf(piece: Piece): string {
  piece.hash ??= hash("sha256", piece.bytes, "base64url").slice(0, 16);
  return piece.hash;
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
  // Older servers know a text only.
  if (parts.every(({ type }) => type === "text")) return textOf({ role: "user", parts });
  return parts.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } },
  );
}

function toAssistant(
  { parts }: AssistantMessage,
  { replayReasoning, provider }: ChatRules,
  functionCalls: Set<string>,
): string {
  let text = "";
  let reasoning = "";
  const calls: object[] = [];
  let functionCall: object | undefined;
  for (const part of parts) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else {
      // Written again from the parsed object, large numbers and the order of members would not stay.
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
  if (text.trim() === "" && !hasCalls) text = NO_TEXT; // vendors refuse an empty one
  return JSON.stringify({
    role: "assistant",
    content: hasCalls ? text || null : text,
    ...(showsReasoning ? { reasoning_content: reasoning } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(functionCall === undefined ? {} : { function_call: functionCall }),
  });
}

/** Whether a call came in the older form, and from the provider that it is sent to now. */
function isFunctionCall(vendor: unknown, provider: string): boolean {
  return (
    typeof vendor === "object" && vendor !== null && "provider" in vendor && vendor.provider === provider
  );
}

/** Google wants to see a call's signature again, in the member that it came in. */
function signatureOf(vendor: unknown): object {
  if (typeof vendor !== "object" || vendor === null || !("thoughtSignature" in vendor)) return {};
  return { extra_content: { google: { thought_signature: String(vendor.thoughtSignature) } } };
}
